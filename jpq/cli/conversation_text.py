"""A saved conversation as text, Markdown, JSON and JSON Lines."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, NamedTuple, Optional

from jpq.conversation.entry import encode_entry, entry_fields
from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    AssistantStructured,
    ChatRequest,
    Entry,
    InquiryRequest,
    InquiryResponse,
    ToolCall,
    ToolResponse,
)
from jpq.store.reading import SavedConversation


class Said(NamedTuple):
    """One thing that was said: by whom, and the text verbatim.

    ``joins`` is true for a text that goes on where a cut one before it ended.
    """

    speaker: str
    text: str
    joins: bool = False


def as_text(saved: SavedConversation) -> str:
    """Who said what, each text verbatim below its speaker."""
    return _laid_out(saved, "{}:\n")


def as_markdown(saved: SavedConversation) -> str:
    """The same with a heading for each speaker; texts are Markdown already."""
    title = saved.metadata.get("title")
    top = f"# {' '.join(title.split())}\n\n" if isinstance(title, str) and title.strip() else ""
    return top + _laid_out(saved, "## {}\n\n")


def as_json(saved: SavedConversation) -> Dict[str, Any]:
    """Metadata and entries as they are stored, unknown fields included."""
    entries = [entry_fields(entry) for entry in saved.stream.entries]
    return {**saved.metadata, "id": saved.id, "entries": entries}


def as_json_lines(saved: SavedConversation) -> str:
    """The lines of ``events.jsonl`` as they are, with those that are not in it yet."""
    lines = (encode_entry(entry) for entry in saved.stream.entries)
    return "".join(line.decode("utf-8", "replace") + "\n" for line in lines)


def _laid_out(saved: SavedConversation, heading: str) -> str:
    pieces = []
    speaker = ""
    for said in _said(saved):
        if said.joins and said.speaker == speaker:
            pieces.append(said.text)
            continue
        if pieces:
            pieces.append("\n\n")
        if said.speaker != speaker:
            pieces.append(heading.format(said.speaker))
            speaker = said.speaker
        pieces.append(said.text)
    return "".join(pieces) + "\n" if pieces else ""


def _said(saved: SavedConversation) -> Iterator[Said]:
    cut = False
    for entry in saved.stream.entries:
        said = _of_entry(entry)
        if said is None or not said.text:
            continue
        message = isinstance(entry.event, AssistantMessage)
        yield said._replace(joins=cut and message)
        cut = message and bool(entry.metadata.get("partial"))


def _of_entry(entry: Entry) -> Optional[Said]:
    event = entry.event
    if isinstance(event, ChatRequest):
        return Said("You", event.content)
    if isinstance(event, AssistantMessage):
        return Said("Assistant", event.text)
    if isinstance(event, AssistantReasoning):
        return Said("Reasoning", event.text)
    if isinstance(event, AssistantStructured):
        return Said("Assistant", json.dumps(event.value, ensure_ascii=False))
    if isinstance(event, ToolCall):
        arguments = event.raw or json.dumps(event.arguments, ensure_ascii=False)
        return Said(f"Tool call {event.name}", arguments)
    if isinstance(event, ToolResponse):
        return Said("Tool error" if event.is_error else "Tool result", event.content)
    if isinstance(event, InquiryRequest):
        return Said("Tool asks", event.question)
    if isinstance(event, InquiryResponse):
        return Said("You answer", event.answer)
    return None
