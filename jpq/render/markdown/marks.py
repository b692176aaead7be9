"""Marks: the signs that are ours, not the text's."""

from __future__ import annotations

from typing import Tuple

from jpq.named import NamedTuple
from jpq.render.theme import Look


class Marks(NamedTuple):
    """What stands before, between and around the text.

    ``code`` encloses code within a line, ``levels`` stand before headings; both are empty
    where colours tell them. ``fence`` stands around blocks of code in place of their own.
    """

    bullets: Tuple[str, ...]
    quote: str
    rule: str
    double_rule: str
    column: str
    crossing: str
    open_task: str
    done_task: str
    code: str
    level: str
    number: str = "{}. "
    fence: str = ""
    address: Tuple[str, str] = (" (", ")")
    html: Tuple[str, str] = ("", "")


def marks_of(look: Look) -> Marks:
    """The marks for ``look``."""
    code, level = ("", "") if look.colours else ("`", "#")
    if look.unicode:
        return Marks(
            bullets=("\u2022", "\u25e6", "\u25aa"),
            quote="\u2502",
            rule="\u2500",
            double_rule="\u2550",
            column="\u2502",
            crossing="\u253c",
            open_task="\u2610",
            done_task="\u2611",
            code=code,
            level=level,
        )
    return Marks(
        bullets=("*", "-", "+"),
        quote="|",
        rule="-",
        double_rule="=",
        column="|",
        crossing="+",
        open_task="[ ]",
        done_task="[x]",
        code=code,
        level=level,
    )
