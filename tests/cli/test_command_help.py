"""What ``--help`` says of every command and of each command below it."""

from __future__ import annotations

import importlib

import pytest

from jpq.cli.chat.commands import COMMANDS as CHAT_COMMANDS
from jpq.cli.completion_tree import actions_of
from jpq.cli.run import COMMANDS

SCREEN = 24  # lines; the usual terminal


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"query", "chat", "ask"}))
def test_help_fits_a_screen_and_ends_with_examples(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    parser = importlib.import_module(COMMANDS[name].parser).build_parser(f"jpq {name}")
    assert len(parser.format_help().splitlines()) <= SCREEN
    shown = parser.format_help().splitlines()
    assert "jpq " in shown[-1] and shown[-1].startswith("  ")
    for word, below in actions_of(parser).items():
        lines = below.format_help().splitlines()
        assert len(lines) <= SCREEN and max(map(len, lines)) <= 80, word
        assert below.description, f"jpq {name} {word} --help does not say what it does"


def test_each_command_of_a_chat_has_one_line() -> None:
    names = {f"  /{name} {command.words}": command for name, command in CHAT_COMMANDS.items()}
    widest = max(map(len, names))
    assert max(widest + 2 + len(command.help) for command in names.values()) <= 80
