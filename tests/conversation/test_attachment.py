"""Attachments: known by content, stored in the entry, sent as blocks."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.attachment import Attachment, as_metadata, from_metadata, recognised
from jpq.conversation.entry import decode_entry, encode_entry
from jpq.conversation.event import ChatRequest, Draft, Entry, ToolCall, ToolResponse
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import (
    ThreadDocument,
    ThreadImage,
    ThreadText,
    ThreadToolResult,
    build_thread,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "data,kind",
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "jpeg"),
        (b"GIF87a\x00", "gif"),
        (b"GIF89a\x00", "gif"),
        (b"RIFF\x1a\x00\x00\x00WEBPVP8 ", "webp"),
        (b"%PDF-1.4\n\x00", "pdf"),
        (b"\r\n%PDF-1.4", "pdf"),
        (b"# Title\n\x1b[1mbold\x1b[0m\ttab\x0c", "text"),
        ("\ufeffGrüße".encode(), "text"),
        ("Grüße".encode("utf-16"), "text"),
        ("Grüße".encode("latin-1"), "text"),
    ],
)
def test_content_tells_the_kind(data: bytes, kind: str) -> None:
    found = recognised("a.bin", data)
    assert found is not None and found.kind == kind
    if kind != "text":
        assert base64.b64decode(found.content) == data
    elif "Gr" in found.content:
        assert found.content in ("Grüße", "Gr\ufffd\ufffde")


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"\x7fELF\x02", b"\x00", b"\x1f\x8b\x08\x00"])
def test_what_is_neither_is_not_guessed(data: bytes) -> None:
    assert recognised("a.txt", data) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_stored_whole_or_not_at_all(data: bytes) -> None:
    found = recognised("x", data)
    if found is None:
        return
    stream = ConversationStream()
    entry = stream.append(Draft(ChatRequest("q"), as_metadata([found])))
    read = decode_entry(encode_entry(entry))
    assert isinstance(read, Entry)
    assert from_metadata(read.metadata) == [found]


@given(JSON)
def test_metadata_of_others_is_passed_over(value: Any) -> None:
    for attached in from_metadata({"attachments": value}):
        assert all(isinstance(field, str) for field in attached)
    assert from_metadata({"attachments": [value, {"name": "a"}]}) == []


def test_blocks_follow_the_question_in_their_order() -> None:
    attached = [
        Attachment("n.txt", "text/plain", "notes"),
        Attachment("p.pdf", "application/pdf", "UERG"),
        Attachment("i.png", "image/png", "UE5H"),
    ]
    stream = ConversationStream()
    stream.append(Draft(ChatRequest("what?"), as_metadata(attached)))
    (message,) = build_thread(stream.entries).messages
    assert message.blocks == (
        ThreadText("what?"),
        ThreadText("n.txt:\n\nnotes"),
        ThreadDocument("p.pdf", "application/pdf", "UERG"),
        ThreadImage("i.png", "image/png", "UE5H"),
    )


def test_an_attachment_alone_is_a_question() -> None:
    stream = ConversationStream()
    image = Attachment("i.png", "image/png", "UE5H")
    stream.append(Draft(ChatRequest(""), as_metadata([image])))
    (message,) = build_thread(stream.entries).messages
    assert message.blocks == (ThreadImage("i.png", "image/png", "UE5H"),)
    assert as_metadata([]) == {}


def test_what_a_tool_gave_belongs_to_its_result() -> None:
    attached = [
        Attachment("i.png", "image/png", "UE5H"),
        Attachment("n.txt", "text/plain", "notes"),
        Attachment("p.pdf", "application/pdf", "UERG"),
    ]
    stream = ConversationStream()
    stream.append(Draft(ChatRequest("look")))
    stream.append(Draft(ToolCall("1", "t", {})))
    stream.append(Draft(ToolResponse("1", "seen"), as_metadata(attached)))
    _, _, message = build_thread(stream.entries).messages
    image = ThreadImage("i.png", "image/png", "UE5H")
    paper = ThreadDocument("p.pdf", "application/pdf", "UERG")
    told = "seen\n\nn.txt:\n\nnotes"
    assert message.blocks == (ThreadToolResult("1", "t", told, False, (image, paper)),)
