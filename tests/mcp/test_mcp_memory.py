"""What is remembered of servers: right, wrong, stale and damaged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jpq.mcp import era
from jpq.mcp.client import Client
from jpq.mcp.memory import EraMemory
from jpq.mcp.protocol import Json
from tests.mcp.http_server import McpServer
from tests.mcp.test_mcp_http import HttpTransport
from tests.mcp.test_mcp_stdio import transport


def test_an_old_server_that_was_silent_once_is_greeted_at_once(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(era, "PROBE_S", 0.5)
    recall = EraMemory(str(tmp_path / "eras.json")).of(["server"])
    asked = []
    for _ in range(2):
        stdio = transport("legacy", "silent_discover")
        send = stdio.exchange

        def exchange(message: Json, send: Any = send) -> None:
            asked.append(message["method"])
            send(message)

        monkeypatch.setattr(stdio, "exchange", exchange)
        with Client(stdio, recall=recall) as client:
            assert client.server.version == "2025-11-25"
    assert recall.get() == "2025-11-25"
    assert asked.count("server/discover") == 1 and asked.count("initialize") == 2


@pytest.mark.parametrize("modern", [True, False])
def test_a_wrong_memory_is_put_right(tmp_path: Any, modern: bool) -> None:
    recall = EraMemory(str(tmp_path / "eras.json")).of(["server"])
    recall.set("2025-11-25" if modern else "2026-07-28")
    faults = ["modern"] if modern else ["legacy"]
    with Client(transport(*faults), recall=recall) as client:
        assert client.server.modern is modern
    recall.set("2026-07-28")
    with McpServer(modern=False) as server, Client(
        HttpTransport(server.url), recall=recall
    ) as client:
        assert not client.server.modern
    assert recall.get() == "2025-11-25"


@pytest.mark.parametrize("text", ["{", "[]", '{"x": 1}'])
def test_a_damaged_memory_is_none(tmp_path: Any, text: str) -> None:
    path = tmp_path / "eras.json"
    path.write_text(text)
    recall = EraMemory(str(path)).of(["server"])
    assert recall.get() is None
    recall.set("2025-11-25")
    assert recall.get() == "2025-11-25"


def test_a_memory_ages_and_holds_no_command(tmp_path: Any) -> None:
    path = tmp_path / "eras.json"
    recall = EraMemory(str(path)).of(["server", "--token=secret"])
    recall.set("2025-11-25")
    assert "secret" not in path.read_text()
    kept = json.loads(path.read_text())
    for entry in kept.values():
        entry["at"] -= 8 * 24 * 3600
    path.write_text(json.dumps(kept))
    assert recall.get() is None


def test_without_a_file_nothing_is_remembered() -> None:
    recall = EraMemory(None).of(["server"])
    recall.set("2025-11-25")
    assert recall.get() is None
