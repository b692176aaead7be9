"""Decodes responses, streamed or whole, from OpenAI and those who imitate it."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Optional

from jpq.events.parts import (
    CONTENT_FILTER,
    INTERRUPTED,
    LENGTH,
    REFUSAL,
    STOP,
    TOOL_CALLS,
    Finished,
    KeepAlive,
    Metered,
    Started,
    StreamEvent,
)
from jpq.events.usage import Usage
from jpq.provider.failure import from_error_object
from jpq.provider.openai_responses_item import STEMS
from jpq.provider.openai_responses_items import OutputItems
from jpq.provider.wire_decoder import JsonDecoder
from jpq.provider.wire_reply import count, no_answer, word

_WRITING = frozenset(f"{stem}.{end}" for stem in STEMS for end in ("delta", "done"))
_ENDINGS = ("completed", "incomplete", "failed", "cancelled")
_END_EVENTS = {f"response.{status}": status for status in _ENDINGS}
_SIGNS_OF_LIFE = ("keepalive", "ping", "response.queued", "response.in_progress")
# What ``incomplete_details.reason`` means; any other word is passed on as it is.
_INCOMPLETE = {
    "max_output_tokens": LENGTH,
    "max_tokens": LENGTH,
    "length": LENGTH,
    "content_filter": CONTENT_FILTER,
}


class ResponsesDecoder(JsonDecoder):
    """Decodes one reply."""

    def __init__(self, where: str = "") -> None:
        super().__init__(where)
        self._items = OutputItems()
        self._started: Optional[Started] = None
        self._usage: Optional[Usage] = None

    def _object(self, value: Dict[str, Any], event: str) -> Iterator[StreamEvent]:
        said = None if event == "error" else self._items.plain_delta(value)
        return self._event(value, event) if said is None else iter((said,))

    def _end_mark(self) -> Iterator[StreamEvent]:
        """OpenRouter's, behind the end of the response; before it, the answer was cut."""
        yield from self.close()
        self.done = True

    def feed_whole(self, value: Any) -> Iterator[StreamEvent]:
        """The events of a reply that was not streamed: the same as if it had been."""
        status = word(value, "status") if isinstance(value, dict) else ""
        has_output = isinstance(value, dict) and isinstance(value.get("output"), list)
        if not has_output and status not in _ENDINGS:
            yield from self._no_object(value, "")
            raise no_answer(self._where, "a server with the Responses API")
        yield from self._about(value)
        yield from self._end(value, status or "completed")

    def close(self) -> Iterator[StreamEvent]:
        """The end of the bytes: the rest of the answer, and how it ended."""
        if not self.done:
            yield from self._items.end(whole=False, cut=False)
            yield Finished(INTERRUPTED)

    # What a message is

    def _event(self, chunk: Mapping[str, Any], name: str) -> Iterator[StreamEvent]:
        type = word(chunk, "type") or name
        if name == "error" or type == "error" or (not type and chunk.get("error")):
            # ``response.failed`` may follow with the same error, which is told once.
            raise from_error_object(chunk, where=self._where)
        response = chunk.get("response")
        if isinstance(response, dict):
            yield from self._about(response)
        if type in _WRITING:
            yield from self._begun()
            yield from self._items.write(type, chunk)
        elif type == "response.output_item.added":
            yield from self._begun()
            yield from self._items.begin(chunk.get("output_index"), chunk.get("item"))
        elif type == "response.output_item.done":
            yield from self._begun()
            yield from self._items.finish(chunk.get("output_index"), chunk.get("item"))
        elif type in _SIGNS_OF_LIFE:
            yield KeepAlive()
        elif type in _END_EVENTS:
            yield from self._end(response if isinstance(response, dict) else {}, _END_EVENTS[type])

    # About the response

    def _about(self, response: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Which model serves, as soon as it is known, and the usage."""
        known = self._started or Started()
        started = Started(
            known.model or word(response, "model") or None,
            known.message_id or word(response, "id") or None,
        )
        if started != self._started:
            self._started = started
            yield started
        usage = _read_usage(response.get("usage"))
        if usage != self._usage and usage is not None:
            self._usage = usage
            yield Metered(usage)

    def _begun(self) -> Iterator[StreamEvent]:
        """A stream that was joined in the middle has not said who answers."""
        if self._started is None:
            self._started = Started()
            yield self._started

    # How it ends

    def _end(self, response: Mapping[str, Any], said: str) -> Iterator[StreamEvent]:
        status = word(response, "status")
        status = status if status in _ENDINGS else said
        if status == "failed":
            yield from self._items.end(whole=False, cut=False)
            error = response.get("error") or "The response failed, and the provider gave no reason."
            raise from_error_object(error, where=self._where)
        if status in ("completed", "incomplete"):
            yield from self._items.settle(response.get("output"))
        finished = self._finished(response, status)
        whole = finished.reason != INTERRUPTED
        yield from self._items.end(whole, cut=finished.reason == LENGTH)
        self.ending = self.done = True
        yield finished

    def _finished(self, response: Mapping[str, Any], status: str) -> Finished:
        if status == "incomplete":
            details = response.get("incomplete_details")
            native = word(details, "reason") if isinstance(details, dict) else ""
            native = native or status
            reason = _INCOMPLETE.get(native, native)
        elif status != "completed":
            native, reason = status, INTERRUPTED  # cancelled, or never finished
        else:
            native, reason = status, STOP
            if self._items.has_calls:
                reason = TOOL_CALLS
            elif self._items.refused:
                reason = REFUSAL
        return Finished(reason, {"native": native} if native != reason else {})


def _read_usage(value: Any) -> Optional[Usage]:
    """The counts in a ``usage`` object, or None where it has none."""
    if not isinstance(value, dict):
        return None
    given = value.get("input_tokens_details"), value.get("output_tokens_details")
    of_input, of_output = (details if isinstance(details, dict) else {} for details in given)
    usage = Usage(
        input_tokens=count(value, "input_tokens"),
        output_tokens=count(value, "output_tokens"),
        reasoning_tokens=count(of_output, "reasoning_tokens"),
        cache_read_tokens=count(of_input, "cached_tokens"),
        cache_write_tokens=count(of_input, "cache_write_tokens"),
    )
    return None if usage == Usage() else usage
