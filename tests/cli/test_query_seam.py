"""A continued answer whose model says the cut end again: shown, stored and sent once."""

from __future__ import annotations

from typing import Any, List

import pytest

from tests.support.programs import conversations, entries, jpq, model_at
from tests.support.server import DONE, DROP, FINISH, Server, chunk, delta, head, reply, sse

BEGUN = "The capital of France is Paris, and the capital of It"
SAID_AGAIN = ["and the cap", "ital of It", "aly is Rome."]
WHOLE = "The capital of France is Paris, and the capital of Italy is Rome."


def cut_off(text: str) -> List[Any]:
    return [head(), *(chunk(event) for event in sse(delta(text))), DROP]


@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_what_is_said_again_is_shown_and_stored_once(form: str) -> None:
    again = reply(*map(delta, SAID_AGAIN), FINISH, DONE)
    third = reply(delta("Berlin."), FINISH, DONE)
    with Server(cut_off(BEGUN), again, third) as server:
        options = [*model_at(server), "--set", "request.backoff_base_s=0.01"]
        options[options.index("--retries") + 1] = "1"
        ran = jpq(*options, "--format", form, "capitals?")
        jpq(*options, "-c", "Germany's?")
        sent = server.seen[2].json["messages"]
    assert ran.code == 0, ran
    if form == "text":
        assert ran.text == WHOLE + "\n"
    else:
        texts = [event["text"] for event in ran.events if event["type"] == "text_chunk"]
        assert "".join(texts) == ran.result["text"] == WHOLE
    (folder,) = conversations()
    said = [e["message"] for e in entries(folder) if "message" in e]
    assert "".join(said[:2]) == WHOLE
    assert sent[1]["content"] == WHOLE
