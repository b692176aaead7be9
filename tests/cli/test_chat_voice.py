"""What a chat says, on terminals of every width."""

from __future__ import annotations

import os
from typing import Any, List

import pytest

from jpq.cli.chat.voice import Voice
from jpq.cli.environment import Environment
from jpq.terminal.caps import ChannelFacts, find_caps


class Narrow:
    """The part of a line editor that shows things."""

    def __init__(self, columns: int) -> None:
        self._columns, self.shown = columns, ""

    def columns(self) -> int:
        return self._columns

    def write(self, text: str) -> None:
        self.shown += text


def listed(columns: int) -> List[str]:
    editor: Any = Narrow(columns)
    facts = ChannelFacts(True, "utf-8")
    caps = find_caps({"NO_COLOR": "1", "TERM": "xterm"}, facts, facts, "auto", "auto").stderr
    voice = Voice(Environment(os.environ, os.sep, None, None, None), caps, editor, False)
    voice.list([("/model [MODEL]", "show or choose the model that answers"), ("/x", "a word")])
    return str(editor.shown).splitlines()


@pytest.mark.parametrize("columns", [20, 40, 50, 80])
def test_what_names_mean_stays_within_the_terminal(columns: int) -> None:
    lines = listed(columns)
    assert max(map(len, lines)) < columns
    words = " ".join(" ".join(lines).split())
    assert words == "/model [MODEL] show or choose the model that answers /x a word"


def test_it_stands_beside_the_names_where_there_is_room() -> None:
    assert listed(50) == [
        "  /model [MODEL]  show or choose the model that",
        "                  answers",
        "  /x              a word",
    ]
