"""What the person sees of a builtin's call before allowing it, in the real program."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.support import ptys
from tests.support.programs import script

QUESTION = b"[x] result mode [?] "

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")


def asked(tmp_path: Any, name: str, arguments: str) -> ptys.Child:
    """The program at its prompt about a call of the builtin ``name``."""
    call = f"[[reply.tool_calls]]\nname = '{name}'\narguments = {arguments}"
    model = "scripted/" + script(tmp_path, call, 'text = "Done."')
    argv = ptys.jpq("-m", model, "-t", name, "go")
    environ = ptys.environment(os.environ["JPQ_HOME"])
    return ptys.Child(argv, environ, str(tmp_path), terminal=True)


def test_an_edit_shows_its_diff_and_is_made_after_a_yes(tmp_path: Any) -> None:
    path = tmp_path / "f.txt"
    path.write_text("one\ntwo\nthree\n")
    arguments = "{ path = 'f.txt', old = 'two', new = '2' }"
    with asked(tmp_path, "edit_file", arguments) as child:
        child.wait_for(QUESTION)
        lines = [line.strip() for line in child.output.decode().split("\n")]
        assert lines[lines.index("--- f.txt") :][1:7] == [
            "+++ f.txt", "@@ -1,3 +1,3 @@", "one", "-two", "+2", "three",
        ]  # fmt: skip
        assert path.read_text() == "one\ntwo\nthree\n"
        child.type(b"y")
        assert child.end() == 0
    assert path.read_text() == "one\n2\nthree\n"


def test_a_line_is_shown_as_it_will_run_and_not_run_after_a_no(tmp_path: Any) -> None:
    arguments = "{ command = 'touch made; echo \"$HOME\"' }"
    with asked(tmp_path, "shell", arguments) as child:
        child.wait_for(QUESTION)
        assert b'$ touch made; echo "$HOME"' in child.output
        child.type(b"n")
        child.wait_for(b"Why not?")
        child.type(b"\n")
        assert child.end() == 0
    assert not (tmp_path / "made").exists()
