"""Any history of turns, interrupts, kills and restarts makes requests that every API takes.

A kill is simulated at any byte of any write: the folder is put into the state it had then.
Real kills are in tests/faults and in ``python -m bench durability``.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from typing import Any, Callable, List, Mapping, NamedTuple, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpq.conversation.compaction import plan_compaction
from jpq.conversation.cycle_fold import CycleFold
from jpq.conversation.effective import effective
from jpq.conversation.event import (
    AssistantMessage,
    ChatRequest,
    Draft,
    Overlay,
    ToolCall,
    ToolResponse,
    TurnEnd,
)
from jpq.conversation.thread import Origin, build_thread
from jpq.events.parts import (
    STOP,
    TOOL_CALLS,
    Finished,
    Flush,
    MessageDelta,
    Opaque,
    Part,
    ReasoningDelta,
    StreamEvent,
    ToolArgumentsDelta,
    ToolCallRequest,
    ToolCallStarted,
)
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.registry import APIS, load_api, resolve
from jpq.store.inflight import encode_commit
from jpq.store.journal import FileJournal
from jpq.store.library import Library
from jpq.store.repair import plan_repair, write_repair
from tests.support import (
    validators_anthropic,
    validators_chat,
    validators_google,
    validators_ollama,
    validators_responses,
)

CHECKS: Mapping[str, Callable[[Any], None]] = {
    "openai-chat": validators_chat.check_request,
    "openai-responses": validators_responses.check_request,
    "anthropic": validators_anthropic.check_request,
    "google": validators_google.check_request,
    "ollama": validators_ollama.check_request,
}
WITHOUT_A_WIRE = {"local", "scripted"}  # they speak openai-chat

TEXTS = st.sampled_from(["", " ", "\n", "Hello ", "w\u00f6rld", "\U0001f600"])
IDS = st.sampled_from(["call_1", "call_2", "", "toolu_\u00fc"])
NAMES = st.sampled_from(["look", "", "fs.read", "grüße dich", "n" * 70])
# Only its maker reads what is opaque, so that comes from elsewhere.
HERE, ELSEWHERE = Origin("acme", "m1"), Origin("elsewhere", "m1")


def block(
    index: int, kind: str, text: str, id: str, name: str, origin: Origin
) -> List[StreamEvent]:
    """The stream events of one block that ``origin`` sends."""
    if kind == "call":
        call = ToolCallRequest(id, name, {"at": text})
        return [
            ToolCallStarted(index, id, name),
            ToolArgumentsDelta(index, '{"at"'),
            Part(index, call),
            Flush(index),
        ]
    if kind == "raw":
        return [Part(index, ToolCallRequest(id, name, {"raw": "{"}, "{"))]
    if kind == "opaque":
        if origin == HERE:
            return [Part(index, ReasoningDelta(text))]
        return [Part(index, Opaque({"type": "new", "n": 1}))]
    delta = MessageDelta if kind == "text" else ReasoningDelta
    halves = (text[:1], text[1:])
    metadata = {} if origin == HERE else {"signature": "s"}
    return [*(Part(index, delta(half)) for half in halves), Flush(index, metadata)]


KINDS = st.sampled_from(["text", "text", "reasoning", "call", "raw", "opaque"])
BLOCKS = st.lists(st.tuples(KINDS, TEXTS, IDS, NAMES), max_size=4)


class Cycle(NamedTuple):
    """A reply, how much of it arrives, and where in saving it the process is killed.

    ``arrived`` and ``at`` are shares; ``at`` None: it is not killed.
    """

    blocks: Any
    arrived: float
    at: Optional[float]
    origin: Origin


SHARE = st.floats(0, 1)
ORIGINS = st.sampled_from([HERE, ELSEWHERE])
STEP = st.one_of(
    st.builds(lambda text: ("ask", text), TEXTS),
    st.builds(Cycle, BLOCKS, st.sampled_from([1.0, 1.0, 0.5, 0.8]), st.none() | SHARE, ORIGINS),
    st.tuples(st.just("answer"), st.integers(0, 4), st.none() | SHARE),
    st.sampled_from([("end",), ("undo",), ("compact",), ("repair",), ("restart",), ("abort",)]),
)


class History:
    """A conversation on the disk, and what was shown of it."""

    def __init__(self, folder: str) -> None:
        self.library = Library(os.path.join(folder, "conversations"))
        self.journal: FileJournal = self.library.create({"workspace": "/w"})
        self.journal.commit([Draft(ChatRequest("first"))])
        self.shown: List[str] = []

    def play(self, step: Any) -> None:
        if isinstance(step, Cycle):
            self._cycle(step)
        elif step[0] == "ask":
            self.journal.commit([Draft(ChatRequest(step[1]))])
        elif step[0] == "answer":
            calls = self.journal.unanswered_tool_calls()[: step[1]]
            drafts = [Draft(ToolResponse(call.id, "done")) for call in calls]
            self._commit(drafts, step[2])
        elif step[0] == "end":
            self.journal.commit([Draft(TurnEnd("interrupted", None, {}, None))])
        elif step[0] == "compact":
            plan = plan_compaction(self.journal.stream, 1)
            if plan is not None:
                self.journal.commit([Draft(plan._replace(summary="They talked."))])
        elif step[0] == "undo":
            last = effective(self.journal.stream.entries)[-1]
            if not isinstance(last.event, AssistantMessage):
                self.journal.commit([Draft(Overlay(last.event_id, None))])
        elif step[0] == "abort":
            mark = self.journal.mark()
            self.journal.commit([Draft(ChatRequest("taken back")), Draft(ToolCall("x", "y", {}))])
            self.journal.rollback(mark)
        else:
            self._restart(repair=step[0] == "repair")

    def _cycle(self, cycle: Cycle) -> None:
        events: List[StreamEvent] = []
        for index, parts in enumerate(cycle.blocks):
            events += block(index, *parts, cycle.origin)
        calls = any(parts[0] in ("call", "raw") for parts in cycle.blocks)
        events.append(Finished(TOOL_CALLS if calls else STOP))
        events = events[: round(len(events) * cycle.arrived)]
        self.journal.begin_cycle(cycle.origin)
        fold = CycleFold(cycle.origin)
        for event in events:
            self.journal.record([event])
            fold.feed(event)
            if isinstance(event, Part) and isinstance(event.payload, MessageDelta):
                self.shown.append(event.payload.text)
        self._commit(fold.drafts(), cycle.at)

    def _commit(self, drafts: List[Draft], at: Optional[float]) -> None:
        """Commit ``drafts``; a kill comes when the share ``at`` of the writing is done."""
        folder = self.journal.folder
        before = {name: read(folder, name) for name in ("events.jsonl", "inflight.jsonl")}
        self.journal.commit(drafts)
        if at is None:
            return
        after = read(folder, "events.jsonl")
        added = after[len(before["events.jsonl"]) :]
        commit = encode_commit(added.split(b"\n")[:-1]) if added else b""
        done = round((len(commit) + len(added)) * at)
        self.journal.close()
        in_flight = before["inflight.jsonl"] + commit[:done]
        write(folder, "inflight.jsonl", in_flight)
        write(folder, "events.jsonl", before["events.jsonl"] + added[: max(0, done - len(commit))])
        self._open()

    def _restart(self, repair: bool) -> None:
        if repair:
            write_repair(plan_repair(self.journal.folder))
            assert plan_repair(self.journal.folder) == []
        self.journal.close()
        self._open()

    def _open(self) -> None:
        self.journal = self.library.open(self.journal.id, 0, pytest.fail)

    def check(self) -> None:
        """Nothing that was shown is lost, and every API takes the request."""
        stream = self.library.read(self.journal.id).stream
        texts = (e.event.text for e in stream.entries if isinstance(e.event, AssistantMessage))
        assert "".join("".join(texts).split()) == "".join("".join(self.shown).split())
        retried = build_thread(stream.entries, "Be brief.", continue_last=True)
        stream.append(Draft(ChatRequest("next")))
        for thread in (retried, build_thread(stream.entries, "Be brief.")):
            if not thread.messages:
                continue  # there is nothing to retry
            for api, check in CHECKS.items():
                request = ProviderRequest("m1", thread)
                row = ProviderRow("acme", api, "https://api.test/v1")
                body = load_api(api).encode(request, row, "k").body
                check(json.loads(json.dumps(body)))
            mistral = resolve("mistral", {}, {})
            body = load_api(mistral.api).encode(request, mistral, "k").body
            validators_chat.check_request(body, prefill=True, answer_after_results=True)


def read(folder: str, name: str) -> bytes:
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def write(folder: str, name: str, data: bytes) -> None:
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def test_every_api_is_checked() -> None:
    assert set(CHECKS) == set(APIS) - WITHOUT_A_WIRE


@settings(max_examples=150)
@given(st.lists(STEP, max_size=10))
def test_any_history_makes_requests_that_every_api_takes(steps: List[Any]) -> None:
    folder = tempfile.mkdtemp()
    try:
        history = History(folder)
        for step in steps:
            history.play(step)
        history.check()
        history.journal.close()
        history.check()
    finally:
        shutil.rmtree(folder)
