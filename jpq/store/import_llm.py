"""Conversations of llm: its SQLite database ``logs.db``.

The tables are those of llm's page "Logging to SQLite": conversations, responses, and, where
they are there, tool_calls, tool_results, fragments and prompt_fragments. From 0.32 on llm
writes to others (see ``import_llm_messages``), which hold the whole of an older conversation
as soon as it is gone on with.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Dict, Iterator, List, Sequence, Tuple
from urllib.parse import quote

from jpq.conversation.event import (
    AssistantMessage,
    ChatRequest,
    ConfigDelta,
    ConversationEvent,
    Entry,
    ToolCall,
    ToolResponse,
    TurnEnd,
)
from jpq.conversation.identity import foreign_timestamp
from jpq.errors import BadInputError
from jpq.events import json_depth
from jpq.store.bundle import Incoming
from jpq.store.import_llm_messages import TABLES, MessageStore

MAGIC = b"SQLite format 3\x00"
_Row = Dict[str, Any]


def read_llm(path: str) -> Iterator[Incoming]:
    """Every conversation in the database ``path``, which is opened for reading only.

    Raises BadInputError where it is not llm's.
    """
    database = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    try:
        log = _Log(database)
        newer = set()
        for id, incoming in log.threads():
            newer.add(id)
            yield incoming
        for id, responses in log.conversations().items():
            if id not in newer:
                yield log.incoming(id, responses)
    except sqlite3.Error as error:
        raise BadInputError(f"The database cannot be read: {error}.", where=path) from error
    except KeyError as error:
        message = f"A table of the database has no column {error}, which llm's has."
        raise BadInputError(message, where=path) from error
    finally:
        database.close()


class _Log:
    """The database, with its rows by the response they belong to."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self._tables = {row["name"] for row in names}
        if not ({"conversations", "responses"} <= self._tables or self._tables >= TABLES):
            raise BadInputError(
                "The database has no tables that llm writes.",
                hint="llm logs path says where llm's is.",
            )
        self._names = {row["id"]: row["name"] for row in self._rows("conversations")}
        self._calls = self._by_response("tool_calls", "id")
        self._results = self._by_response("tool_results", "id")
        self._fragments = self._prompt_fragments()

    def threads(self) -> Iterator[Tuple[str, Incoming]]:
        """The conversations that llm kept from 0.32 on, each with its id."""
        return MessageStore(self._rows).conversations() if self._tables >= TABLES else iter(())

    def conversations(self) -> Dict[str, List[_Row]]:
        """The responses of each conversation, oldest first; one without any is its own."""
        found: Dict[str, List[_Row]] = {}
        for row in self._rows("responses", "datetime_utc, id"):
            found.setdefault(row["conversation_id"] or row["id"], []).append(row)
        return found

    def incoming(self, id: str, responses: Sequence[_Row]) -> Incoming:
        """The conversation ``id``."""
        first = responses[0]
        system = _text(first.get("system")) or None
        entries: List[Entry] = []
        now = system
        for row in responses:
            when = foreign_timestamp(row.get("datetime_utc"))
            own = _text(row.get("system"))
            if own and own != now:
                now = own
                entries.append(Entry("", when, ConfigDelta({"system": now})))
            entries.extend(Entry("", when, event) for event in self._events(row))
        return Incoming(
            source=f"llm:{id}",
            id=None,
            metadata={
                "title": _text(self._names.get(id)) or None,
                "created_at": foreign_timestamp(first.get("datetime_utc")),
                "workspace": "",
                "model": _text(first.get("model")) or None,
            },
            base_config={} if system is None else {"system": system},
            entries=entries,
        )

    def _events(self, row: _Row) -> List[ConversationEvent]:
        events: List[ConversationEvent] = [
            ToolResponse(*_result(result)) for result in self._results.get(row["id"], ())
        ]
        asked = [*self._fragments.get(row["id"], ()), _text(row.get("prompt"))]
        prompt = "\n\n".join(text for text in asked if text.strip())
        if prompt:
            events.append(ChatRequest(prompt))
        response = _text(row.get("response"))
        if response.strip():
            events.append(AssistantMessage(response))
        calls = self._calls.get(row["id"], ())
        events += [
            ToolCall(_call_id(call), _text(call.get("name")), _arguments(call)) for call in calls
        ]
        if not calls:
            names = ("input_tokens", "output_tokens")
            usage = {name: row[name] for name in names if isinstance(row.get(name), int)}
            events.append(TurnEnd("complete", "stop", usage, _text(row.get("model")) or None))
        return events

    def _rows(self, table: str, order: str = "") -> List[_Row]:
        if table not in self._tables:
            return []
        # The names are those above, never anything that is read.
        query = f"SELECT * FROM {table}" + (f" ORDER BY {order}" if order else "")
        return [dict(row) for row in self._database.execute(query)]

    def _by_response(self, table: str, order: str) -> Dict[str, List[_Row]]:
        found: Dict[str, List[_Row]] = {}
        for row in self._rows(table, order):
            found.setdefault(row["response_id"], []).append(row)
        return found

    def _prompt_fragments(self) -> Dict[str, List[str]]:
        texts = {row["id"]: _text(row["content"]) for row in self._rows("fragments")}
        found: Dict[str, List[str]] = {}
        for row in self._rows("prompt_fragments", '"order"'):
            found.setdefault(row["response_id"], []).append(texts.get(row["fragment_id"], ""))
        return found


def _text(value: Any) -> str:
    """What a column of texts holds; SQLite lets anything be in it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _call_id(row: _Row) -> str:
    return str(row.get("tool_call_id") or row.get("id") or "")


def _result(row: _Row) -> Tuple[str, str, bool]:
    exception = row.get("exception")
    return _call_id(row), str(row.get("output") or exception or ""), bool(exception)


def _arguments(row: _Row) -> Dict[str, Any]:
    try:
        value = json_depth.loads(row.get("arguments") or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
