"""Entry <-> one JSON line of ``events.jsonl``.

Reading never raises: what is not understood stays as it is in ``Entry.line``. Lines end
with a line feed and nothing else, so U+2028 and the like may stand in a text.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    AssistantStructured,
    ChatRequest,
    Compaction,
    ConfigDelta,
    ConversationEvent,
    Entry,
    InquiryRequest,
    InquiryResponse,
    Overlay,
    ToolCall,
    ToolResponse,
    TurnEnd,
    Unknown,
)
from jpq.events import json_depth, strict_json

_Fields = Dict[str, Any]
# Made once: json.dumps makes one at every call that asks for another form than its own,
# and json.loads searches each end of the text for white space, which takes as long again.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_DECODER = json.JSONDecoder()
_BOM = b"\xef\xbb\xbf"
# A crash can leave a run of NUL bytes before or after a record.
_PADDING = b"\x00 \t\r\n"


def to_json_bytes(value: Any) -> bytes:
    """``value`` as compact JSON in UTF-8, on one line.

    A lone surrogate has no UTF-8 form; backslashreplace turns it into the very escape
    that JSON has for it.
    """
    try:
        text = _ENCODER.encode(value)
    except ValueError:  # NaN or an infinity, which other programs cannot read
        text = _ENCODER.encode(strict_json.finite(value))
    return text.encode("utf-8", "backslashreplace")


def parse_json_line(line: bytes) -> Any:
    """The JSON value of ``line``, or None when there is none: torn, foreign, all NUL bytes."""
    text = without_padding(line).decode("utf-8", "replace")
    try:
        json_depth.refuse_deep(text, json_depth.DEEPEST_KEPT)
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        return None
    return value if end == len(text) else None


def without_padding(line: bytes) -> bytes:
    """``line`` without what can be around a record: white space, NUL bytes, a byte order mark."""
    line = line.strip(_PADDING)
    return line[len(_BOM) :].strip(_PADDING) if line.startswith(_BOM) else line


def is_blank(line: bytes) -> bool:
    """Whether ``line`` holds nothing that could have been a record."""
    return not line.strip(b" \t\r\n")


def encode_entry(entry: Entry) -> bytes:
    """The line of ``entry`` without its line end; the original bytes where it was read."""
    return to_json_bytes(entry_fields(entry)) if entry.line is None else entry.line


def entry_fields(entry: Entry) -> Dict[str, Any]:
    """The JSON object of ``entry``, with every field of the line it was read from."""
    if entry.line is not None:
        fields = parse_json_line(entry.line)
        if isinstance(fields, dict):
            return {**fields, "event_id": entry.event_id}
    kind, body, hidden = _event_fields(entry.event)
    fields = {"event_id": entry.event_id, "timestamp": entry.timestamp, "type": kind, **body}
    metadata = {**entry.metadata, **hidden}
    if metadata:
        fields["metadata"] = metadata
    return fields


def decode_entry(line: bytes) -> Optional[Entry]:
    """The entry of ``line``, or None when it is no JSON object.

    The id is as found, empty when there is none; the stream settles it.
    """
    fields = parse_json_line(line)
    if not isinstance(fields, dict):
        return None
    metadata = fields.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    kind = _text(fields, "type")
    read = _READERS.get(kind)
    event = read(fields, metadata) if read else None
    if isinstance(event, ToolCall) and event.raw is not None:
        metadata = {key: value for key, value in metadata.items() if key != "raw"}
    elif isinstance(event, AssistantOpaque):
        metadata = {key: value for key, value in metadata.items() if key != "block"}
    return Entry(
        event_id=_text(fields, "event_id"),
        timestamp=_text(fields, "timestamp"),
        event=event if event is not None else Unknown(kind),
        metadata=metadata,
        line=line,
    )


def _event_fields(event: ConversationEvent) -> Tuple[str, _Fields, _Fields]:
    """The type, the fields and the metadata that ``event`` itself adds."""
    if isinstance(event, ChatRequest):
        return "chat_request", {"content": event.content}, {}
    if isinstance(event, AssistantMessage):
        return "chat_response", {"message": event.text}, {}
    if isinstance(event, AssistantReasoning):
        return "chat_response", {"reasoning": event.text}, {}
    if isinstance(event, AssistantStructured):
        return "chat_response", {"structured": event.value}, {}
    if isinstance(event, AssistantOpaque):
        return "chat_response", {"reasoning": ""}, {"block": event.data}
    if isinstance(event, ToolCall):
        whole = event.raw is None
        body = {"id": event.id, "name": event.name, "arguments": event.arguments if whole else {}}
        return "tool_call_request", body, {} if whole else {"raw": event.raw}
    if isinstance(event, ToolResponse):
        return "tool_call_response", event._asdict(), {}
    if isinstance(event, InquiryRequest):
        return "inquiry_request", event._asdict(), {}
    if isinstance(event, InquiryResponse):
        return "inquiry_response", event._asdict(), {}
    if isinstance(event, ConfigDelta):
        return "config_delta", event._asdict(), {}
    if isinstance(event, TurnEnd):
        return "turn_end", event._asdict(), {}
    if isinstance(event, Compaction):
        return "compaction", event._asdict(), {}
    if isinstance(event, Overlay):
        return "overlay", event._asdict(), {}
    return event.type, {}, {}


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _texts(fields: _Fields, *names: str) -> bool:
    return all(isinstance(fields.get(name), str) for name in names)


# Each reader returns None for an entry that is not as this version writes it; such an
# entry is kept as Unknown.


def _chat_request(fields: _Fields, metadata: _Fields) -> Optional[ConversationEvent]:
    return ChatRequest(fields["content"]) if _texts(fields, "content") else None


def _chat_response(fields: _Fields, metadata: _Fields) -> Optional[ConversationEvent]:
    if _texts(fields, "message"):
        return AssistantMessage(fields["message"])
    if _texts(fields, "reasoning"):
        block = metadata.get("block")
        if isinstance(block, dict):
            return AssistantOpaque(block)
        return AssistantReasoning(fields["reasoning"])
    if "structured" in fields:
        return AssistantStructured(fields["structured"])
    return None


def _tool_call(fields: _Fields, metadata: _Fields) -> Optional[ConversationEvent]:
    arguments = fields.get("arguments")
    if not _texts(fields, "id", "name") or not isinstance(arguments, dict):
        return None
    raw = metadata.get("raw")
    if isinstance(raw, str):
        return ToolCall(fields["id"], fields["name"], {"raw": raw}, raw)
    return ToolCall(fields["id"], fields["name"], arguments)


def _tool_response(fields: _Fields, metadata: _Fields) -> Optional[ConversationEvent]:
    if not _texts(fields, "id", "content"):
        return None
    return ToolResponse(fields["id"], fields["content"], bool(fields.get("is_error", False)))


def _inquiry_request(fields: _Fields, metadata: _Fields) -> Optional[ConversationEvent]:
    if not _texts(fields, "id", "question"):
        return None
    return InquiryRequest(fields["id"], fields["question"])


def _inquiry_response(fields: _Fields, metadata: _Fields) -> Optional[ConversationEvent]:
    if not _texts(fields, "id", "answer"):
        return None
    return InquiryResponse(fields["id"], fields["answer"])


def _config_delta(fields: _Fields, metadata: _Fields) -> Optional[ConversationEvent]:
    changes = fields.get("changes")
    return ConfigDelta(changes) if isinstance(changes, dict) else None


def _turn_end(fields: _Fields, metadata: _Fields) -> Optional[ConversationEvent]:
    if not _texts(fields, "status"):
        return None
    usage = fields.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return TurnEnd(
        status=fields["status"],
        finish_reason=_text(fields, "finish_reason") or None,
        usage={name: count for name, count in counts.items() if isinstance(count, int)},
        model=_text(fields, "model") or None,
    )


def _compaction(fields: _Fields, metadata: _Fields) -> Optional[ConversationEvent]:
    summary = fields.get("summary")
    if not _texts(fields, "first", "last") or not isinstance(summary, (str, type(None))):
        return None
    return Compaction(
        first=fields["first"],
        last=fields["last"],
        summary=summary,
        drop_reasoning=fields.get("drop_reasoning") is True,
        shorten_results=fields.get("shorten_results") is True,
    )


def _overlay(fields: _Fields, metadata: _Fields) -> Optional[ConversationEvent]:
    amended = fields.get("fields", ())
    if not _texts(fields, "target") or not isinstance(amended, (dict, type(None))):
        return None
    return Overlay(fields["target"], amended)


_READERS: Dict[str, Callable[[_Fields, _Fields], Optional[ConversationEvent]]] = {
    "chat_request": _chat_request,
    "chat_response": _chat_response,
    "tool_call_request": _tool_call,
    "tool_call_response": _tool_response,
    "inquiry_request": _inquiry_request,
    "inquiry_response": _inquiry_response,
    "config_delta": _config_delta,
    "compaction": _compaction,
    "overlay": _overlay,
    "turn_end": _turn_end,
}
