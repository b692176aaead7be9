"""Newline-delimited JSON: one message a line, however the bytes are cut."""

from __future__ import annotations

from typing import Iterator, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.provider import ndjson
from jpq.wire.message import Message

DATA = '\ufeff{"a":1}\r\n\n{"b":"\u2028é"}\n  \n{"last":true}'.encode()


@pytest.mark.parametrize("size", [1, 2, 7, 65536])
def test_lines_in_pieces_of(size: int) -> None:
    chunks = (DATA[at : at + size] for at in range(0, len(DATA), size))
    expected = ['{"a":1}', '{"b":"\u2028é"}', '{"last":true}']
    assert list(ndjson.messages(chunks)) == [Message("", line) for line in expected]


def test_a_line_is_handed_out_before_anything_follows_it() -> None:
    arrived: List[str] = []

    def chunks() -> Iterator[bytes]:
        yield b"{}"
        yield b"\n"
        arrived.append("asked for more")

    for message in ndjson.messages(chunks()):
        arrived.append(message.data)
    assert arrived == ["{}", "asked for more"]


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=10))
def test_any_bytes_in_any_chunks_give_the_same_messages(data: bytes, cuts: List[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[a:b] for a, b in zip(edges, edges[1:])]
    assert list(ndjson.messages(chunks)) == list(ndjson.messages([data]))
