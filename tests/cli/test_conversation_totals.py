"""``conversation show -u``: what a whole conversation took; and what was attached in it."""

from __future__ import annotations

import json
from typing import Any

from jpq.conversation.attachment import as_metadata, recognised
from jpq.conversation.event import AssistantMessage, ChatRequest, Draft, TurnEnd
from tests.cli.conversation_shell import Shell

MADE = {"provider": "openai", "model": "gpt-5-mini"}


def turn(question: str, model: str = "gpt-5-mini", **usage: int) -> Any:
    end = TurnEnd("complete", "stop", usage, model)
    return [Draft(ChatRequest(question)), Draft(AssistantMessage("b"), MADE), Draft(end)]


def saved(shell: Shell, *drafts: Draft) -> None:
    journal = shell.open()
    journal.commit(drafts)
    journal.close()


def test_the_sums_of_all_turns(shell: Shell) -> None:
    first = turn("a", input_tokens=1_000_000, output_tokens=500_000)
    saved(shell, *first, *turn("b", input_tokens=1_000_000, output_tokens=500_000))
    shown = shell("show", "-u")
    assert shown.err == "jpq: 2 turns, tokens: 2000000 in, 1000000 out, 2.5000 USD\n"
    whole = json.loads(shell("show", "-u", "--format", "json").out)
    assert whole["usage"] == {"input_tokens": 2_000_000, "output_tokens": 1_000_000}
    assert whole["cost"] == 2.5
    last = shell("show", "-u", "--last", "1")
    assert last.err == "jpq: 1 turn, tokens: 1000000 in, 500000 out, 1.2500 USD\n"
    assert "usage" not in json.loads(shell("show", "--format", "json").out)


def test_a_turn_without_a_price_makes_the_sum_unknown(shell: Shell) -> None:
    known = turn("a", input_tokens=1, output_tokens=1)
    saved(shell, *known, *turn("b", model="unheard-of", input_tokens=1, output_tokens=1))
    assert shell("show", "-u").err.endswith("tokens: 2 in, 2 out, price unknown\n")
    assert json.loads(shell("show", "-u", "--format", "json").out)["cost"] is None


def test_what_was_attached_is_named(shell: Shell) -> None:
    image = recognised("dot.png", b"\x89PNG\r\n\x1a\n-pixels-")
    assert image is not None
    saved(shell, Draft(ChatRequest("what?"), as_metadata([image])))
    assert shell("show").out == "You:\nwhat?\n[attached: dot.png, png]\n"
