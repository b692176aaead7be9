"""docs/python.md, whose examples are run as they stand, with a scripted model."""

from __future__ import annotations

import doctest
import os
from typing import Any

import pytest

from tests.support.programs import ROOT, script

PAGE = os.path.join(ROOT, "docs", "python.md")

REPLIES = (
    'match = "river"\ntext = ["The Loire."]\nusage = { input_tokens = 9, output_tokens = 3 }',
    'match = "Count"\ntext = ["one,", " two,", " three."]\ndelay_s = 0.05',
    'match = "never ends"\ntext = ["Once upon a time"]\nstall = true',
    'match = "Fail"\nstatus = 401',
    'match = "How large"\n'
    'tool_calls = [{ name = "area", arguments = { width = 3, height = 4.5 } }]',
    'match = "How large"\ntext = "13.5 square metres."',
    'match = "Delete"\ntool_calls = [{ name = "delete", arguments = { path = "old.txt" } }]',
    'match = "Delete"\ntext = "I left it alone, as it is still needed."',
    """match = "first program"\ntext = '{"name": "Ada Lovelace", "born": 1815}'""",
    'match = "What is in it"\ntext = "A shopping list."',
    'match = "Remember"\ntext = "Noted."',
    'match = "Which number"\ntext = "It was 7."',
)


def test_the_examples_do_what_the_page_says(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("JPQ_MODEL", "scripted/" + script(tmp_path, *REPLIES))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("milk")
    found = doctest.testfile(PAGE, module_relative=False, encoding="utf-8")
    assert found.attempted > 20
    assert found.failed == 0, capsys.readouterr().out
