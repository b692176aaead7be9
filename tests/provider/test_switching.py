"""A conversation that changes its model and its provider in the middle, in every direction.

Each API's conversation holds what it alone can make (signed, redacted and encrypted reasoning,
parallel calls, ids in its own style) and what all of them share (pictures, PDFs, text). Sent to
any of the five, it keeps that API's rules; what is opaque comes back to its maker only.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpq.conversation.attachment import Attachment, as_metadata
from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    ChatRequest,
    Draft,
    ToolCall,
    ToolResponse,
)
from jpq.conversation.thread import Origin, Thread
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.registry import load_api, resolve
from jpq.provider.wire_request import CONTINUE
from tests.support import (
    mixed_conversations,
    validators_anthropic,
    validators_chat,
    validators_google,
    validators_ollama,
    validators_responses,
)
from tests.support.mixed_conversations import PNG, TOOL, thread_of, turn

CHECKS: Mapping[str, Callable[[Any], None]] = {
    "openai-chat": validators_chat.check_request,
    "openai-responses": validators_responses.check_request,
    "anthropic": validators_anthropic.check_request,
    "google": lambda body: validators_google.check_request(body, signed_calls=True),
    "ollama": validators_ollama.check_request,
}
APIS = tuple(CHECKS)
QUIRKS: Mapping[str, Dict[str, Any]] = {
    "openai-chat": {
        "reasoning_field": "reasoning_details",
        "reasoning_turns": "all",
        "attachments": ("png", "jpeg", "gif", "webp", "pdf"),
    },
    "google": {"signed_calls": True},
}


def row(api: str, name: str = "acme", **quirks: Any) -> ProviderRow:
    url = "http://api.acme.test" if api == "ollama" else "https://api.acme.test/v1"
    return ProviderRow(name, api, url, quirks={**QUIRKS.get(api, {}), **quirks})


def sent(api: str, thread: Thread, to: ProviderRow, model: str = "m1") -> str:
    """The body that ``api`` is sent, which keeps its rules."""
    body = load_api(api).encode(ProviderRequest(model, thread, (TOOL,)), to, None).body
    CHECKS[api](body)
    return json.dumps(body, ensure_ascii=False)


@pytest.mark.parametrize("to", APIS)
@pytest.mark.parametrize("made_by", APIS)
def test_any_api_takes_a_conversation_of_any_other(made_by: str, to: str) -> None:
    drafts = turn(made_by, Origin("maker", "m9"))
    body = sent(to, thread_of([*drafts, Draft(ChatRequest("And now?"))]), row(to))
    assert "SECRET" not in body and "U0VDUkVULTI=" not in body
    assert "I look twice." in body and "A dot." in body and "And now?" in body
    assert "nothing there" in body and "Zoë" in body and "Grüße" in body
    assert PNG is not None and PNG.content in body


@pytest.mark.parametrize("to", APIS)
def test_another_model_is_asked_anew_what_one_paused_at(to: str) -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "SECRET"}}
    paused = Draft(AssistantOpaque(search), {"provider": "maker", "model": "m9", "paused": True})
    drafts = [Draft(ChatRequest("Who?")), paused]
    thread = thread_of(drafts, continue_last=True)
    assert thread.continues
    body = sent(to, thread, row(to))
    assert "SECRET" not in body and CONTINUE not in body


@pytest.mark.parametrize("made_by", APIS)
@pytest.mark.parametrize(
    "to, ids",
    [("openai", r"[^\n]{1,40}"), ("mistral", "[a-zA-Z0-9]{9}")],
    ids=["openai", "mistral"],
)
def test_chat_providers_get_ids_that_they_take(made_by: str, to: str, ids: str) -> None:
    to_row = resolve(to, {"api": "openai-chat"}, {})
    drafts = turn(made_by, Origin("maker", "m9"))
    question = Draft(ChatRequest("And now?"))
    before = thread_of([*drafts, question])
    after = thread_of([*drafts, *turn(made_by, Origin("maker", "m9"), "Twice."), question])
    bodies = []
    for thread in (before, after):
        body = load_api("openai-chat").encode(ProviderRequest("m1", thread), to_row, None).body
        strict = to == "mistral"
        validators_chat.check_request(body, ids=re.compile(ids), answer_after_results=strict)
        bodies.append(body["messages"])
    assert bodies[1][: len(bodies[0]) - 1] == bodies[0][:-1], "a longer conversation begins alike"


@pytest.mark.parametrize("to", APIS)
@pytest.mark.parametrize("made_by", APIS)
def test_opaque_data_returns_to_its_maker_after_an_excursion(made_by: str, to: str) -> None:
    """A, then B, then A again: each gets back what it made, and nothing of the other."""
    home, abroad = Origin("home", "m1"), Origin("abroad", "m1")
    drafts = [
        *turn(made_by, home, "Question 1"),
        *turn(to, abroad, "Question 2"),
        Draft(ChatRequest("And now?")),
    ]
    thread = thread_of(drafts)
    back = sent(made_by, thread, row(made_by, "home"))
    there = sent(to, thread, row(to, "abroad"))
    for body, api in ((back, made_by), (there, to)):
        secrets = ["SECRET-1", "U0VDUkVULTI=" if api == "ollama" else "SECRET-2"]
        for secret in secrets:
            # Once a cycle, two cycles: those of this maker's turn and of no other.
            assert body.count(secret) == 2, f"{secret} of {api}"


@pytest.mark.parametrize("to", APIS)
@pytest.mark.parametrize("made_by", APIS)
def test_a_provider_may_be_asked_through_another_api_than_before(made_by: str, to: str) -> None:
    drafts = [*turn(made_by, Origin("acme", "m1")), Draft(ChatRequest("And now?"))]
    body = sent(to, thread_of(drafts), row(to))
    assert "A dot." in body
    assert made_by == to or "SECRET-2" not in body


@pytest.mark.parametrize("api", APIS)
def test_another_model_of_the_same_provider_gets_no_opaque_data(api: str) -> None:
    drafts = [*turn(api, Origin("acme", "m1")), Draft(ChatRequest("And now?"))]
    assert "SECRET" not in sent(api, thread_of(drafts), row(api), model="m2")


@pytest.mark.parametrize("to", APIS)
def test_foreign_reasoning_is_text_where_the_row_says_so(to: str) -> None:
    drafts = [*turn("anthropic", Origin("maker", "m9")), Draft(ChatRequest("And now?"))]
    body = sent(to, thread_of(drafts), row(to, foreign_reasoning="text"))
    assert body.count("<thinking>Let me think.</thinking>") == 2
    assert "SECRET" not in body


@pytest.mark.parametrize("to", APIS)
def test_what_a_model_cannot_be_sent_any_more_becomes_a_note(to: str) -> None:
    drafts = [*turn("openai-chat", Origin("maker", "m9")), Draft(ChatRequest("And now?"))]
    body = sent(to, thread_of(drafts), row(to, text_only=True))
    assert PNG is not None and PNG.content not in body
    assert "(dot.png was attached here; this model cannot be sent it.)" in body
    assert "(paper.pdf was attached here; this model cannot be sent it.)" in body
    assert "Grüße" in body, "text goes to every model"


@given(
    st.lists(st.tuples(st.sampled_from(APIS), st.integers(0, 2)), min_size=1, max_size=4),
    st.sampled_from(APIS),
)
@settings(deadline=None)
def test_any_path_through_the_apis_ends_in_a_valid_request(path: Any, to: str) -> None:
    drafts: List[Draft] = []
    for number, (api, cut) in enumerate(path):
        drafts += turn(api, Origin(f"p{api}", "m1"), f"Question {number}")[: 10 - 3 * cut]
    drafts.append(Draft(ChatRequest("And now?")))
    sent(to, thread_of(drafts), row(to))


@pytest.mark.parametrize("made_by", APIS)
@pytest.mark.parametrize(
    "to, quirks, taken, noted",
    [
        ("openai-chat", {}, "SHOT LOOP SCAN LAST_SHOT", ""),
        ("openai-chat", {"result_media": "content"}, "SHOT LOOP SCAN LAST_SHOT", ""),
        ("openai-chat", {"result_media": False}, "", "SHOT LOOP SCAN LAST_SHOT"),
        ("openai-chat", {"text_only": True}, "", "SHOT LOOP SCAN LAST_SHOT"),
        ("openai-responses", {}, "SHOT LOOP SCAN LAST_SHOT", ""),
        ("anthropic", {}, "SHOT LOOP SCAN LAST_SHOT", ""),
        ("google", {}, "SHOT SCAN LAST_SHOT", "LOOP"),
        ("google", {"signed_calls": False}, "SHOT SCAN LAST_SHOT", "LOOP"),
        ("ollama", {}, "SHOT LAST_SHOT", "LOOP SCAN"),
    ],
)
def test_what_a_tool_gave_beside_text_is_sent_as_the_api_takes_it(
    made_by: str, to: str, quirks: Dict[str, Any], taken: str, noted: str
) -> None:
    drafts = [*turn(made_by, Origin("maker", "m9")), Draft(ChatRequest("And now?"))]
    to_row = row(to, **quirks)
    body = load_api(to).encode(ProviderRequest("m1", thread_of(drafts), (TOOL,)), to_row, None).body
    if to == "google":
        validators_google.check_request(body, signed_calls=quirks.get("signed_calls", True))
    elif to == "openai-chat":
        validators_chat.check_request(body, result_media=quirks.get("result_media", True))
    else:
        CHECKS[to](body)
    text = json.dumps(body)
    for name in taken.split():
        held: Attachment = getattr(mixed_conversations, name)
        assert text.count(held.content) == 1 and f"({held.name} was attached" not in text
    for name in noted.split():
        held = getattr(mixed_conversations, name)
        assert held.content not in text
        assert f"({held.name} was attached here; this model cannot be sent it.)" in text


attachments = st.lists(
    st.sampled_from(
        [getattr(mixed_conversations, name) for name in ("PNG", "GIF", "PAPER", "NOTES", "SHOT")]
    ),
    max_size=3,
)
answers = st.tuples(st.sampled_from(["", " ", "done", "\n\n"]), st.booleans(), attachments)


@given(
    st.lists(st.tuples(st.lists(answers, max_size=3), st.booleans()), min_size=1, max_size=4),
    st.sampled_from(APIS),
    st.sampled_from([True, False, "content"]),
    st.booleans(),
    st.booleans(),
)
@settings(deadline=None)
def test_any_results_with_anything_beside_them_make_a_valid_request(
    cycles: Any, to: str, media: Any, signed: bool, answer: bool
) -> None:
    drafts = [Draft(ChatRequest("Look."))]
    for number, (results, interrupted) in enumerate(cycles):
        ids = [f"c{number}-{n}" for n in range(len(results))]
        drafts += [Draft(ToolCall(id, "look", {})) for id in ids]
        for id, (text, is_error, held) in zip(ids, results):
            drafts.append(Draft(ToolResponse(id, text, is_error), as_metadata(held)))
        drafts.append(Draft(AssistantMessage("I see.") if not interrupted else ChatRequest("Go.")))
    drafts.append(Draft(ChatRequest("And now?")))
    to_row = row(to, result_media=media, signed_calls=signed, answer_after_results=answer)
    body = load_api(to).encode(ProviderRequest("m1", thread_of(drafts), (TOOL,)), to_row, None).body
    if to == "google":
        validators_google.check_request(body, signed_calls=signed)
    elif to == "openai-chat":
        validators_chat.check_request(body, result_media=media, answer_after_results=answer)
    else:
        CHECKS[to](body)
