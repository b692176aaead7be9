"""Decodes chat completions, streamed or whole, from OpenAI and everyone who imitates it."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Optional

from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import (
    ERROR,
    INTERRUPTED,
    LENGTH,
    REFUSAL,
    STOP,
    TOOL_CALLS,
    Finished,
    MessageDelta,
    Metered,
    Part,
    ReasoningDelta,
    Started,
    StreamEvent,
)
from jpq.events.surrogates import has_surrogates
from jpq.events.usage import Usage
from jpq.provider.failure import from_error_object
from jpq.provider.openai_chat_blocks import OpenBlocks
from jpq.provider.openai_chat_fields import (
    FAILURES,
    REASONING_FIELDS,
    content_pieces,
    meaning_of,
    read_usage,
    reasoning_text,
)
from jpq.provider.wire_decoder import JsonDecoder
from jpq.provider.wire_reply import no_answer, word

# The field of a delta that goes on with an open text of each kind.
_FIELDS_OF = {MessageDelta: ("content",), ReasoningDelta: REASONING_FIELDS}


class ChatDecoder(JsonDecoder):
    """Decodes one reply."""

    def __init__(self, where: str = "") -> None:
        super().__init__(where)
        self._open = OpenBlocks()
        self._started: Optional[Started] = None
        self._usage: Optional[Usage] = None
        self._refused = False
        self._reason = ""  # the provider's words for how the answer ended
        self._native = ""

    def _object(self, value: Dict[str, Any], event: str) -> Iterator[StreamEvent]:
        part = None if event else self._more_text(value)
        return self._chunk(value, event) if part is None else iter((part,))

    def _is_error(self, value: Mapping[str, Any]) -> bool:
        return _is_error(value)

    def _end_mark(self) -> Iterator[StreamEvent]:
        return self._end(STOP)

    def feed_whole(self, value: Any) -> Iterator[StreamEvent]:
        """The events of a reply that was not streamed: the same as if it had been."""
        choices = value.get("choices") if isinstance(value, dict) else None
        choices = choices if isinstance(choices, list) else []
        whole = [{**c, "delta": c.get("message")} for c in choices if isinstance(c, dict)]
        if whole:
            yield from self._chunk({**value, "choices": whole}, "")
        else:
            yield from self._no_object(value, "")
            raise no_answer(self._where, "an OpenAI-compatible API")
        yield from self._end(STOP)

    def close(self) -> Iterator[StreamEvent]:
        """The end of the bytes: the rest of the answer, and how it ended."""
        if not self.done:
            yield from self._end(INTERRUPTED)

    # What a message is

    def _more_text(self, chunk: Mapping[str, Any]) -> Optional[Part]:
        """The text of a chunk that only goes on with the open text, as nearly all do.

        What it declines is taken apart by ``_chunk``, to the same effect in more time.
        """
        opened = self._open.text
        if opened is None:
            return None
        kind, index = opened
        try:
            (choice,) = chunk["choices"]
            delta = choice["delta"]
            fields = [field for field, value in delta.items() if value and field != "role"]
            if (
                len(fields) != 1
                or fields[0] not in _FIELDS_OF[kind]
                or choice.get("index")
                or choice.get("finish_reason")
                or chunk.get("usage")
                or _is_error(chunk)
                or not (self._started and self._started.model)
            ):
                return None
            text = delta[fields[0]]
        except (KeyError, TypeError, ValueError, AttributeError):
            return None  # some other shape
        if type(text) is not str or (not text.isascii() and has_surrogates(text)):
            return None
        return Part(index, kind(text))

    def _chunk(self, chunk: Mapping[str, Any], event: str) -> Iterator[StreamEvent]:
        failure: Any = chunk if event == "error" or _is_error(chunk) else None
        known = self._started
        if known is None or known.model is None or known.message_id is None:
            yield from self._start(chunk)
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            # Where n > 1 was asked for, the others are interleaved with the first.
            if isinstance(choice, dict) and not choice.get("index"):
                yield from self._choice(choice)
                if choice.get("error"):
                    failure = failure or {"error": choice["error"]}
        x_groq = chunk.get("x_groq")
        if isinstance(x_groq, dict):
            yield from self._meter(x_groq.get("usage"))
        if chunk.get("usage"):
            yield from self._meter(chunk["usage"])
        if failure is not None:
            raise from_error_object(failure, where=self._where)

    def _start(self, chunk: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Say which model serves. Azure's first chunk has no choice and knows nothing yet."""
        known = self._started or Started()
        started = Started(
            known.model or word(chunk, "model") or None,
            known.message_id or word(chunk, "id") or None,
        )
        if started != known or (self._started is None and chunk.get("choices")):
            self._started = started
            self._open.reply = started.message_id or ""
            yield started

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[StreamEvent]:
        delta = choice.get("delta")
        if not isinstance(delta, dict) and self._open.is_empty:
            delta = choice.get("message")  # the whole answer in one chunk
        if isinstance(delta, dict):
            yield from self._delta(delta)
        if choice.get("usage"):
            yield from self._meter(choice["usage"])
        self._reason = word(choice, "finish_reason") or self._reason
        self._native = word(choice, "native_finish_reason") or self._native
        self.ending = bool(self._reason or self._native)

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        reasoning = reasoning_text(delta)
        if reasoning:
            yield from self._open.say(ReasoningDelta, reasoning)
        self._open.keep(delta.get("reasoning_details"))
        for is_reasoning, text in content_pieces(delta.get("content")):
            yield from self._open.say(ReasoningDelta if is_reasoning else MessageDelta, text)
        audio = delta.get("audio")
        if isinstance(audio, dict) and not delta.get("content"):
            for _, text in content_pieces(audio.get("transcript")):
                yield from self._open.say(MessageDelta, text)
        yield from self._open.show(delta.get("images"))
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            self._refused = True
            yield from self._open.say(MessageDelta, refusal)
        entries = delta.get("tool_calls")
        if isinstance(entries, list):
            for position, entry in enumerate(entries):
                yield from self._open.call(entry, position, len(entries))
        if delta.get("function_call"):
            entry = {"index": "function_call", "function": delta["function_call"]}
            yield from self._open.call(entry, 0, 1)

    def _meter(self, value: Any) -> Iterator[StreamEvent]:
        usage = read_usage(value)
        if usage is not None and usage != self._usage:
            self._usage = usage
            yield Metered(usage)

    # How it ends

    def _end(self, unsaid: str) -> Iterator[StreamEvent]:
        """Finish what is open; ``unsaid`` is the reason where the provider named none."""
        finished = self._finished(unsaid)
        failed = self._reason.lower() in FAILURES
        if finished.reason != INTERRUPTED and not failed:
            yield from self._open.end(cut=finished.reason in (LENGTH, ERROR))
        if failed:
            raise StreamError(
                ErrorKind.SERVER,
                f"The provider failed while it was answering ({self._reason}).",
                where=self._where,
            )
        self.ending = True
        self.done = unsaid != INTERRUPTED
        yield finished

    def _finished(self, unsaid: str) -> Finished:
        said = self._reason or self._native
        reason = meaning_of(said) or unsaid
        if meaning_of(self._native) == LENGTH:
            reason = LENGTH  # OpenRouter says tool_calls for calls that were cut
        elif reason == STOP and self._open.has_calls:
            reason = TOOL_CALLS
        elif reason == STOP and self._refused:
            reason = REFUSAL
        native = self._native or self._reason
        return Finished(reason, {"native": native} if native and native != reason else {})


def _is_error(chunk: Mapping[str, Any]) -> bool:
    """Whether ``chunk`` reports an error, in the shapes that differ from a chunk's."""
    if chunk.get("error"):
        return True
    if "choices" in chunk:
        return False
    return (
        chunk.get("object") == "error"
        or chunk.get("type") == "error"
        or "detail" in chunk
        or ("message" in chunk and "code" in chunk)
    )
