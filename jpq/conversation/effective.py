"""What counts of a conversation, and what is sent of it: overlays, then compactions.

Neither changes what is stored: both are entries like any other, and a later overlay takes
either of them back.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from jpq.conversation.attachment import from_metadata
from jpq.conversation.entry import decode_entry, entry_fields, to_json_bytes
from jpq.conversation.event import (
    AssistantOpaque,
    AssistantReasoning,
    ChatRequest,
    Compaction,
    Entry,
    Overlay,
    ToolResponse,
)

SUMMARY = "Summary of the conversation until here:\n\n{}"

# A result this short is not worth shortening; a longer one keeps that much of its start.
SHORT_RESULT = 400
_LEFT_OUT = "{}\n[The rest of the result, {:,} characters, is left out here.]"


def effective(entries: Sequence[Entry]) -> Sequence[Entry]:
    """``entries`` as their overlays amend them; the overlays themselves stay among them.

    An overlay counts for what stands before it. The later one wins, also over another
    overlay; one whose target's id is ambiguous is passed over.
    """
    if not any(isinstance(entry.event, Overlay) for entry in entries):
        return entries
    ambiguous = ambiguous_ids(entries)
    hidden: Set[str] = set()
    changes: Dict[str, Dict[str, Any]] = {}
    kept: List[Entry] = []
    for entry in reversed(entries):
        if entry.event_id in hidden:
            continue
        event = entry.event
        if isinstance(event, Overlay) and not is_void(entry, ambiguous):
            if event.fields is None:
                hidden.add(event.target)
            else:
                later = changes.get(event.target, {})
                changes[event.target] = {**event.fields, **later}
        kept.append(_amended(entry, changes.get(entry.event_id)))
    kept.reverse()
    return kept


def compacted(entries: Sequence[Entry]) -> Sequence[Entry]:
    """``entries`` (effective ones) as their compactions have them sent.

    Where summaries overlap the newest stands for what it covers; an older one stays if
    there is anything else in its range.
    """
    if not any(isinstance(entry.event, Compaction) for entry in entries):
        return entries
    ambiguous = ambiguous_ids(entries)
    places = {
        entry.event_id: position
        for position, entry in enumerate(entries)
        if entry.event_id not in ambiguous
    }
    owners: List[Optional[int]] = [None] * len(entries)  # the compaction that sums each up
    plain: Set[int] = set()  # positions without reasoning
    short: Set[int] = set()  # positions with shortened results
    for position in range(len(entries) - 1, -1, -1):
        covered = _covered(position, entries, places)
        event = entries[position].event
        if not covered or not isinstance(event, Compaction):
            continue
        if event.summary is not None:
            for index in covered:
                owners[index] = position if owners[index] is None else owners[index]
        if event.drop_reasoning:
            plain.update(covered)
        if event.shorten_results:
            short.update(covered)
    sent: List[Entry] = []
    summed_up: Set[int] = set()
    for position, entry in enumerate(entries):
        owner = owners[position]
        if owner is None:
            reduced = _reduced(entry, position in plain, position in short)
            sent.extend([] if reduced is None else [reduced])
        elif owner not in summed_up:
            summed_up.add(owner)
            sent.extend(_summary(entries[owner]))
    return sent


def ambiguous_ids(entries: Sequence[Entry]) -> Set[str]:
    """The ids that more than one entry of the file has: what refers to them is void."""
    return {entry.repeated_id for entry in entries if entry.repeated_id is not None}


def references(entry: Entry) -> Tuple[str, ...]:
    """The ids that ``entry`` refers to."""
    event = entry.event
    if isinstance(event, Overlay):
        return (event.target,)
    return (event.first, event.last) if isinstance(event, Compaction) else ()


def is_void(entry: Entry, ambiguous: Set[str]) -> bool:
    """Whether what ``entry`` refers to cannot be told: one of those ids, or marked so."""
    return bool(entry.metadata.get("ambiguous") or ambiguous.intersection(references(entry)))


def short_result(entry: Entry) -> str:
    """The compact summary of a tool's result: the tool's own (``metadata.compact``), else
    its beginning."""
    assert isinstance(entry.event, ToolResponse)
    own, content = entry.metadata.get("compact"), entry.event.content
    if isinstance(own, str):
        return own
    if len(content) <= SHORT_RESULT:
        return content
    start = content[: SHORT_RESULT // 2]
    return _LEFT_OUT.format(start, len(content) - len(start))


def _amended(entry: Entry, fields: Optional[Dict[str, Any]]) -> Entry:
    if not fields:
        return entry
    whole = {**entry_fields(entry), **fields, "event_id": entry.event_id}
    amended = decode_entry(to_json_bytes(whole))
    assert amended is not None  # it is an object
    return amended


def _covered(position: int, entries: Sequence[Entry], places: Dict[str, int]) -> Sequence[int]:
    """The positions that the compaction at ``position`` is about; none where it is void."""
    event = entries[position].event
    if not isinstance(event, Compaction) or is_void(entries[position], set()):
        return ()
    first, last = places.get(event.first), places.get(event.last)
    if first is None or last is None or not first <= last < position:
        return ()
    return range(first, last + 1)


def _reduced(entry: Entry, plain: bool, short: bool) -> Optional[Entry]:
    event = entry.event
    if plain:
        if isinstance(event, (AssistantReasoning, AssistantOpaque)):
            return None
        if "opaque" in entry.metadata:
            kept: Dict[str, Any] = dict(entry.metadata)
            del kept["opaque"]
            entry = entry._replace(metadata=kept)
    if short and isinstance(event, ToolResponse):
        attached = [f"({each.name} is left out here.)" for each in from_metadata(entry.metadata)]
        told = event._replace(content="\n".join([short_result(entry), *attached]))
        others = {key: value for key, value in entry.metadata.items() if key != "attachments"}
        entry = entry._replace(event=told, metadata=others)
    return entry


def _summary(entry: Entry) -> Tuple[Entry, ...]:
    assert isinstance(entry.event, Compaction) and entry.event.summary is not None
    if not entry.event.summary.strip():
        return ()
    request = ChatRequest(SUMMARY.format(entry.event.summary))
    return (Entry(entry.event_id, entry.timestamp, request),)
