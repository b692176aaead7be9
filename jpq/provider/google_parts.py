"""The parts of a Gemini answer as stream events.

Parts come one after the other. Text runs over many of them and is one event until something
else comes. What a part carries besides its text (its ``thoughtSignature``) must go back in
the same part ("Thought signatures" in Google's documentation), so a text of which any part
is more than plain text keeps its parts in its metadata.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, Type, Union

from jpq.events.parts import (
    Flush,
    MessageDelta,
    Opaque,
    Part,
    ReasoningDelta,
    StreamEvent,
    ToolArgumentsDelta,
    ToolCallRequest,
    ToolCallStarted,
)
from jpq.events.surrogates import (
    REPLACEMENT,
    has_surrogates,
    mend,
    mend_piece,
    mend_value,
)
from jpq.events.transcript import parse_tool_call
from jpq.provider.google_arguments import PartialArguments
from jpq.provider.wire_reply import ReplyCallIds, word

# Metadata of a text: the parts it came in, where one of them is more than plain text.
PARTS = "parts"
# Metadata of a call: the provider's own id for it, where it gave one.
CALL_ID = "id"

_Kind = Union[Type[MessageDelta], Type[ReasoningDelta]]
_SIGNATURE_ONLY = {"thoughtSignature", "thought"}


class _OpenText:
    """Text or reasoning that may go on in the next part."""

    def __init__(self, kind: _Kind, index: int) -> None:
        self.kind = kind
        self.index = index
        self.held = ""  # the first half of a surrogate pair, waiting for the second
        self.run: List[str] = []  # pieces of plain text since the last of ``parts``
        self.parts: List[Dict[str, Any]] = []

    def keep(self, part: Mapping[str, Any]) -> None:
        """Keep a part that is more than plain text, after what came before it."""
        self._end_run()
        self.parts.append(mend_value(part) or {})

    def metadata(self) -> Dict[str, Any]:
        if not self.parts:
            return {}
        self._end_run()
        return {PARTS: self.parts}

    def _end_run(self) -> None:
        if self.run:
            plain: Dict[str, Any] = {"text": "".join(self.run)}
            if self.kind is ReasoningDelta:
                plain["thought"] = True
            self.parts.append(plain)
            self.run = []


class _OpenCall:
    """A call that is being written."""

    def __init__(self, index: int, id: str, name: str) -> None:
        self.index = index
        self.id = id
        self.name = name
        self.arguments = PartialArguments()
        self.unreadable: Any = None  # what came in place of an object
        self.metadata: Dict[str, Any] = {}

    def goes_on(self, name: str, given: str, call: Mapping[str, Any]) -> bool:
        """Whether ``call``, which has a name, goes on with this one; most that do have none."""
        is_same = name == self.name and given in ("", self.metadata.get(CALL_ID))
        return is_same and "partialArgs" in call

    def request(self, cut: bool) -> ToolCallRequest:
        """The call; one that was ``cut`` or cannot be read is kept raw, so that it never runs."""
        value = self.arguments.value() if self.unreadable is None else self.unreadable
        try:
            text = mend(json.dumps(value, ensure_ascii=False))
        except (RecursionError, ValueError):
            text = ""
        if cut or self.arguments.malformed or not text:
            return ToolCallRequest(self.id, self.name, {"raw": text}, raw=text)
        return parse_tool_call(self.id, self.name, text)


class OpenParts:
    """Gives each text, call and unknown part its index, and says when it is finished."""

    def __init__(self) -> None:
        self.has_calls = False
        self.runs_code = False  # code that the provider runs has not given its result yet
        self._indices = 0
        self._text: Optional[_OpenText] = None
        self._call: Optional[_OpenCall] = None
        self._ids = ReplyCallIds()

    def plain_text(self, part: Mapping[str, Any]) -> Optional[Part]:
        """The event of a part that only goes on with the open text, as most do; else None."""
        text = self._text
        if text is None or text.held:
            return None
        piece = part.get("text")
        if type(piece) is not str or not piece or (not piece.isascii() and has_surrogates(piece)):
            return None
        kind = text.kind
        if len(part) > 1 and (kind is MessageDelta or len(part) > 2):
            return None
        if kind is ReasoningDelta and part.get("thought") is not True:
            return None
        text.run.append(piece)
        return Part(text.index, kind(piece))

    def add(self, part: Mapping[str, Any], message_id: Optional[str]) -> Iterator[StreamEvent]:
        """The events of one part; ids for calls without one are made of ``message_id``."""
        self.runs_code = "executableCode" in part
        if isinstance(part.get("functionCall"), dict):
            yield from self._function_call(part, part["functionCall"], message_id)
        elif isinstance(part.get("text"), str):
            yield from self._say(part, part["text"])
        elif self._text is not None and set(part) <= _SIGNATURE_ONLY:
            self._text.keep(part)
        else:
            yield from self._keep(part)

    def end(self, cut: bool) -> Iterator[StreamEvent]:
        """The answer ends; ``cut`` says that something ended it before it was whole."""
        yield from self._finish_text()
        yield from self._finish_call(cut)

    def _say(self, part: Mapping[str, Any], text: str) -> Iterator[StreamEvent]:
        kind: _Kind = ReasoningDelta if part.get("thought") else MessageDelta
        is_plain = not any(part[key] for key in part if key not in ("text", "thought"))
        if not text:
            if is_plain:
                return  # the last part of an answer often is
            if self._text is None or self._text.kind is not kind:
                yield from self._keep(part)
                return
        opened = self._text
        if opened is None or opened.kind is not kind:
            yield from self._finish_text()
            yield from self._finish_call(cut=False)
            opened = self._text = _OpenText(kind, self._next_index())
        if is_plain:
            text, opened.held = mend_piece(opened.held, text)
            if text:
                opened.run.append(text)
                yield Part(opened.index, kind(text))
            return
        yield from self._give_up_held(opened)
        opened.keep(part)
        if text:
            yield Part(opened.index, kind(mend(text)))

    def _function_call(
        self, part: Mapping[str, Any], call: Mapping[str, Any], message_id: Optional[str]
    ) -> Iterator[StreamEvent]:
        name, given = word(call, "name"), word(call, "id")
        opened = self._call
        if opened is None or (name and not opened.goes_on(name, given, call)):
            if not name and not call.get("args") and not call.get("partialArgs"):
                if len(part) > 1:
                    yield from self._keep(part)
                return  # the end of a call that has ended
            yield from self._finish_text()
            yield from self._finish_call(cut=False)
            id = self._ids.of(given, message_id or "")
            opened = self._call = _OpenCall(self._next_index(), id, name)
            self.has_calls = True
            if given:
                opened.metadata[CALL_ID] = given
            yield ToolCallStarted(opened.index, id, name)
        extra = {key: value for key, value in part.items() if key != "functionCall" and value}
        opened.metadata.update(mend_value(extra) or {})
        yield from self._add_arguments(opened, call)

    def _add_arguments(self, opened: _OpenCall, call: Mapping[str, Any]) -> Iterator[StreamEvent]:
        args = call.get("args")
        if isinstance(args, dict):
            opened.arguments.update(args)
        elif args is not None:
            opened.unreadable = args
        opened.arguments.add(call.get("partialArgs"))
        if call.get("willContinue"):
            # The text of the arguments is known only once they are whole; this says that
            # the answer goes on, however long they are.
            yield ToolArgumentsDelta(opened.index, "")
        else:
            yield from self._finish_call(cut=False)

    def _finish_text(self) -> Iterator[StreamEvent]:
        text, self._text = self._text, None
        if text is not None:
            yield from self._give_up_held(text)
            yield Flush(text.index, text.metadata())

    def _give_up_held(self, text: _OpenText) -> Iterator[StreamEvent]:
        """The second half of a character did not come."""
        if text.held:
            text.held = ""
            text.run.append(REPLACEMENT)
            yield Part(text.index, text.kind(REPLACEMENT))

    def _finish_call(self, cut: bool) -> Iterator[StreamEvent]:
        call, self._call = self._call, None
        if call is None:
            return
        request = call.request(cut)
        text = request.raw
        if text is None:
            text = json.dumps(request.arguments, ensure_ascii=False)
        yield ToolArgumentsDelta(call.index, text)
        yield Part(call.index, request)
        yield Flush(call.index, call.metadata)

    def _keep(self, part: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """A part that is none of ours, verbatim."""
        kept = mend_value(part)
        if kept:
            yield from self._finish_text()
            yield from self._finish_call(cut=False)
            index = self._next_index()
            yield Part(index, Opaque(kept))
            yield Flush(index)

    def _next_index(self) -> int:
        self._indices += 1
        return self._indices - 1
