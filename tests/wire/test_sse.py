"""Server-sent events: the framing cases, any chunking, errors that are not events."""

from __future__ import annotations

import base64
import json
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.wire import sse
from jpq.wire.message import Message
from tests.support import corpus

# Where jpq differs from the standard on purpose: the case, and what comes out instead.
# Besides these, an event without its blank line at the end of the bytes is handed out.
DIFFERENCES: Dict[str, List[Tuple[str, str, Optional[str]]]] = {
    # An explicit "message" is an event without a name: the standard treats them alike.
    "hx-u2028": [("", '{"text":"Hello\u2028World"}', None)],
    # llama.cpp's error field, which the standard drops unseen.
    "llamacpp-error-field": [
        ("", '{"choices":[]}', None),
        ("error", '{"error":{"message":"failed to decode"}}', None),
    ],
}


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def _decoded(data: bytes, size: int = 65536) -> List[Tuple[str, str, Optional[str]]]:
    return [tuple(message) for message in sse.messages(_pieces(data, size))]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 65536])
def test_every_framing_case_in_pieces_of(size: int) -> None:
    seen = set()
    for case in json.loads(corpus.read("sse", "cases.json")):
        whole = [(e["event"], e["data"], e["id"]) for e in case["events"]]
        whole += [(e["event"], e["data"], e["id"]) for e in case["unterminated_tail"]]
        expected = DIFFERENCES.get(case["name"], whole)
        assert _decoded(base64.b64decode(case["input_b64"]), size) == expected, case["name"]
        seen.add(case["name"])
    assert set(DIFFERENCES) <= seen


LINES = st.sampled_from(
    [b"data: a", b"data:b", b"data", b"event: x", b"id: 7", b": comment", b"error: {}", b"", b""]
    + [b'{"error": {"code": 1}}', b"data: \xe2\x82\xac", b"data: \xff\xe2\x82", b"retry: 1", b"[1]"]
)
LINE_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(
    st.booleans(),
    st.lists(st.tuples(LINES, LINE_ENDS), max_size=20),
    st.lists(st.integers(0, 200), max_size=30),
)
def test_any_chunking_gives_the_same_messages(
    marked: bool, lines: List[Tuple[bytes, bytes]], cuts: List[int]
) -> None:
    data = b"\xef\xbb\xbf" * marked + b"".join(line + end for line, end in lines)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[a:b] for a, b in zip(edges, edges[1:])]
    assert list(sse.messages(chunks)) == list(sse.messages([data]))


@given(st.lists(st.text(min_size=1).filter(lambda t: not set(t) & set("\r\n")), max_size=8))
def test_text_arrives_as_it_was_sent(texts: List[str]) -> None:
    data = "".join(f"data: {text}\n\n" for text in texts).encode("utf-8", "replace")
    expected = [text.encode("utf-8", "replace").decode() for text in texts]
    assert [message.data for message in sse.messages([data])] == expected


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_is_handed_out_before_anything_follows_it(end: bytes) -> None:
    arrived: List[str] = []

    def chunks() -> Iterator[bytes]:
        yield b"data: one" + end
        yield end
        arrived.append("asked for more")

    for message in sse.messages(chunks()):
        arrived.append(message.data)
    assert arrived == ["one", "asked for more"]


def test_bytes_that_are_not_utf8_are_replaced_and_cost_nothing_else() -> None:
    data = b"data: caf\xe9 \xf0\x9f\x98\n\ndata: next\n\n"
    assert [message.data for message in sse.messages([data])] == ["caf\ufffd \ufffd", "next"]


BARE_ERROR = b'{\n  "error": {\n    "code": 499,\n    "message": "cancelled"\n  }\n}\n'


@pytest.mark.parametrize("size", [1, 7, 65536])
@pytest.mark.parametrize(
    "error",
    [BARE_ERROR, b"[" + BARE_ERROR.strip() + b"]", BARE_ERROR + b"\ndata: after\n\n"],
    ids=["object", "list", "not last"],
)
def test_a_bare_json_error_between_events_is_an_error_event(error: bytes, size: int) -> None:
    messages = list(sse.messages(_pieces(b'data: {"a": 1}\n\n' + error, size)))
    assert messages[0] == Message("", '{"a": 1}')
    assert messages[1].event == "error"
    value: Any = json.loads(messages[1].data)
    value = value[0] if isinstance(value, list) else value
    assert value == {"error": {"code": 499, "message": "cancelled"}}
    assert [message.data for message in messages[2:]] == (["after"] if b"after" in error else [])


@pytest.mark.parametrize(
    "line", [b'{"a": 1}', b"{not json", b"[]", b'{"error": null}', b"{" * 9999]
)
def test_other_bare_json_is_an_unknown_line(line: bytes) -> None:
    data = b"data: one\n\n" + line + b"\n\ndata: two\n\n"
    assert [message.data for message in sse.messages([data])] == ["one", "two"]


def test_an_error_line_inside_an_event_becomes_an_event_of_its_own() -> None:
    messages = list(sse.messages([b"data: part\nerror: {}\ndata: rest\n\n"]))
    assert messages == [Message("", "part"), Message("error", "{}"), Message("", "rest")]


def test_a_recorded_error_that_is_not_an_event() -> None:
    name = "FirebaseExtended__vertexai-sdk-test-data/vertex-gemini/error-mid-stream.sse"
    body = corpus.read("streams", *name.split("/"))
    *before, last = sse.messages(_pieces(body, 7))
    assert len(before) == 2 and not any(message.event for message in before)
    assert last.event == "error" and json.loads(last.data)["error"]["code"] == 499


def _cpu_seconds(size: int) -> float:
    chunks = list(_pieces(b"data: " + b"x" * size + b"\n\n", 128))
    spent = []
    for _ in range(3):
        start = time.process_time()
        (message,) = sse.messages(chunks)
        spent.append(time.process_time() - start)
        assert len(message.data) == size
    return min(spent)


def test_one_huge_event_in_small_pieces_costs_linear_time() -> None:
    """Joining piece by piece took sseclient 16 times as long for 4 times the size."""
    small, large = _cpu_seconds(1_000_000), _cpu_seconds(4_000_000)
    assert large < 9 * small


def test_a_wait_that_no_number_can_hold_is_none() -> None:
    text = b"retry: " + b"9" * 5000 + b"\ndata: a\n\nretry: 20\ndata: b\n\n"
    assert [wait_ms for _, wait_ms in sse.resumable([text])] == [None, 20]
