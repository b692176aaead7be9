"""repair: everything that is wrong is shown, mended once, and kept in a copy."""

from __future__ import annotations

import json
import os
from typing import Any, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.event import ChatRequest, Overlay
from jpq.errors import BadInputError
from jpq.store.library import Library
from jpq.store.reading import read_conversation
from jpq.store.repair import plan_repair, write_repair


def line(event_id: str, type: str, **fields: Any) -> bytes:
    return json.dumps({"event_id": event_id, "timestamp": "t", "type": type, **fields}).encode()


ASK = line("aaaaaaa", "chat_request", content="a", n=1.5)
CALL = line("ccccccc", "tool_call_request", id="1", name="x", arguments={})
RESULT = line("rrrrrrr", "tool_call_response", id="1", content="r", is_error=False)
LATER = b'{ "event_id":"hhhhhhh", "type":"hologram","n":2.0e0 }'


@pytest.fixture
def folder(tmp_path: Any) -> str:
    journal = Library(os.path.join(str(tmp_path), "conversations")).create({"workspace": "/w"})
    journal.begin_cycle()
    journal.close()
    os.unlink(os.path.join(journal.folder, "inflight.jsonl"))
    return journal.folder


def put(folder: str, *lines: bytes, name: str = "events.jsonl") -> None:
    with open(os.path.join(folder, name), "wb") as file:
        file.write(b"\n".join(lines))


def got(folder: str, name: str = "events.jsonl") -> bytes:
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def test_a_sound_conversation(folder: str) -> None:
    put(folder, ASK, CALL, RESULT, LATER)
    assert plan_repair(folder) == []


def test_results_in_the_order_in_which_tools_ended_are_no_fault(folder: str) -> None:
    other = line("ddddddd", "tool_call_request", id="2", name="x", arguments={})
    first = line("sssssss", "tool_call_response", id="2", content="s", is_error=False)
    put(folder, ASK, CALL, other, first, RESULT, LATER)
    assert plan_repair(folder) == []


def test_everything_at_once_and_the_rest_byte_for_byte(folder: str) -> None:
    torn = b'{"event_id":"tttttt'
    before = (ASK, torn, b"\x00\x00" + LATER + b"\x00", CALL, RESULT, RESULT)
    put(folder, *before)
    (repair,) = plan_repair(folder)
    assert [(change.number, change.reason) for change in repair.changes] == [
        (2, "It is no entry."),
        (3, "There is something around the entry."),
        (6, "Another entry has its id."),
        (6, "A result without its call, or a second one."),
    ]
    assert got(folder) == b"\n".join(before), "planning writes nothing"
    (copy,) = write_repair([repair])
    assert copy == os.path.join(folder, "events.jsonl.damaged")
    assert got(folder) == b"".join(kept + b"\n" for kept in (ASK, LATER, CALL, RESULT))
    assert got(folder, "events.jsonl.damaged") == b"\n".join(before)
    assert plan_repair(folder) == []


def test_a_missing_result_and_a_missing_request_are_put_in(folder: str) -> None:
    put(folder, CALL)
    write_repair(plan_repair(folder))
    request, call, result = read_conversation(folder).stream.entries
    assert isinstance(request.event, ChatRequest) and call.line == CALL
    assert len({request.event_id, call.event_id, result.event_id, ""}) == 4
    assert plan_repair(folder) == []


def test_references_to_a_repeated_id_are_marked_and_stay_void(folder: str) -> None:
    overlay = line("ooooooo", "overlay", target="aaaaaaa", fields=None)
    put(folder, ASK, ASK, b'{"type":"chat_request","content":"no id"}', overlay)
    assert len(plan_repair(folder)[0].changes) == 3
    write_repair(plan_repair(folder))
    stream = read_conversation(folder).stream
    assert stream.entries[0].event_id == "aaaaaaa" and stream.entries[0].line == ASK
    assert all(entry.repeated_id is None and entry.event_id for entry in stream.entries)
    last = stream.entries[-1]
    assert isinstance(last.event, Overlay) and last.metadata == {"ambiguous": True}
    assert len(stream.turns()) == 3 and plan_repair(folder) == []


def test_metadata_and_configuration_that_cannot_be_read(folder: str) -> None:
    put(folder, ASK)
    put(folder, b'{"title": "x', name="metadata.json")
    put(folder, bytes(9), name="base_config.json")
    copies = write_repair(plan_repair(folder))
    assert [os.path.basename(copy) for copy in copies] == [
        "metadata.json.damaged",
        "base_config.json.damaged",
    ]
    assert json.loads(got(folder, "metadata.json"))["created_at"] == "t"
    assert plan_repair(folder) == []


def test_a_newer_version_is_not_touched(folder: str) -> None:
    put(folder, b'{"schema":9}', name="metadata.json")
    put(folder, b"torn")
    with pytest.raises(BadInputError, match="newer jpq"):
        plan_repair(folder)


PIECES = st.sampled_from([ASK, CALL, RESULT, LATER, b"torn", b"", b"\x00", b"\xef\xbb\xbf" + ASK])
OTHERS = st.sampled_from(
    [
        line("ooooooo", "overlay", target="ccccccc", fields={"name": "y"}),
        line("kkkkkkk", "compaction", first="aaaaaaa", last="ccccccc", summary="s"),
        line("", "inquiry_request", id="q", question="?"),
        line("qqqqqqq", "inquiry_response", id="q", answer="!"),
        line("mmmmmmm", "chat_response", message="m"),
    ]
)


@given(st.lists(st.one_of(PIECES, OTHERS), max_size=9))
def test_what_was_repaired_is_sound(tmp_path_factory: Any, lines: List[bytes]) -> None:
    folder = str(tmp_path_factory.mktemp("c"))
    put(folder, b"{}", name="metadata.json")
    put(folder, *lines)
    write_repair(plan_repair(folder))
    assert plan_repair(folder) == []
    assert read_conversation(folder).notices == ()
