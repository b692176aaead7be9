"""What a word of the command line that nobody knows was meant to be."""

from __future__ import annotations

import argparse
from typing import Any, List, Sequence

from jpq.config.lookup import nearest_of


def unknown_words(parser: argparse.ArgumentParser, words: Sequence[str]) -> str:
    """Says that ``words`` are nothing that ``parser`` knows, and which option looks like one.

    What stands behind ``=`` is not repeated: it could be a key.
    """
    named = [word.split("=", 1)[0] if word.startswith("-") else word for word in words]
    options = _long_options(parser)
    near = [nearest_of(name[2:], options) for name in named if name.startswith("--")]
    meant = _meant([f"--{each}" for each in near if each])
    return f"unrecognized arguments: {' '.join(named)}{meant}"


def no_choice(action: argparse.Action, value: Any) -> argparse.ArgumentError:
    """Says that ``value`` is none of the words that ``action`` takes, and which it looks like."""
    choices = [str(choice) for choice in action.choices or ()]
    near = nearest_of(str(value), choices)
    said = f"{value!r} is none of {', '.join(choices)}{_meant([near] if near else [])}"
    return argparse.ArgumentError(action, said)


def _long_options(parser: argparse.ArgumentParser) -> List[str]:
    return [name[2:] for name in parser._option_string_actions if name.startswith("--")]


def _meant(near: Sequence[str]) -> str:
    return f"; did you mean {' '.join(near)}?" if near else ""
