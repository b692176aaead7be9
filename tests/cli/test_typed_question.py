"""A question that was typed is never lost, although it cannot be asked."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import pytest

from jpq.store.library import Library
from tests.support.programs import conversations, environment, jpq, model_at
from tests.support.ptys import Child
from tests.support.ptys import jpq as jpq_words
from tests.support.server import Server, answer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of its own")
QUESTION = "A long question\nof two lines, näturally"


def test_in_the_editor_while_another_jpq_took_the_conversation(tmp_path: Any) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(
        f"import sys\nopen(sys.argv[1], 'w', encoding='utf-8').write({QUESTION!r})\n",
        encoding="utf-8",
    )
    home, cwd = str(tmp_path / "home"), str(tmp_path)
    environ = environment(
        JPQ_HOME=home, EDITOR=f"{sys.executable} {editor}", VISUAL=None, CI=None, TERM="xterm"
    )
    with Server(answer("A1"), answer("A2")) as server:
        assert jpq(*model_at(server), "q1", cwd=cwd, environ=environ).code == 0
        library = Library(os.path.join(home, "data", "conversations"))
        (folder,) = conversations(home)
        held = library.open(os.path.basename(folder), 0, pytest.fail)
        for option in ("-c", "--edit"):
            words = [*model_at(server), "--set", "conversation.lock_wait_s=0.1", option]
            with Child(jpq_words(*words), environ, cwd, terminal=True) as child:
                assert child.end() == 75
            told = child.output.decode()
            assert "in use by another jpq" in told
            found = re.search(r"Your question is kept; give it again with: - < (\S+)", told)
            assert found, told
            with open(found.group(1), encoding="utf-8") as file:
                assert file.read() == QUESTION + "\n"
            assert os.stat(found.group(1)).st_mode & 0o777 == 0o600
        held.close()
        with open(found.group(1), "rb") as kept:
            again = jpq(*model_at(server), "-c", "-", cwd=cwd, environ=environ, stdin=kept.read())
        assert again.text == "A2\n"
        assert server.seen[1].json["messages"][-1]["content"] == QUESTION


def test_what_was_piped_or_is_on_the_command_line_is_not_kept(tmp_path: Any) -> None:
    home, cwd = str(tmp_path / "home"), str(tmp_path)
    environ = environment(JPQ_HOME=home)
    with Server(answer("A1")) as server:
        assert jpq(*model_at(server), "q1", cwd=cwd, environ=environ).code == 0
        library = Library(os.path.join(home, "data", "conversations"))
        (folder,) = conversations(home)
        held = library.open(os.path.basename(folder), 0, pytest.fail)
        busy = ["--set", "conversation.lock_wait_s=0.1", "-c"]
        for words, stdin in ((["q2"], None), ([], b"q2")):
            ran = jpq(*model_at(server), *busy, *words, cwd=cwd, environ=environ, stdin=stdin)
            assert ran.code == 75 and b"kept" not in ran.err
        held.close()
    assert not [name for name in os.listdir(os.path.join(home, "state")) if "question" in name]
