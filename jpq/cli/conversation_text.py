"""A saved conversation as text, Markdown, JSON and JSON Lines."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from jpq.conversation.attachment import from_metadata
from jpq.conversation.effective import effective
from jpq.conversation.entry import encode_entry, entry_fields
from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    AssistantStructured,
    ChatRequest,
    Compaction,
    Entry,
    InquiryRequest,
    InquiryResponse,
    ToolCall,
    ToolResponse,
)
from jpq.conversation.stream import ConversationStream
from jpq.named import NamedTuple
from jpq.store.reading import SavedConversation

NOTE = "Note"  # the speaker of what jpq says itself


class Said(NamedTuple):
    """One thing that was said: by whom, and the text verbatim.

    ``joins`` is true for a text that goes on where a cut one before it ended.
    """

    speaker: str
    text: str
    joins: bool = False


class Region(NamedTuple):
    """Everything that one speaker said without another between, as one text."""

    speaker: str
    text: str


def as_text(saved: SavedConversation) -> str:
    """Who said what, each text verbatim below its speaker."""
    return _laid_out(saved, "{}:\n")


def as_markdown(saved: SavedConversation) -> str:
    """The same with a heading for each speaker; texts are Markdown already."""
    title = title_of(saved)
    return (f"# {title}\n\n" if title else "") + _laid_out(saved, "## {}\n\n")


def title_of(saved: SavedConversation) -> str:
    """The title on one line; empty without one."""
    title = saved.metadata.get("title")
    return " ".join(title.split()) if isinstance(title, str) else ""


def last_turns(saved: SavedConversation, count: Optional[int]) -> SavedConversation:
    """Only the last ``count`` turns of it; None: all."""
    if count is None:
        return saved
    turns = saved.stream.turns()
    stream = ConversationStream(saved.stream.base_config)
    for turn in turns[-count:] if count else ():
        for entry in turn.entries:
            stream.adopt(entry)
    return saved._replace(stream=stream)


def as_json(saved: SavedConversation) -> Dict[str, Any]:
    """Metadata and entries as they are stored, unknown fields included."""
    entries = [entry_fields(entry) for entry in saved.stream.entries]
    return {**saved.metadata, "id": saved.id, "entries": entries}


def as_json_lines(saved: SavedConversation) -> str:
    """The lines of ``events.jsonl`` as they are, with those that are not in it yet."""
    lines = (encode_entry(entry) for entry in saved.stream.entries)
    return "".join(line.decode("utf-8", "replace") + "\n" for line in lines)


def regions(entries: Sequence[Entry]) -> List[Region]:
    """What was said, as overlays amend it; texts of one speaker in a row are one region.

    They are a blank line apart; a text that goes on where it was cut follows at once. Each
    call of a tool, and each result, is a region of its own.
    """
    found: List[Region] = []
    for said, entry in said_in(entries):
        alone = isinstance(entry.event, (ToolCall, ToolResponse))
        if alone or not found or found[-1].speaker != said.speaker:
            found.append(Region(said.speaker, said.text))
            continue
        between = "" if said.joins else "\n\n"
        found[-1] = Region(said.speaker, found[-1].text + between + said.text)
    return found


def said_in(entries: Sequence[Entry]) -> Iterator[Tuple[Said, Entry]]:
    """Everything that was said, each with its entry."""
    cut = False
    for entry in effective(entries):
        said = _of_entry(entry)
        if said is None or not said.text:
            continue
        message = isinstance(entry.event, AssistantMessage)
        yield said._replace(joins=cut and message), entry
        cut = message and bool(entry.metadata.get("partial"))
        mismatch = entry.metadata.get("mismatch")
        if isinstance(mismatch, str):
            yield Said(NOTE, f"(That did not match the schema: {mismatch}.)"), entry


def _laid_out(saved: SavedConversation, heading: str) -> str:
    said = [
        heading.format(region.speaker) + region.text for region in regions(saved.stream.entries)
    ]
    return "\n\n".join(said) + "\n" if said else ""


def _of_entry(entry: Entry) -> Optional[Said]:
    event = entry.event
    if isinstance(event, ChatRequest):
        attached = [f"[attached: {a.name}, {a.kind}]" for a in from_metadata(entry.metadata)]
        return Said("You", "\n".join(filter(None, [event.content, *attached])))
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
    if isinstance(event, Compaction):
        return _of_compaction(event)
    return None


def _of_compaction(compaction: Compaction) -> Said:
    if compaction.summary:
        return Said("Summary, sent instead of what it covers", compaction.summary)
    if compaction.summary is None:
        return Said(NOTE, "(From here on, less of what was said before is sent.)")
    return Said(NOTE, "(What stands before this was replaced, and is not sent any more.)")
