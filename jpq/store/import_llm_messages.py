"""Conversations of llm from 0.32 on: threads of messages that are chained by their hashes.

A message (table ``messages``) names the one before it, and any number of threads and turns
share it. A thread names its last message; a turn is one call of a model, with what that took,
and names the last message that went in and the last one that came out.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from jpq.conversation.attachment import as_metadata, recognised
from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    ChatRequest,
    ConfigDelta,
    ConversationEvent,
    Entry,
    ToolCall,
    ToolResponse,
    TurnEnd,
)
from jpq.conversation.identity import foreign_timestamp
from jpq.events import json_depth
from jpq.store.bundle import Incoming

TABLES = frozenset({"messages", "parts", "threads", "turns"})
_TOKENS = ("input_tokens", "output_tokens")
_Row = Dict[str, Any]


class MessageStore:
    """The tables, read whole. ``rows(table, order)`` gives those of one; none if it is absent."""

    def __init__(self, rows: Callable[[str, str], List[_Row]]) -> None:
        self._messages = {row["hash"]: row for row in rows("messages", "")}
        self._threads = rows("threads", "datetime_utc, id")
        self._turns = rows("turns", "datetime_utc, id")
        # A thread is called by what was last asked in it; an older conversation has its name.
        self._names = {row["id"]: row["name"] for row in rows("conversations", "")}
        self._parts: Dict[str, List[_Row]] = {}
        for row in rows("parts", "message_hash, position"):
            self._parts.setdefault(row["message_hash"], []).append(row)
        self._fragments = {row["id"]: row["content"] or "" for row in rows("fragments", "")}
        self._attachments = {row["id"]: row for row in rows("attachments", "")}

    def conversations(self) -> Iterator[Tuple[str, Incoming]]:
        """Each thread with its id; a turn without a thread is one of its own."""
        known = {thread["id"] for thread in self._threads}
        alone = [turn for turn in self._turns if turn["thread_id"] not in known]
        for row in [*self._threads, *alone]:
            entries, system = self._entries(row)
            if not entries:
                continue
            used = [turn for turn in self._turns if row["id"] in (turn["thread_id"], turn["id"])]
            about = {
                "title": self._names.get(row["id"]) or row.get("name"),
                "created_at": entries[0].timestamp or foreign_timestamp(row["datetime_utc"]),
                "workspace": "",
                "model": used[0]["model"] if used else None,
            }
            base = {} if system is None else {"system": system}
            yield row["id"], Incoming(f"llm:{row['id']}", None, about, base, entries)

    def _entries(self, row: _Row) -> Tuple[List[Entry], Optional[str]]:
        """What was said in the thread (or turn) ``row``, and its first system prompt."""
        chain = self._chain(row["tip_message_hash"])
        turns = self._turns_along(chain, row)
        entries: List[Entry] = []
        systems: List[str] = []
        spent: List[_Row] = []
        for number, message in enumerate(chain):
            turn = turns[number]
            when = foreign_timestamp((turn or row)["datetime_utc"])
            if message["role"] == "system":
                text = "".join(self._text(part) for part in self._parts_of(message))
                if systems and systems[-1] != text:
                    entries.append(Entry("", when, ConfigDelta({"system": text})))
                systems.append(text)
                continue
            events = self._events(message)
            entries += [Entry("", when, event, metadata) for event, metadata in events]
            if turn is not None and turn["tip_message_hash"] == message["hash"]:
                spent.append(turn)
            calls = any(isinstance(event, ToolCall) for event, _ in events)
            if message["role"] == "assistant" and not calls:
                entries.append(Entry("", when, _turn_end(spent)))
                spent = []
        return entries, systems[0] if systems else None

    def _chain(self, tip: Optional[str]) -> List[_Row]:
        """The messages up to ``tip``, the first one first."""
        chain: List[_Row] = []
        seen = set()
        while tip in self._messages and tip not in seen:
            seen.add(tip)
            chain.append(self._messages[tip])
            tip = self._messages[tip]["parent_hash"]
        return chain[::-1]

    def _turns_along(self, chain: List[_Row], row: _Row) -> List[Optional[_Row]]:
        """For each message the turn that brought it: the next one that ends with or after it."""
        ends: Dict[str, _Row] = {}
        for turn in self._turns:
            of_this = row["id"] in (turn["thread_id"], turn["id"])
            if of_this or turn["tip_message_hash"] not in ends:
                ends[turn["tip_message_hash"]] = turn
        found: List[Optional[_Row]] = []
        current: Optional[_Row] = None
        for message in reversed(chain):
            current = ends.get(message["hash"], current)
            found.append(current)
        return found[::-1]

    def _events(self, message: _Row) -> List[Tuple[ConversationEvent, Mapping[str, Any]]]:
        parts = self._parts_of(message)
        if message["role"] == "user":
            asked = "\n\n".join(filter(str.strip, map(self._text, parts)))
            attached = self._attached(parts)
            return [(ChatRequest(asked), attached)] if asked or attached else []
        found: List[Tuple[ConversationEvent, Mapping[str, Any]]] = []
        for part in parts:
            event = self._event(part)
            if event is not None:
                found.append((event, self._attached([part])))
        return found

    def _event(self, part: _Row) -> Optional[ConversationEvent]:
        kind, more = part["type"], part["payload"]
        id, name = str(more.get("tool_call_id") or ""), str(more.get("name") or "")
        if kind == "tool_call":
            arguments = more.get("arguments")
            return ToolCall(id, name, arguments if isinstance(arguments, dict) else {})
        if kind == "tool_result":
            exception = more.get("exception")
            return ToolResponse(id, str(more.get("output") or exception or ""), bool(exception))
        text = self._text(part)
        if not text.strip():
            return None
        return AssistantReasoning(text) if kind == "reasoning" else AssistantMessage(text)

    def _parts_of(self, message: _Row) -> List[_Row]:
        """The parts of a message, each with its payload read."""
        parts = self._parts.get(message["hash"], [])
        return [{**part, "payload": _object(part["payload"])} for part in parts]

    def _text(self, part: _Row) -> str:
        """The text of a part; what it borrows from fragments is put in its place."""
        pieces = part["payload"].get("text_ref")
        if not isinstance(pieces, list):
            return str(part["text"] or "")
        return "".join(
            str(piece.get("literal", self._fragments.get(piece.get("fragment"), "")))
            for piece in pieces
            if isinstance(piece, dict)
        )

    def _attached(self, parts: List[_Row]) -> Mapping[str, Any]:
        """The metadata of what is attached to parts, as far as the database holds it."""
        references: List[Any] = []
        for part in parts:
            references += [part["payload"].get("attachment")]
            references += part["payload"].get("attachments") or []
        found = []
        for reference in references:
            id = reference.get("id") if isinstance(reference, dict) else None
            row = self._attachments.get(id, {})
            if isinstance(row.get("content"), bytes):
                found.append(recognised(str(id)[:8], row["content"]))
        return as_metadata([each for each in found if each is not None])


def _turn_end(turns: List[_Row]) -> TurnEnd:
    """The end of a turn of ours: all calls of the model since the last one, together."""
    counts = {name: [row[name] for row in turns] for name in _TOKENS}
    usage = {
        name: sum(given) for name, given in counts.items() if given and all(map(_is_count, given))
    }
    return TurnEnd("complete", "stop", usage, turns[-1]["model"] if turns else None)


def _is_count(value: Any) -> bool:
    return isinstance(value, int)


def _object(text: Optional[str]) -> Dict[str, Any]:
    try:
        value = json_depth.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
