"""Reads single fields of a chat completion: usage, reasoning, content and finish reasons."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from jpq.events.parts import CONTENT_FILTER, ERROR, LENGTH, REFUSAL, STOP, TOOL_CALLS
from jpq.events.surrogates import mend_value
from jpq.events.usage import Usage
from jpq.provider.wire_reply import count

# What servers call the ways an answer ends; any other word is passed on as it is.
_REASONS: Mapping[str, str] = {
    "stop": STOP,
    "eos": STOP,
    "eos_token": STOP,
    "end_turn": STOP,
    "stop_sequence": STOP,
    "tool_calls": TOOL_CALLS,
    "function_call": TOOL_CALLS,
    "tool_use": TOOL_CALLS,
    "length": LENGTH,
    "max_tokens": LENGTH,
    "max_output_tokens": LENGTH,
    "model_length": LENGTH,  # Mistral: the model's own limit
    "model_context_window_exceeded": LENGTH,  # Z.ai
    "content_filter": CONTENT_FILTER,
    "sensitive": CONTENT_FILTER,  # Z.ai
    "safety": CONTENT_FILTER,
    "recitation": CONTENT_FILTER,
    "prohibited_content": CONTENT_FILTER,
    "blocklist": CONTENT_FILTER,
    "spii": CONTENT_FILTER,
    "refusal": REFUSAL,
    # Gemini: the model wrote a call that is none.
    "function_call_filter": ERROR,
    "malformed_function_call": ERROR,
    "unexpected_tool_call": ERROR,
}

# finish_reason as the only sign that the server failed.
FAILURES = ("error", "network_error", "insufficient_system_resource", "abort")

# OpenRouter repeats ``reasoning`` in ``reasoning_details``; the first field that says
# something is read, so that no text is counted twice.
REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_DETAIL_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}


def meaning_of(reason: str) -> str:
    """The word of ``jpq.events.parts`` for a server's, else that itself.

    Gemini's endpoint explains itself in the same word (``content_filter: SAFETY``).
    """
    return _REASONS.get(reason.partition(":")[0].strip().lower(), reason)


def read_usage(value: Any) -> Optional[Usage]:
    """The counts in a ``usage`` object, or None where it has none."""
    if not isinstance(value, dict):
        return None
    read = _Counts(value)
    usage = Usage(
        input_tokens=read.first("prompt_tokens"),
        output_tokens=read.first("completion_tokens"),
        reasoning_tokens=read.first(
            "completion_tokens_details.reasoning_tokens", "reasoning_tokens"
        ),
        cache_read_tokens=read.first(
            "prompt_tokens_details.cached_tokens",
            "prompt_cache_hit_tokens",  # DeepSeek
            "cache_read_input_tokens",
            "cached_tokens",  # Moonshot
            "num_cached_tokens",  # Mistral, and so is the next one
            "prompt_token_details.cached_tokens",
        ),
        cache_write_tokens=read.first(
            "prompt_tokens_details.cache_write_tokens", "cache_creation_input_tokens"
        ),
    )
    return None if usage == _NOTHING else usage


_NOTHING = Usage()


class _Counts:
    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value = value

    def first(self, *paths: str) -> Optional[int]:
        """The first of ``paths`` that holds a count; a dot leads into an object."""
        for path in paths:
            outer, _, inner = path.rpartition(".")
            holder = self._value.get(outer) if outer else self._value
            found = count(holder, inner) if isinstance(holder, dict) else None
            if found is not None:
                return found
        return None


def reasoning_text(delta: Mapping[str, Any]) -> str:
    """The reasoning in a delta, counted once however many fields repeat it."""
    for field in REASONING_FIELDS:
        text = delta.get(field)
        if text and isinstance(text, str):
            return text
    details = delta.get("reasoning_details")
    if not isinstance(details, list):
        return ""
    texts = (d.get(_DETAIL_TEXTS.get(_kind(d), "")) for d in details if isinstance(d, dict))
    return "".join(text for text in texts if isinstance(text, str))


def content_pieces(content: Any) -> Iterator[Tuple[bool, str]]:
    """The texts in ``content``, each with whether it is reasoning.

    Mistral sends a list of parts; its thinking is itself a list of text parts. Parts of
    other kinds (references, images) say nothing.
    """
    if isinstance(content, str):
        yield False, content
    elif isinstance(content, list):
        for part in content:
            if not isinstance(part, dict):
                continue
            if part.get("type") == "thinking":
                yield True, _joined(part.get("thinking"))
            elif part.get("type") == "text":
                yield False, _joined(part.get("text"))


def _joined(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    texts = (part.get("text") for part in value if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _kind(detail: Mapping[str, Any]) -> str:
    kind = detail.get("type")
    return kind if isinstance(kind, str) else ""


class ReasoningDetails:
    """Collects ``reasoning_details`` until they are taken, to be sent back as they are.

    Pieces of one text or summary become one entry, as in a reply that is not streamed;
    every other entry (encrypted ones) is kept untouched.
    """

    def __init__(self) -> None:
        self._entries: List[Dict[str, Any]] = []
        self._pieces: List[str] = []  # the text of the last entry, joined once

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, details: Any) -> None:
        """Take the ``reasoning_details`` of one delta, whatever it is."""
        if not isinstance(details, list):
            return
        for detail in details:
            if not isinstance(detail, dict):
                continue
            if not self._entries or not self._continues(detail):
                self._join()
                self._entries.append({})
            self._append(detail)

    def take(self) -> List[Dict[str, Any]]:
        """The entries since the last call."""
        self._join()
        entries, self._entries = self._entries, []
        mended = [mend_value(entry) for entry in entries]
        return [entry for entry in mended if entry]

    def _continues(self, detail: Mapping[str, Any]) -> bool:
        last = self._entries[-1]
        kind = _kind(detail)
        return (
            kind in _DETAIL_TEXTS
            and kind == _kind(last)
            and last.get("index") == detail.get("index")
            and (not last.get("id") or not detail.get("id") or last["id"] == detail["id"])
            # A signature closes its block: text after it belongs to the next one.
            and not (last.get("signature") and detail.get(_DETAIL_TEXTS[kind]))
        )

    def _append(self, detail: Mapping[str, Any]) -> None:
        last = self._entries[-1]
        field = _DETAIL_TEXTS.get(_kind(detail))
        for key, value in detail.items():
            if key == field and isinstance(value, str):
                last.setdefault(key, "")
                self._pieces.append(value)
            elif not last.get(key):
                last[key] = value

    def _join(self) -> None:
        if self._pieces:
            last = self._entries[-1]
            last[_DETAIL_TEXTS[_kind(last)]] = "".join(self._pieces)
            self._pieces = []
