"""``jpq conversation compact``, with a model that sums up over a real connection."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    ChatRequest,
    Compaction,
    ToolCall,
    ToolResponse,
    TurnEnd,
)
from jpq.errors import BadInputError, ConfigError, StreamError
from jpq.provider.http import HttpProvider
from tests.cli.conversation_shell import Shell
from tests.support.server import Server, answer, error

END = TurnEnd("complete", "stop", {}, None)
TURN = (
    ChatRequest("q"),
    AssistantReasoning("hm " * 400),
    ToolCall("1", "t", {}),
    ToolResponse("1", "r" * 4000),
    AssistantMessage("a"),
    END,
)


def compactions(shell: Shell, id: str) -> Any:
    events = (entry.event for entry in shell.library.read(id).stream.entries)
    return [event for event in events if isinstance(event, Compaction)]


def test_a_dry_run_says_what_it_would_save_and_changes_nothing(shell: Shell) -> None:
    id = shell.talk(*TURN, *TURN, *TURN)
    report = json.loads(shell("compact", "--dry-run", "--keep", "1", "--format", "json").out)
    assert (report["id"], report["done"]) == (id, False)
    assert report["tokens_before"] > report["tokens_after"] > 0
    assert "would be sent as about" in shell("compact", "--dry-run").out
    assert compactions(shell, id) == []


def test_each_kind_saves_its_part_and_all_can_be_taken_back(shell: Shell) -> None:
    id = shell.talk(*TURN, *TURN)
    saved = []
    for option in ("--reasoning", "--tools", "--reasoning"):
        report = json.loads(shell("compact", "--keep", "1", option, "--format", "json").out)
        saved.append(report["tokens_before"] - report["tokens_after"])
    assert saved[0] > 200 and saved[1] > 800 and saved[2] == 0
    assert len(compactions(shell, id)) == 2, "what saves nothing is not written"
    shell("compact", "--undo")
    back = json.loads(shell("compact", "--undo", "--format", "json").out)
    assert (back["id"], back["done"]) == (id, True)
    assert back["tokens_after"] - back["tokens_before"] == saved[0]
    assert back["compaction"]["drop_reasoning"] is True
    with pytest.raises(BadInputError, match="no compaction"):
        shell("compact", "--undo")
    report = json.loads(shell("compact", "--dry-run", "--keep", "1", "--format", "json").out)
    assert report["tokens_before"] - report["tokens_after"] == sum(saved)


def test_nothing_old_enough(shell: Shell) -> None:
    shell.talk(*TURN)
    with pytest.raises(BadInputError, match="1 turns"):
        shell("compact")


def use_server(shell: Shell, server: Server) -> None:
    shell.environ["JPQ_MODEL"] = "custom/small"
    shell.environ["JPQ_SET_PROVIDERS__CUSTOM__BASE_URL"] = server.url
    shell.environ["JPQ_SET_REQUEST__BACKOFF_BASE_S"] = "0.01"


def test_a_model_sums_up(shell: Shell) -> None:
    id = shell.talk(*TURN, *TURN, *TURN)
    with Server(error("503 Busy", b"{}"), answer("All is well.")) as server:
        use_server(shell, server)
        done = shell("compact", "--summarize", "-m", "custom/other")
    assert " less)" in done.out and "Trying again" in done.err
    (made,) = compactions(shell, id)
    assert made.summary == "All is well."
    assert "All is well." in shell("show").out
    (_, request) = server.seen
    assert b'"model":"custom/other"' not in request.body and b"other" in request.body


def test_asking_for_a_summary_is_logged_without_the_key_and_closes_its_provider(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []
    close = HttpProvider.close
    monkeypatch.setattr(HttpProvider, "close", lambda self: closed.append(close(self)))
    shell.talk(*TURN, *TURN, *TURN)
    key = "sk-printed-by-a-command"
    busy = error("503 Busy", json.dumps({"error": {"message": f"Busy, {key}."}}).encode())
    with Server(busy, answer("All is well."), error(f"401 No {key}", b"{}")) as server:
        use_server(shell, server)
        command = json.dumps(["echo", key])
        shell.environ["JPQ_SET_PROVIDERS__CUSTOM__API_KEY_CMD"] = command
        shell("compact", "--summarize")
        assert len(closed) == 1
        with pytest.raises(StreamError):
            shell("compact", "--summarize", "--keep", "1")
        assert len(closed) == 2
        assert key in "".join(server.seen[0].headers.values())
    with open(os.path.join(shell.environ["JPQ_HOME"], "state", "log", "jpq.log")) as file:
        log = file.read()
    assert "asks custom/small for a summary" in log and "attempt 2: small" in log
    assert "Trying again" in log and "failed: auth" in log
    assert key not in log


def test_a_summary_that_cannot_be_had_changes_nothing(shell: Shell) -> None:
    id = shell.talk(*TURN, *TURN, *TURN)
    with pytest.raises(ConfigError, match="No model"):
        shell("compact", "--summarize")
    with Server(error("401 No", b"{}")) as server:
        use_server(shell, server)
        with pytest.raises(StreamError):
            shell("compact", "--summarize")
    assert compactions(shell, id) == []
