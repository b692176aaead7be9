"""What the pages tell people to type does work, in the order in which they tell it.

A fenced ``sh`` block below the comment ``<!-- runs -->`` is run by bash as it stands, in a
folder and a home of its page's own, with a scripted model in place of the person's.
"""

from __future__ import annotations

import glob
import os
import re
import subprocess
from typing import Any, List

import pytest

from tests.support.programs import JPQ, ROOT, WAIT_S, environment, script

_BLOCK = re.compile(r"^<!-- runs -->\n+```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REPLIES = (
    'match = "tools"\ntext = "I have none."',
    """match = 'a river in France[.]$'\ntext = '{"name": "Loire", "length_km": 1006.0}'""",
    """match = "some rivers"\ntext = '{"items": [{"name": "Loire", "length_km": 1006.0}]}'""",
    'match = "files by size"\ntext = "So:\\n\\n```sh\\nls -S\\n```\\n"',
    'text = "A short answer."',
)


def blocks(page: str) -> List[str]:
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return _BLOCK.findall(file.read())


def marks(page: str) -> int:
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read().count("<!-- runs -->")


PAGES = [
    os.path.relpath(path, ROOT)
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))
    if marks(path)
]


@pytest.mark.parametrize("page", PAGES)
def test_commands_run_as_written(page: str, tmp_path: Any) -> None:
    found = blocks(page)
    assert len(found) == marks(page), "a mark without a block below it"
    folder = tmp_path / "work"
    folder.mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "jpq"
    program.write_text('#!/bin/sh\nexec "{}" {} "$@"\n'.format(JPQ[0], " ".join(JPQ[1:])))
    program.chmod(0o700)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    model = "scripted/" + script(tmp_path, *REPLIES)
    for block in found:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", block],
            env=environment(PATH=path, JPQ_MODEL=model),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
        )
        assert done.returncode == 0, (block, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        assert not re.search("^jpq: ", done.stderr, re.MULTILINE), (block, done.stderr)


def test_the_pages_for_users_have_commands_that_run() -> None:
    assert {"docs/tutorial.md", "docs/scripting.md", "docs/troubleshooting.md"} <= set(PAGES)
