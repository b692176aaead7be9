"""What is done to a thread before any API encodes it, and pieces that several of them share."""

from __future__ import annotations

import importlib
import re
from typing import AbstractSet, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from jpq.conversation.attachment import Attachment, kind_of
from jpq.conversation.thread import (
    Message,
    Origin,
    Thread,
    ThreadBlock,
    ThreadDocument,
    ThreadImage,
    ThreadOpaque,
    ThreadReasoning,
    ThreadText,
    ThreadToolCall,
    ThreadToolResult,
)
from jpq.errors import BadInputError
from jpq.provider.base import ModelRef, ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.wire_request import applies

# What each API keeps with a call, and the types of the blocks that it keeps whole. A provider
# may have been configured with another API at that time; then nobody can read them now.
_CALL_FIELDS: Mapping[str, AbstractSet[str]] = {
    "openai-chat": {"extra_content"},
    "openai-responses": {"id", "status", "namespace"},
    "anthropic": {"caller"},
    "google": {"id", "thought", "thoughtSignature", "partMetadata"},
}
_BLOCK_TYPES = {
    "openai-responses": "reasoning|message|compaction|mcp_.*|.*_call(_output)?",
    "anthropic": "(redacted_)?thinking|fallback|compaction|.*_tool_(use|result)",
}
# What no API takes at the top of a tool's parameters; ``wire_schema`` folds it in.
FOLDED = frozenset(("$ref", "allOf", "anyOf", "oneOf", "enum", "const", "not"))
_IMAGES = ("png", "jpeg", "gif", "webp")
# Kinds of attachments that each API takes; the quirk ``attachments`` of a row says otherwise.
# Sources are in docs/providers.md. Text goes to all of them.
_TAKEN: Mapping[str, Sequence[str]] = {
    "openai-chat": _IMAGES,
    "openai-responses": (*_IMAGES, "pdf"),
    "anthropic": (*_IMAGES, "pdf"),
    "google": ("png", "jpeg", "webp", "pdf"),
    "ollama": ("png", "jpeg", "webp"),
    "scripted": (*_IMAGES, "pdf"),
}


def taken_kinds(row: ProviderRow, model: str) -> Tuple[str, ...]:
    """The kinds of attachments besides text that ``model`` of this provider can be sent."""
    if applies(row.quirks.get("text_only", False), model):
        return ()
    kinds: Sequence[str] = row.quirks.get("attachments", _TAKEN.get(row.api, ()))
    return tuple(kinds)


def check_attachments(attachments: Iterable[Attachment], row: ProviderRow, model: ModelRef) -> None:
    """Raise BadInputError for the first that ``model`` cannot be sent."""
    kinds = taken_kinds(row, model.model)
    for attached in attachments:
        if attached.kind != "text" and attached.kind not in kinds:
            raise BadInputError(
                f"{model} cannot be sent {attached.name!r}: it takes {_listed(kinds)}.",
                hint="Leave it out, or choose another model with -m. If this one does take it, "
                "docs/providers.md tells how to say so (quirks attachments and text_only).",
            )


def prepared(request: ProviderRequest, row: ProviderRow) -> ProviderRequest:
    """``request`` with a thread that its model can be sent.

    Reasoning that another model made is left out, or becomes text where the quirk
    ``foreign_reasoning`` says so. Data that only another API can read is left out. What was
    attached earlier for a model that could be sent it, and this one cannot, becomes a note; so
    does what a tool gave beside its text, also where the quirk ``result_media`` is false.
    """
    thread = request.thread
    rule = _Rule(
        Origin(row.name, request.model),
        row.quirks.get("foreign_reasoning") == "text",
        row.api,
        taken_kinds(row, request.model),
        bool(row.quirks.get("result_media", True)),
    )
    messages = tuple(
        Message(message.role, tuple(kept for b in message.blocks for kept in rule.blocks(b)))
        for message in thread.messages
    )
    return request._replace(thread=Thread(thread.system, messages, thread.continues))


