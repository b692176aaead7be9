"""Decodes the replies of Ollama's chat API: lines of JSON, or one JSON object.

Facts are from the pages "Chat" (API reference), "Streaming", "Thinking" and "Tool calling"
of Ollama's documentation, and from recordings of its servers.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, Mapping, Optional, Type, Union

from jpq.events.parts import (
    INTERRUPTED,
    LENGTH,
    STOP,
    TOOL_CALLS,
    Finished,
    Flush,
    MessageDelta,
    Metered,
    Opaque,
    Part,
    ReasoningDelta,
    Started,
    StreamEvent,
    ToolArgumentsDelta,
    ToolCallRequest,
    ToolCallStarted,
)
from jpq.events.surrogates import REPLACEMENT, has_surrogates, mend_piece, mend_value
from jpq.events.transcript import parse_tool_call
from jpq.events.usage import Usage
from jpq.provider.failure import from_error_object
from jpq.provider.wire_decoder import JsonDecoder
from jpq.provider.wire_reply import ReplyCallIds, count, no_answer, word

_REASONS: Mapping[str, str] = {"stop": STOP, "length": LENGTH}
# The server was asked for nothing, and did this instead.
_NOT_ASKED: Mapping[str, str] = {
    "load": "the server only loaded the model",
    "unload": "the server only unloaded the model",
}

_TextKind = Union[Type[MessageDelta], Type[ReasoningDelta]]


class OllamaDecoder(JsonDecoder):
    """Decodes one reply."""

    def __init__(self, where: str = "") -> None:
        super().__init__(where)
        self._started: Optional[Started] = None
        self._indices = 0
        self._kind: Optional[_TextKind] = None  # of the open text, whose index this is:
        self._index = -1
        self._held = ""  # the first half of a surrogate pair, waiting for the second
        self._ids = ReplyCallIds()
        self._has_calls = False

    def _object(self, value: Dict[str, Any], event: str) -> Iterator[StreamEvent]:
        part = self._more_text(value)
        return self._line(value) if part is None else iter((part,))

    def feed_whole(self, value: Any) -> Iterator[StreamEvent]:
        """The events of a reply that was not streamed: the same as if it had been."""
        value = value if isinstance(value, dict) else {}
        if not value.get("error") and not isinstance(value.get("message"), dict):
            raise no_answer(self._where, "an Ollama server")
        yield from self._line({**value, "done": True})

    def close(self) -> Iterator[StreamEvent]:
        """The end of the bytes: an answer whose last line did not come was cut."""
        if not self.done:
            self.ending = True
            yield Finished(INTERRUPTED)  # the open text stays open: it may be gone on with

    # What a line says

    def _more_text(self, line: Mapping[str, Any]) -> Optional[Part]:
        """The text of a line that only goes on with the open text, as nearly all do.

        What it declines is taken apart by ``_line``, to the same effect in more time.
        """
        if self._kind is None or self._held:
            return None
        try:
            message = line["message"]
            text = message["content"]
            if self._kind is ReasoningDelta:
                if text or len(message) != 3:
                    return None
                text = message["thinking"]
            elif len(message) != 2:
                return None
            # Four fields: model, created_at, message, done; none of them says more.
            if len(line) != 4 or line["done"] or "error" in line or not message["role"]:
                return None
        except (KeyError, TypeError):
            return None  # some other shape
        if type(text) is not str or not text or has_surrogates(text):
            return None
        return Part(self._index, self._kind(text))

    def _line(self, line: Mapping[str, Any]) -> Iterator[StreamEvent]:
        message = line.get("message")
        failure = line.get("error")
        if self._started is None and not (failure and message is None):
            self._started = Started(word(line, "model") or None)
            yield self._started
        if isinstance(message, dict):
            yield from self._message(message, word(line, "created_at"))
        usage = Usage(count(line, "prompt_eval_count"), count(line, "eval_count"))
        if usage != Usage():
            yield Metered(usage)
        if failure:
            raise from_error_object({"error": failure}, where=self._where)
        if line.get("done"):
            yield from self._end(word(line, "done_reason"))

    def _message(self, message: Mapping[str, Any], created_at: str) -> Iterator[StreamEvent]:
        yield from self._say(ReasoningDelta, message.get("thinking"))
        yield from self._say(MessageDelta, message.get("content"))
        images = mend_value(message.get("images"))
        if images:
            yield from self._whole(Opaque({"images": images}))
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and isinstance(call.get("function"), dict):
                yield from self._call(call, created_at)

    def _say(self, kind: _TextKind, text: Any) -> Iterator[StreamEvent]:
        if not text or not isinstance(text, str):
            return
        if self._kind is not kind:
            yield from self._finish_text()
            self._kind, self._index = kind, self._next_index()
        text, self._held = mend_piece(self._held, text)
        if text:
            yield Part(self._index, kind(text))

    def _call(self, call: Mapping[str, Any], created_at: str) -> Iterator[StreamEvent]:
        """A call, which always arrives whole."""
        yield from self._finish_text()
        function = call["function"]
        # Older servers give no ids.
        id = self._ids.of(word(call, "id"), created_at)
        self._has_calls = True
        request = _request(id, word(function, "name"), function)
        yield ToolCallStarted(self._indices, request.id, request.name)
        text = request.raw
        if text is None and request.arguments:
            # Without this nobody would see the arguments arrive.
            text = _json(request.arguments)
        if text:
            yield ToolArgumentsDelta(self._indices, text)
        yield from self._whole(request)

    def _whole(self, payload: Union[Opaque, ToolCallRequest]) -> Iterator[StreamEvent]:
        yield from self._finish_text()
        index = self._next_index()
        yield Part(index, payload)
        yield Flush(index)

    def _finish_text(self) -> Iterator[StreamEvent]:
        if self._kind is None:
            return
        if self._held:
            yield Part(self._index, self._kind(REPLACEMENT))
            self._held = ""
        self._kind = None
        yield Flush(self._index)

    def _end(self, said: str) -> Iterator[StreamEvent]:
        """The line that says ``done``; older servers give no reason with it."""
        yield from self._finish_text()
        reason = _REASONS.get(said, said) or STOP
        if reason == STOP and self._has_calls:
            reason = TOOL_CALLS
        details = {"native": said} if said and said != reason else {}
        if said in _NOT_ASKED:
            details["message"] = _NOT_ASKED[said]
        self.ending = self.done = True
        yield Finished(reason, details)

    def _next_index(self) -> int:
        self._indices += 1
        return self._indices - 1


def _request(id: str, name: str, function: Mapping[str, Any]) -> ToolCallRequest:
    """The call with its arguments: an object, or what imitators send instead."""
    given = function.get("arguments")
    arguments = {} if given is None else mend_value(given)
    return parse_tool_call(id, name, arguments if isinstance(arguments, str) else _json(arguments))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
