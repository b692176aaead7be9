"""Decodes messages, streamed or whole, from Anthropic and everyone who imitates it."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Optional

from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import (
    INTERRUPTED,
    LENGTH,
    PAUSED,
    REFUSAL,
    STOP,
    TOOL_CALLS,
    Finished,
    KeepAlive,
    Metered,
    Started,
    StreamEvent,
)
from jpq.events.surrogates import mend
from jpq.events.usage import Usage
from jpq.provider.anthropic_blocks import OpenBlocks
from jpq.provider.failure import from_error_object
from jpq.provider.wire_decoder import JsonDecoder
from jpq.provider.wire_reply import count, no_answer, word

# Stop reasons of the API ("Stop reasons and fallback" in Anthropic's documentation); any
# other, ``pause_turn`` among them, is passed on as it is.
_REASONS: Mapping[str, str] = {
    "end_turn": STOP,
    "stop_sequence": STOP,
    "max_tokens": LENGTH,
    "model_context_window_exceeded": LENGTH,
    "tool_use": TOOL_CALLS,
    "refusal": REFUSAL,
    "compaction": PAUSED,  # "Compaction": it summed up the conversation, and goes on when asked
}


class MessagesDecoder(JsonDecoder):
    """Decodes one reply."""

    def __init__(self, where: str = "") -> None:
        super().__init__(where)
        self._blocks = OpenBlocks()
        self._started: Optional[Started] = None
        self._usage: Optional[Usage] = None
        self._reason = ""  # the provider's word for how the answer ended
        self._details: Dict[str, Any] = {}

    def _object(self, value: Dict[str, Any], event: str) -> Iterator[StreamEvent]:
        said = self._blocks.plain_delta(value)
        return self._event(value, event) if said is None else iter((said,))

    def _is_error(self, value: Mapping[str, Any]) -> bool:
        return _is_error(value, "")

    def _end_mark(self) -> Iterator[StreamEvent]:
        return self._end(STOP)

    def feed_whole(self, value: Any) -> Iterator[StreamEvent]:
        """The events of a reply that was not streamed: the same as if it had been."""
        if not isinstance(value, dict) or _is_error(value, ""):
            yield from self._no_object(value, "")
        content = value.get("content") if isinstance(value, dict) else None
        if not isinstance(content, list):
            raise no_answer(self._where, "an API like Anthropic's")
        yield from self._start(value)
        for number, block in enumerate(content):
            yield from self._blocks.start(number, block)
            self._blocks.stop(number)
        yield from self._meter(value.get("usage"))
        self._note_ending(value)
        yield from self._end(STOP)

    def close(self) -> Iterator[StreamEvent]:
        """The end of the bytes: an answer that was not ended by its end marker was cut."""
        if not self.done:
            yield from self._end(INTERRUPTED)

    # What a message is

    def _event(self, chunk: Mapping[str, Any], event: str) -> Iterator[StreamEvent]:
        type = chunk.get("type") or event
        if type == "content_block_delta":
            yield from self._blocks.delta(chunk.get("index"), chunk.get("delta"))
        elif type == "content_block_start":
            yield from self._blocks.start(chunk.get("index"), chunk.get("content_block"))
        elif type == "content_block_stop":
            self._blocks.stop(chunk.get("index"))
        elif type == "message_start":
            yield from self._message_start(chunk.get("message"))
        elif type == "message_delta":
            self._note_ending(chunk.get("delta"))
            yield from self._meter(chunk.get("usage"))
        elif type == "message_stop":
            yield from self._end(STOP)
        elif type == "ping":
            yield KeepAlive()
        elif _is_error(chunk, event):
            raise from_error_object(chunk, where=self._where)

    def _message_start(self, message: Any) -> Iterator[StreamEvent]:
        if not isinstance(message, dict):
            return
        started = self._started
        if started is not None and not self._blocks.is_empty:
            if message.get("id") == started.message_id:
                return  # gateways repeat the frame
            # An intermediary lost the provider in the middle of an answer, asked again, and
            # sends both answers in one body. The first is unusable, but has been shown.
            raise StreamError(
                ErrorKind.CUT,
                "The answer broke off and another one began in its place.",
                where=self._where,
                hint="A gateway on the way to the provider does this. Try again: jpq --retry",
            )
        yield from self._start(message)
        yield from self._meter(message.get("usage"))

    def _start(self, message: Mapping[str, Any]) -> Iterator[StreamEvent]:
        started = Started(word(message, "model") or None, word(message, "id") or None)
        if started != self._started:
            self._started = started
            self._blocks.reply = started.message_id or ""
            yield started

    def _meter(self, value: Any) -> Iterator[StreamEvent]:
        usage = read_usage(value)
        if usage != Usage():
            known = self._usage or Usage()
            self._usage = known.merged(usage)
            if self._usage != known:
                yield Metered(self._usage)

    # How it ends

    def _note_ending(self, delta: Any) -> None:
        """Take the stop reason and what explains it from a message or ``message_delta``."""
        if not isinstance(delta, dict) or not word(delta, "stop_reason"):
            return
        self.ending = True
        self._reason = word(delta, "stop_reason")
        if isinstance(delta.get("stop_sequence"), str):
            self._details["stop_sequence"] = mend(delta["stop_sequence"])
        stop = delta.get("stop_details")
        if isinstance(stop, dict):
            why = word(stop, "explanation") or word(stop, "category")
            if why:
                self._details["message"] = why

    def _end(self, unsaid: str) -> Iterator[StreamEvent]:
        """Finish what is open; ``unsaid`` is the reason where the provider named none."""
        whole = unsaid != INTERRUPTED
        reason = (_REASONS.get(self._reason, self._reason) if whole else "") or unsaid
        if reason == STOP and self._blocks.has_calls:
            reason = TOOL_CALLS
        yield from self._blocks.end(whole, cut=reason == LENGTH)
        self.ending = True
        self.done = whole
        details = dict(self._details)
        if self._reason and self._reason != reason:
            details["native"] = self._reason
        yield Finished(reason, details)


def read_usage(value: Any) -> Usage:
    """The counts in a ``usage`` object. Input tokens do not include what the cache held."""
    if not isinstance(value, dict):
        return Usage()
    details = value.get("output_tokens_details")
    details = details if isinstance(details, dict) else {}
    return Usage(
        input_tokens=count(value, "input_tokens"),
        output_tokens=count(value, "output_tokens"),
        reasoning_tokens=count(details, "thinking_tokens"),
        cache_read_tokens=count(value, "cache_read_input_tokens"),
        cache_write_tokens=count(value, "cache_creation_input_tokens"),
    )


def _is_error(chunk: Mapping[str, Any], event: str) -> bool:
    """Whether ``chunk`` reports an error; relays send those of other APIs, too."""
    return event == "error" or chunk.get("type") == "error" or bool(chunk.get("error"))