class _Rule:
    def __init__(
        self,
        maker: Origin,
        foreign_as_text: bool,
        api: str,
        kinds: Sequence[str],
        in_results: bool,
    ) -> None:
        self._maker = maker
        self._foreign_as_text = foreign_as_text
        others = [fields for other, fields in _CALL_FIELDS.items() if other != api]
        self._unreadable = set().union(*others) - _CALL_FIELDS.get(api, set())
        self._other_types = [types for other, types in _BLOCK_TYPES.items() if other != api]
        self._own_types = _BLOCK_TYPES.get(api)
        self._kinds = kinds
        self._kinds_in_results = kinds if in_results else ()

    def blocks(self, block: ThreadBlock) -> Sequence[ThreadBlock]:
        """What is sent for ``block``."""
        if isinstance(block, ThreadReasoning) and block.origin != self._maker:
            if self._foreign_as_text and block.text.strip():
                return (ThreadText(f"<thinking>{block.text}</thinking>"),)
            return ()
        if isinstance(block, (ThreadImage, ThreadDocument)) and not _is_one(block, self._kinds):
            return (ThreadText(_note(block)),)
        if isinstance(block, ThreadToolResult) and block.attached:
            return (_with_only(block, self._kinds_in_results),)
        if isinstance(block, ThreadOpaque) and self._is_of_another_api(block.data.get("type")):
            return ()
        if isinstance(block, ThreadToolCall) and not self._unreadable.isdisjoint(block.opaque):
            kept = {k: v for k, v in block.opaque.items() if k not in self._unreadable}
            return (block._replace(opaque=kept),)
        return (block,)

    def _is_of_another_api(self, type: Any) -> bool:
        if not isinstance(type, str) or (self._own_types and re.fullmatch(self._own_types, type)):
            return False
        return any(re.fullmatch(types, type) for types in self._other_types)


def results_in_words(thread: Thread) -> Thread:
    """``thread`` with what tools gave beside their text named in that."""
    messages = tuple(
        message._replace(
            blocks=tuple(
                _with_only(block, ()) if isinstance(block, ThreadToolResult) else block
                for block in message.blocks
            )
        )
        for message in thread.messages
    )
    return thread._replace(messages=messages)


def _with_only(result: ThreadToolResult, kinds: Sequence[str]) -> ThreadToolResult:
    """``result`` with these kinds of what is beside its text; the rest is named in it."""
    taken = tuple(block for block in result.attached if _is_one(block, kinds))
    notes = [_note(block) for block in result.attached if block not in taken]
    content = "\n".join([result.content, *notes])
    return result._replace(content=content, attached=taken)


def _is_one(block: Union[ThreadImage, ThreadDocument], kinds: Sequence[str]) -> bool:
    return kind_of(block.media_type) in kinds


def _note(block: Union[ThreadImage, ThreadDocument]) -> str:
    return f"({block.name} was attached here; this model cannot be sent it.)"


def after_results(blocks: Iterable[ThreadBlock]) -> List[ThreadBlock]:
    """What a message says after its results, for APIs whose results are text only: what was
    attached to them, each with its name and whose it is, then the rest of ``blocks``."""
    said: List[ThreadBlock] = []
    rest: List[ThreadBlock] = []
    for block in blocks:
        if isinstance(block, ThreadToolResult):
            for attached in block.attached:
                said += [ThreadText(f"{attached.name}, from {block.name}:"), attached]
        else:
            rest.append(block)
    return said + rest


def joined_text(blocks: Sequence[ThreadBlock]) -> str:
    """The texts among ``blocks``, a blank line apart."""
    return "\n\n".join(block.text for block in blocks if isinstance(block, ThreadText))


def data_url(block: Union[ThreadImage, ThreadDocument]) -> str:
    """The content of ``block`` as a ``data:`` URL."""
    return f"data:{block.media_type};base64,{block.data}"


def function_tool(tool: ToolDefinition) -> Dict[str, Any]:
    """``tool`` as chat completions and their imitators are told of it."""
    parameters = {"properties": {}, **object_schema(tool.parameters)}
    function: Dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters,
    }
    if tool.strict:  # not known to every imitator, so never sent unless it was asked for
        function["strict"] = True
    return {"type": "function", "function": function}


def object_schema(parameters: Mapping[str, Any]) -> Dict[str, Any]:
    """``parameters`` as every API wants them: those of an object, with no choice at the top."""
    schema = {"type": "object", **parameters}
    if schema["type"] == "object" and FOLDED.isdisjoint(schema):
        return schema
    # Loaded late, as few tools need it.
    folded: Dict[str, Any] = importlib.import_module("jpq.provider.wire_schema").folded(parameters)
    return folded


def stop_words(options: Mapping[str, Any]) -> List[str]:
    """The option ``stop`` as a list."""
    stop = options.get("stop") or ()
    return [stop] if isinstance(stop, str) else list(stop)


def wanted_schema(options: Mapping[str, Any]) -> Tuple[bool, Optional[Mapping[str, Any]]]:
    """Whether the option ``response_format`` asks for JSON, and the schema that it must have.

    The option is as in chat completions: ``{"type": "json_schema", "json_schema":
    {"name": ..., "schema": ...}}``, or ``{"type": "json_object"}``.
    """
    value = options.get("response_format")
    if not isinstance(value, dict) or value.get("type") not in ("json_object", "json_schema"):
        return False, None
    described = value.get("json_schema")
    schema = described.get("schema") if isinstance(described, dict) else None
    return True, schema if isinstance(schema, dict) and schema else None


def _listed(kinds: Sequence[str]) -> str:
    return ", ".join(["text", *kinds]) if kinds else "text only"
