"""``jpq tools`` knows the tools of MCP servers."""

from __future__ import annotations

import json
from typing import Any, Dict, List

import pytest

from tests.mcp.test_mcp_cmd import configure
from tests.support.programs import jpq

MODES = '[tools."x/echo"]\nrun = "unattended"\n'


def test_ls_lists_them_and_names_a_server_that_cannot_be_used() -> None:
    configure(MODES + '[mcp.gone]\ncommand = ["/nowhere"]')
    ran = jpq("tools", "ls")
    assert ran.code == 0
    assert "The MCP server gone cannot be used: There is no program '/nowhere'." in ran.told[0]
    lines = [line.split() for line in ran.text.splitlines()]
    assert ["x/echo", "mcp", "unattended"] in lines and ["x/slow", "mcp", "ask"] in lines
    assert any(line[:2] == ["shell", "builtin"] for line in lines)
    rows: List[Dict[str, Any]] = json.loads(jpq("tools", "ls", "--format", "json").text)
    assert {"x/echo", "x/hang", "shell"} <= {row["name"] for row in rows}


def test_ls_lists_what_is_active_only(monkeypatch: pytest.MonkeyPatch) -> None:
    configure()
    monkeypatch.setenv("JPQ_SET_ACTIVE_TOOLS", '["x/e*"]')
    rows = json.loads(jpq("tools", "ls", "--format", "json").text)
    offered = [row["name"] for row in rows if row["offered"]]
    assert offered == ["x/echo", "x/environ"]


def test_show_explain_and_run() -> None:
    configure(MODES + '[policy]\ndeny = ["x/fail"]')
    row = json.loads(jpq("tools", "show", "x/echo", "--format", "json").text)
    assert (row["source"], row["run"]) == ("mcp", "unattended")
    assert row["parameters"] == {"type": "object"}
    assert "x/echo  (mcp)" in jpq("tools", "show", "x/echo").text
    assert jpq("tools", "explain", "x/echo").text.startswith("allow: ")
    assert jpq("tools", "explain", "x/fail").text.startswith("deny: ")
    ran = jpq("tools", "run", "x/echo", '{"text": "hi"}')
    assert (ran.code, ran.text) == (0, "hi\n")


def test_what_is_not_there_is_told() -> None:
    configure()
    jpq("tools", "show", "x/echoo").failed_with(2, "There is no tool 'x/echoo'", "x/echo?")
    jpq("tools", "run", "y/echo").failed_with(2, "There is no MCP server 'y'", "There are: x.")
    configure("", "exit_at_once")
    jpq("tools", "show", "x/echo").failed_with(69, "cannot find my files")
