"""The page for people lists what the model is told, word for word."""

from __future__ import annotations

import os
import re
from typing import List

import pytest

from jpq.conversation.event import ToolCall
from jpq.tools import texts
from jpq.turn.calls import cut_answers

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "tools.md")

TOLD = {
    name: value
    for name, value in vars(texts).items()
    if name.isupper() and not name.startswith("_") and isinstance(value, str)
}
# What a page for people need not tell apart, and a word that is no text.
UNLISTED = {"NOT_SHOWN", "NOT_DELIVERED", "TIMED_OUT"}


def pieces(text: str) -> List[str]:
    """What stands between the places of a text that are filled in."""
    return [piece.strip() for piece in re.split(r"\{[^}]*\}|\n", text) if len(piece.strip()) > 3]


@pytest.mark.parametrize("name", sorted(set(TOLD) - UNLISTED))
def test_the_page_has_every_text(name: str) -> None:
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    missing = [piece for piece in pieces(TOLD[name]) if piece not in page]
    assert not missing


def test_the_page_has_the_text_for_a_cut_answer() -> None:
    (answer,) = cut_answers([ToolCall("1", "x", {})], "REASON")
    with open(PAGE, encoding="utf-8") as file:
        assert answer.content in file.read()


def test_all_texts_are_different() -> None:
    assert len(set(TOLD.values())) == len(TOLD)
