"""Decodes Gemini's answers, streamed or whole.

There is no end marker: an answer is whole when its last content came with a finish reason
and the bytes end. Facts are from the pages "Generating content" (reference) and "Thinking"
of the Gemini API's documentation, and from recordings.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Optional, Sequence

from jpq.events.parts import (
    CONTENT_FILTER,
    ERROR,
    INTERRUPTED,
    LENGTH,
    STOP,
    TOOL_CALLS,
    Finished,
    Metered,
    Started,
    StreamEvent,
)
from jpq.events.usage import Usage
from jpq.provider.failure import from_error_object
from jpq.provider.google_parts import OpenParts
from jpq.provider.wire_decoder import JsonDecoder
from jpq.provider.wire_reply import no_answer, word

_API = "Google's Gemini API"

# The reference's FinishReason, and a word of imitators (aimock) for an answer with calls; any
# other is passed on as it is.
_REASONS: Mapping[str, str] = {
    "STOP": STOP,
    "FUNCTION_CALL": STOP,
    "MAX_TOKENS": LENGTH,
    "SAFETY": CONTENT_FILTER,
    "RECITATION": CONTENT_FILTER,
    "BLOCKLIST": CONTENT_FILTER,
    "PROHIBITED_CONTENT": CONTENT_FILTER,
    "SPII": CONTENT_FILTER,
    "MODEL_ARMOR": CONTENT_FILTER,
    "IMAGE_SAFETY": CONTENT_FILTER,
    "IMAGE_RECITATION": CONTENT_FILTER,
    "IMAGE_PROHIBITED_CONTENT": CONTENT_FILTER,
    "LANGUAGE": ERROR,
    "OTHER": ERROR,
    "IMAGE_OTHER": ERROR,
    "NO_IMAGE": ERROR,
    "MALFORMED_FUNCTION_CALL": ERROR,
    "MALFORMED_RESPONSE": ERROR,
    "UNEXPECTED_TOOL_CALL": ERROR,
    "TOO_MANY_TOOL_CALLS": ERROR,
    "MISSING_THOUGHT_SIGNATURE": ERROR,
}
_NO_REASON = "FINISH_REASON_UNSPECIFIED"

_METERED_EVERY = 32  # chunks of text, so that an answer that breaks off has its usage, too
_COUNTS = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "cachedContentTokenCount",
)


class GeminiDecoder(JsonDecoder):
    """Decodes one reply."""

    def __init__(self, where: str = "") -> None:
        super().__init__(where)
        self._parts = OpenParts()
        self._started: Optional[Started] = None
        self._counts: Dict[str, int] = {}
        self._unread: Any = None  # the last ``usageMetadata``, of so many chunks:
        self._chunks_unread = 0
        self._usage = Usage()
        self._reason = ""  # the provider's words for how the answer ended
        self._blocked = ""
        self._words = ""

    def _object(self, value: Dict[str, Any], event: str) -> Iterator[StreamEvent]:
        if event == "error":
            raise from_error_object(value, where=self._where)
        events = self._more_text(value)
        return self._chunk(value) if events is None else iter(events)

    def _no_object(self, value: Any, event: str) -> Iterator[StreamEvent]:
        """Without ``alt=sse`` the chunks come as a list."""
        if event == "error":
            raise from_error_object(value, where=self._where)
        return self._chunks(value if isinstance(value, list) else ())

    def feed_whole(self, value: Any) -> Iterator[StreamEvent]:
        """The events of a reply that was not streamed: the same as if it had been."""
        chunks = value if isinstance(value, list) else [value]
        chunks = [chunk for chunk in chunks if isinstance(chunk, dict)]
        if not any(map(_says_something, chunks)):
            raise no_answer(self._where, _API)
        yield from self._chunks(chunks)
        yield from self.close()

    def close(self) -> Iterator[StreamEvent]:
        """The end of the bytes: the end of the answer if it had a finish reason, else a cut."""
        if self.done:
            return
        yield from self._meter(self._unread)
        finished = self._finished()
        if finished.reason != INTERRUPTED:
            yield from self._parts.end(cut=finished.reason in (LENGTH, ERROR))
            self.done = True
        yield finished

    # What a message is

    def _more_text(self, chunk: Mapping[str, Any]) -> Optional[Sequence[StreamEvent]]:
        """The events of a chunk that only goes on with the open text, as nearly all do.

        What it declines is taken apart by ``_chunk``, to the same effect in more time.
        """
        try:
            (candidate,) = chunk["candidates"]
            (part,) = candidate["content"]["parts"]
        except (KeyError, TypeError, ValueError):
            return None  # some other shape
        known = self._started
        if (
            self._reason
            or "finishReason" in candidate
            or candidate.get("index")
            or "error" in chunk
            or "promptFeedback" in chunk
            or known is None
            or (known.message_id is None and "responseId" in chunk)
            or (known.model is None and "modelVersion" in chunk)
            or type(part) is not dict
        ):
            return None
        event = self._parts.plain_text(part)
        if event is None:
            return None
        # The counts of the answer so far are in every chunk; not all of them are news.
        self._unread = chunk.get("usageMetadata") or self._unread
        self._chunks_unread += 1
        if self._chunks_unread < _METERED_EVERY:
            return (event,)
        return (event, *self._meter(self._unread))

    def _chunks(self, chunks: Sequence[Any]) -> Iterator[StreamEvent]:
        for chunk in chunks:
            if isinstance(chunk, dict):
                yield from self._chunk(chunk)

    def _chunk(self, chunk: Mapping[str, Any]) -> Iterator[StreamEvent]:
        known = self._started
        if known is None or known.model is None or known.message_id is None:
            yield from self._start(chunk)
        candidates = chunk.get("candidates")
        for candidate in candidates if isinstance(candidates, list) else ():
            # Where several were asked for, the others are interleaved with the first.
            if isinstance(candidate, dict) and not candidate.get("index"):
                yield from self._candidate(candidate)
        if "promptFeedback" in chunk:
            self._note_feedback(chunk["promptFeedback"])
        yield from self._meter(chunk.get("usageMetadata") or self._unread)
        if chunk.get("error"):
            raise from_error_object(chunk, where=self._where)

    def _start(self, chunk: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Say which model serves; Vertex AI's older models do not."""
        known = self._started or Started()
        started = Started(
            known.model or word(chunk, "modelVersion") or None,
            known.message_id or word(chunk, "responseId") or None,
        )
        if started != known or (self._started is None and chunk.get("candidates")):
            self._started = started
            yield started

    def _candidate(self, candidate: Mapping[str, Any]) -> Iterator[StreamEvent]:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if not isinstance(part, dict):
                continue
            if self._reason and _has_content(part):
                self._reason = ""  # said too early: the model goes on
            event = self._parts.plain_text(part)
            if event is not None:
                yield event
            else:
                message_id = self._started.message_id if self._started else None
                yield from self._parts.add(part, message_id)
        reason = word(candidate, "finishReason")
        if reason and reason != _NO_REASON:
            self._reason = reason
            self._words = word(candidate, "finishMessage") or self._words
        self._note_ending()

    def _note_feedback(self, feedback: Any) -> None:
        """The prompt may have been blocked, which is said in place of an answer or beside it."""
        if isinstance(feedback, dict) and word(feedback, "blockReason"):
            self._blocked = word(feedback, "blockReason")
            self._words = word(feedback, "blockReasonMessage") or self._words
            self._note_ending()

    def _note_ending(self) -> None:
        # A stop that comes while code runs is not the last: its result is still to come.
        too_early = self._reason == "STOP" and self._parts.runs_code
        self.ending = bool(self._blocked or (self._reason and not too_early))

    def _meter(self, metadata: Any) -> Sequence[StreamEvent]:
        """Counts are those of the whole answer so far; the last one of each is right."""
        self._unread, self._chunks_unread = None, 0
        for name, value in metadata.items() if isinstance(metadata, dict) else ():
            if name in _COUNTS and type(value) is int and value >= 0:
                self._counts[name] = value
        usage = _usage(self._counts)
        if usage == self._usage:
            return ()
        self._usage = usage
        return (Metered(usage),)

    # How it ends

    def _finished(self) -> Finished:
        said = self._reason if self.ending else ""
        reason = _REASONS.get(said, said)
        if self._blocked and reason in ("", STOP):
            said, reason = self._blocked, CONTENT_FILTER
        if not reason:
            return Finished(INTERRUPTED)
        if reason == STOP and self._parts.has_calls:
            reason = TOOL_CALLS
        details = {"native": said} if said != reason else {}
        if self._words and reason not in (STOP, TOOL_CALLS):
            details["message"] = self._words
        return Finished(reason, details)


def _usage(counts: Mapping[str, int]) -> Usage:
    """The counts as jpq has them.

    Google counts the thoughts apart from the answer, and what its own tools put into the
    prompt apart from the prompt. Both are billed alike, and other providers count them in,
    so they are added here: input and output make Google's ``totalTokenCount``.
    """
    prompt, tools, answer, thoughts, cached = map(counts.get, _COUNTS)
    # In the order of its fields, as naming them takes long.
    return Usage(_sum(prompt, tools), _sum(answer, thoughts), thoughts, cached)


def _sum(one: Optional[int], other: Optional[int]) -> Optional[int]:
    return one if other is None else other if one is None else one + other


def _has_content(part: Mapping[str, Any]) -> bool:
    """Whether ``part`` says something, other than a signature that comes behind the answer."""
    return any(value for name, value in part.items() if name not in ("thoughtSignature", "thought"))


def _says_something(chunk: Mapping[str, Any]) -> bool:
    return any(chunk.get(field) for field in ("candidates", "promptFeedback", "error"))
