"""Editors are small programs here."""

import os
import sys

import pytest

from jpq.errors import BadInputError, UsageError
from jpq.terminal.editor import edit_text, editor_command

APPEND = [sys.executable, "-c", "import sys; open(sys.argv[1], 'a').write('more')"]


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        ({}, None),
        ({"EDITOR": " "}, None),
        ({"EDITOR": "vi"}, ["vi"]),
        ({"EDITOR": "vi", "VISUAL": "code --wait 'a b'"}, ["code", "--wait", "a b"]),
    ],
)
def test_which_editor(environ, command):
    assert editor_command(environ) == command


def test_an_editor_setting_with_an_open_quote():
    with pytest.raises(UsageError, match="EDITOR"):
        editor_command({"EDITOR": "vi 'x"})


def test_the_edited_text_comes_back_and_no_file_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert edit_text("é ", ".md", APPEND) == "é more"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "command, words",
    [
        (["/nowhere/editor"], "could not be started"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "ended with status 3"),
        (["sh", "-c", "kill -INT $$"], "was ended by signal 2"),
    ],
)
def test_an_editor_that_fails(command, words, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(BadInputError, match=words):
        edit_text("text", ".md", command)
    assert os.listdir(tmp_path) == []
