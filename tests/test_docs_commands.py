"""What the pages tell people to type does work, in the order in which they tell it.

Every fenced block of commands is run by bash as it stands, in a folder and a home of its page's
own, with a scripted model in the place of each provider's. Comments directly above a block say
what else holds for it:

- ``<!-- not run: REASON -->``: not here, and why;
- ``<!-- run by: FILE -->``: the test or script that runs it instead;
- ``<!-- before: COMMAND -->``: what the page takes for granted is made by this.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any, Dict, List

import pytest

from jpq.config.load import load_config
from jpq.config.paths import find_paths
from jpq.provider.rows import ProviderRow
from jpq.provider.scripted_reply import load_script
from tests.support.pages import COMMANDS, PAGES, Block, blocks
from tests.support.programs import JPQ, ROOT, WAIT_S, environment, script

REPLIES = (
    'match = "tools"\ntext = "I have none."',
    """match = 'a river in France[.]$'\ntext = '{"name": "Loire", "length_km": 1006.0}'""",
    """match = "some rivers"\ntext = '{"items": [{"name": "Loire", "length_km": 1006.0}]}'""",
    'match = "files by size"\ntext = "So:\\n\\n```sh\\nls -S\\n```\\n"',
    'match = "is cut"\ntext = "Half of it. And the rest."\ncut = true\nfails = 1',
    'text = "A short answer."',
)
PROVIDERS = ("LOCAL", "OPENAI", "ANTHROPIC", "OPENROUTER", "OLLAMA", "LLAMACPP")
BLOCK_S = 100.0  # a block may hold a dozen questions, on a machine that has other things to do
# What is said where nothing is wrong.
NOTICES = ("jpq: No embedded server runs.\n",)
# Whose blocks another file runs, by their own marks.
ELSEWHERE = {
    "answer-command": ".ci/step",
    "test-command": ".ci/step",
    "recipe: ": "tests/test_recipes.py",
}
MCP_SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    results = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "time", "version": "1"}},
        "tools/list": {"tools": [{"name": "get_current_time", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "12:00"}]},
    }
    answer = {"jsonrpc": "2.0", "id": asked.get("id")}
    if asked["method"] in results:
        print(json.dumps({**answer, "result": results[asked["method"]]}), flush=True)
    elif "id" in asked:
        print(json.dumps({**answer, "error": {"code": -32601, "message": "no"}}), flush=True)
"""


def elsewhere(block: Block) -> List[str]:
    """The files that run it."""
    own = [file for mark, file in ELSEWHERE.items() if block.marked(mark)]
    return block.marked("run by: ") + own


def to_run(page: str) -> List[Block]:
    found = blocks(page, *COMMANDS)
    return [block for block in found if not block.marked("not run: ") and not elsewhere(block)]


def program(folder: Any, name: str, command: str) -> None:
    """Put a program that runs ``command`` into ``folder``."""
    path = folder / name
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o700)


def newcomer(tmp_path: Any) -> Dict[str, str]:
    """The environment of a person with nothing but a home, whose providers are scripted."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program(programs, "jpq", " ".join(f'"{word}"' for word in JPQ))
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    answers = script(tmp_path, *REPLIES)
    scripted = {"JPQ_MODEL": f"scripted/{answers}"}
    for provider in PROVIDERS:
        scripted[f"JPQ_SET_PROVIDERS__{provider}__API"] = "scripted"
        scripted[f"JPQ_SET_PROVIDERS__{provider}__BASE_URL"] = answers
    nowhere = {f"XDG_{kind}_HOME": None for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    return environment(PATH=path, JPQ_HOME=None, EDITOR="true", **scripted, **nowhere)


@pytest.mark.parametrize("page", [page for page in PAGES if to_run(page)])
def test_commands_run_as_written(page: str, tmp_path: Any) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    environ = newcomer(tmp_path)
    for block in to_run(page):
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c"]
            + ["\n".join([*block.marked("before: "), block.commands])],
            env=environ,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BLOCK_S,
        )
        where = (str(block), block.text, done.stdout, done.stderr)
        assert done.returncode == 0, where
        assert "Traceback" not in done.stderr, where
        told = done.stderr
        for notice in NOTICES:
            told = told.replace(notice, "")
        assert block.marked("before: ") or not re.search("^jpq: ", told, re.MULTILINE), where


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_run_or_says_why_not(page: str) -> None:
    for block in blocks(page, *COMMANDS):
        assert block.commands.strip(), f"{block}: no command in it"
        for file in elsewhere(block):
            assert os.path.isfile(os.path.join(ROOT, file)), f"{block}: there is no {file}"
    for block in blocks(page, ""):
        assert not re.search(r"^(\$ |(\.venv/bin/)?jpq |pip )", block.text, re.MULTILINE), (
            f"{block}: commands in a block that is not marked as such"
        )


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")])
def test_settings_are_as_the_pages_write_them(page: str, tmp_path: Any) -> None:
    for block in blocks(page, "toml"):
        if "script" in block.marks:
            path = tmp_path / "script.toml"
            path.write_text(block.text, encoding="utf-8")
            assert load_script(str(path))
            continue
        (tmp_path / "config.toml").write_text(block.text, encoding="utf-8")
        home = {"JPQ_HOME": str(tmp_path)}
        config = load_config(find_paths(home), home, str(tmp_path))
        assert config.warnings == (), str(block)


def test_the_row_of_a_provider_is_one() -> None:
    (block,) = blocks("docs/providers.md", "python")
    (row,) = eval(block.text, {"ProviderRow": ProviderRow})  # a page of our own
    assert isinstance(row, ProviderRow)


def test_the_client_for_programs_talks_to_a_server(tmp_path: Any) -> None:
    (block,) = blocks("docs/mcp.md", "python")
    (tmp_path / "server.py").write_text(MCP_SERVER)
    program(tmp_path, "mcp-server-time", f'"{sys.executable}" "{tmp_path / "server.py"}"')
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text],
        env=environment(PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.startswith("get_current_time\n") and "12:00" in done.stdout


def test_python_stands_only_where_it_is_tried() -> None:
    """docs/python.md is a doctest, tests/library/test_python_doc.py; screens hold samples."""
    tried = {"docs/python.md", "docs/mcp.md", "docs/providers.md"}
    assert {page for page in PAGES if blocks(page, "python", "py")} == tried


def test_the_readme_leads_to_every_page() -> None:
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    assert not [page for page in PAGES if page.startswith("docs/") and f"({page})" not in readme]
