"""JsonLinesView and JsonView: the turn for programs (docs/events.md)."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Mapping, Optional

from jpq.events import strict_json
from jpq.events.turn import (
    Complete,
    ConversationOpened,
    Error,
    ReasoningChunk,
    Result,
    StreamStart,
    TextChunk,
    TokenUpdate,
    ToolResult,
    ToolUse,
    ToolUseStart,
    TurnEvent,
)
from jpq.render.aside import Aside
from jpq.render.printer import Failure, Printer

SCHEMA = 1

Fields = Dict[str, Any]


class JsonView:
    """``--format json``: the result, as one line, and nothing else on stdout.

    Owned by the renderer thread. stderr has all that it has in the other formats.
    """

    def __init__(self, printer: Printer, aside: Aside) -> None:
        self._printer = printer
        self._aside = aside

    def show(self, event: TurnEvent) -> None:
        """Write the line of ``event`` if it has one; its words for the person go to stderr."""
        if type(event) is Result:
            self._write(event)
        self._aside.show(event)

    def tick(self) -> Optional[float]:
        """Move the status line."""
        return self._aside.tick()

    def flush(self) -> List[Failure]:
        """Write what was drawn."""
        return self._printer.flush()

    def pause(self) -> None:
        """Leave the terminal to another owner."""
        self._aside.pause()

    def close(self) -> None:
        """Erase what moves."""
        self._aside.close()

    def _write(self, event: TurnEvent) -> None:
        fields = _FIELDS.get(type(event))
        if fields is not None:
            self._aside.make_way()
            self._printer.out.end_line()
            self._printer.out.write(to_json_line(fields(event)))


class JsonLinesView(JsonView):
    """``--format jsonl``: one line for each event that a program may want.

    The first line is always ``conversation``, also when the turn failed before it had one.
    """

    def __init__(self, printer: Printer, aside: Aside) -> None:
        super().__init__(printer, aside)
        self._opened = False

    def show(self, event: TurnEvent) -> None:
        """Write the line of ``event`` if it has one; its words for the person go to stderr."""
        if type(event) in _FIELDS:
            if not self._opened and type(event) is not ConversationOpened:
                self._write(ConversationOpened(None, ""))
            self._opened = True
            self._write(event)
        self._aside.show(event)


def event_fields(event: Any) -> Optional[Fields]:
    """The fields of the line of ``event``; None where it has none."""
    fields = _FIELDS.get(type(event))
    return None if fields is None else fields(event)


def to_json_line(fields: Mapping[str, Any]) -> str:
    """``fields`` as one line of ASCII: halves of surrogate pairs are escaped like the rest."""
    try:
        return json.dumps(fields, allow_nan=False, default=str) + "\n"
    except ValueError:  # NaN or an infinity, which a model can write and JSON cannot
        return json.dumps(strict_json.finite(fields), default=str) + "\n"


def _conversation(event: ConversationOpened) -> Fields:
    return {"type": "conversation", "schema": SCHEMA, "id": event.id, "model": event.model or None}


def _stream_start(event: StreamStart) -> Fields:
    return {
        "type": "stream_start",
        "model": event.model,
        "message_id": event.message_id,
        "turn": event.turn,
    }


def _text_chunk(event: TextChunk) -> Fields:
    return {"type": "text_chunk", "text": event.text, "index": event.index}


def _reasoning_chunk(event: ReasoningChunk) -> Fields:
    return {"type": "reasoning_chunk", "text": event.text, "index": event.index}


def _tool_use_start(event: ToolUseStart) -> Fields:
    return {"type": "tool_use_start", "id": event.id, "name": event.name}


def _tool_use(event: ToolUse) -> Fields:
    return {
        "type": "tool_use",
        "id": event.id,
        "name": event.name,
        "arguments": event.arguments,
        "display_name": event.display_name or event.name,
        "title": event.title or event.name,
    }


def _tool_result(event: ToolResult) -> Fields:
    fields: Fields = {
        "type": "tool_result",
        "id": event.id,
        "name": event.name,
        "content": event.content,
        "is_error": event.is_error,
    }
    if event.full_output is not None:
        fields["full_output"] = event.full_output
    return fields


def _complete(event: Complete) -> Fields:
    return {"type": "complete", "finish_reason": event.finish_reason}


def _token_update(event: TokenUpdate) -> Fields:
    return {
        "type": "token_update",
        "usage": event.usage.to_json(),
        "context_limit": event.context_limit,
    }


def _error(event: Error) -> Fields:
    return {
        "type": "error",
        "kind": event.kind,
        "message": event.message,
        "where": event.where,
        "hint": event.hint,
    }


def result_fields(event: Result) -> Fields:
    """The fields of the ``result`` that ends every turn."""
    return {
        "type": "result",
        "schema": SCHEMA,
        "status": event.status,
        "text": event.text,
        "finish_reason": event.finish_reason,
        "usage": event.usage.to_json(),
        "cost": event.cost,
        "exit_code": event.exit_code,
        "error": None if event.error is None else event.error._asdict(),
        **event.extra,
    }


_FIELDS: Dict[type, Callable[[Any], Fields]] = {
    ConversationOpened: _conversation,
    StreamStart: _stream_start,
    TextChunk: _text_chunk,
    ReasoningChunk: _reasoning_chunk,
    ToolUseStart: _tool_use_start,
    ToolUse: _tool_use,
    ToolResult: _tool_result,
    Complete: _complete,
    TokenUpdate: _token_update,
    Error: _error,
    Result: result_fields,
}
