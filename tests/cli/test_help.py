"""--help fits a screen of 24 lines and 80 columns, for every command."""

from __future__ import annotations

from typing import List

import pytest

from jpq.cli.run import COMMANDS
from tests.support.programs import jpq

BELOW = {
    "conversation": "ls show grep rm prune fork title compact export import path repair",
    "config": "show explain path edit set",
    "keys": "set ls rm path",
    "models": "ls install rm ps stop",
    "tools": "ls show run explain",
    "mcp": "ls check call import",
}
LINES = [
    f"{name} {below}".split() for name in COMMANDS for below in ("", *BELOW.get(name, "").split())
]


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_help_fits_a_screen(words: List[str]) -> None:
    ran = jpq(*words, "--help")
    lines = ran.text.splitlines()
    if ran.code == 2:
        pytest.fail(f"no such command: {words}")
    assert ran.code == 0 and not ran.err
    assert lines[0].startswith("usage: jpq")
    assert len(lines) <= 24, "\n".join(lines)
    assert not [line for line in lines if len(line) > 80]


def test_every_option_is_in_the_long_help() -> None:
    short, whole = jpq("--help").text, jpq("--help-all").text
    assert "--help-all" in short and "--max-cost" not in short
    assert "--max-cost" in whole and "--system" in whole
