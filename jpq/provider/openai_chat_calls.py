"""Puts tool calls together from chat-completion deltas, in all the ways servers spell them."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional

from jpq.events.parts import ToolCallRequest
from jpq.events.surrogates import mend, mend_piece, mend_value
from jpq.events.transcript import parse_tool_call
from jpq.provider.wire_reply import word


class OpenCall:
    """A call that is being written.

    ``given_id`` is what the server calls it. ``index`` and ``id`` are those of its stream
    events; None and blank until the call has been announced.
    """

    def __init__(self) -> None:
        self.given_id = ""
        self.id = ""
        self.name = ""
        self.index: Optional[int] = None
        self.metadata: Dict[str, Any] = {}
        self._pieces: List[str] = []
        self._held = ""

    @property
    def text(self) -> str:
        """The argument text so far."""
        return "".join(self._pieces)

    @property
    def is_whole(self) -> bool:
        """Whether the argument text so far is a JSON object."""
        # The last piece is looked at first: this may be asked after every one of them.
        ends = bool(self._pieces) and self._pieces[-1].rstrip().endswith("}")
        return ends and parse_tool_call("", "", self.text).raw is None

    def add(self, arguments: Any) -> str:
        """Take the ``arguments`` of a delta; returns the text they add."""
        if isinstance(arguments, str):
            text = arguments
        elif arguments and not self._pieces:
            # Some servers send an object instead of its text, always whole.
            text = json.dumps(mend_value(arguments), ensure_ascii=False)
        else:
            return ""
        text, self._held = mend_piece(self._held, text)
        if text:
            self._pieces.append(text)
        return text

    def request(self, cut: bool) -> ToolCallRequest:
        """The finished call. No arguments are an empty object, unless the answer was ``cut``."""
        text = mend(self.text + self._held)
        if text.strip() in ("", "null"):  # Groq writes null for a tool without parameters
            arguments, raw = ({"raw": text}, text) if cut else ({}, None)
            return ToolCallRequest(self.id, self.name, arguments, raw)
        return parse_tool_call(self.id, self.name, text)


class CallTable:
    """The calls of one answer, in the order the model made them."""

    def __init__(self) -> None:
        self.calls: List[OpenCall] = []
        self._by_index: Dict[Any, OpenCall] = {}
        self._by_id: Dict[str, OpenCall] = {}

    def take(self, entry: Mapping[str, Any], position: int, siblings: int) -> Optional[OpenCall]:
        """The call that ``entry`` belongs to, opened if need be; its id and name are noted.

        ``entry`` is number ``position`` of ``siblings`` entries of one delta. None for a
        fragment that no call is open for.
        """
        id = _usable(entry, "id")
        function = entry.get("function")
        name = _usable(function, "name") if isinstance(function, dict) else ""
        index = entry.get("index")
        if isinstance(index, (int, str)):
            call = self._at_index(index, id, name)
        elif id:
            call = self._by_id.get(id) or self._open()
        else:
            found = self._at_position(name, position, siblings)
            if found is None:
                return None
            call = found
        if id and not call.given_id:
            call.given_id = id
            self._by_id[id] = call
        call.name = call.name or name
        extra = mend_value(entry.get("extra_content"))
        if extra:
            call.metadata["extra_content"] = extra
        return call

    def _open(self) -> OpenCall:
        call = OpenCall()
        self.calls.append(call)
        return call

    def _at_index(self, index: Any, id: str, name: str) -> OpenCall:
        call = self._by_index.get(index)
        if call is not None and id and call.given_id and id != call.given_id:
            # Gateways give several calls the same index; old vLLM gives each fragment of a
            # call an id of its own. A fragment has no name and follows unfinished arguments.
            call = self._by_id.get(id) or (None if name or call.is_whole else call)
        elif call is not None and not id and name and call.name:
            # Without an id, a repeated name is a new call once the last one is whole.
            repeated = name == call.name and (call.given_id or not call.is_whole)
            call = call if repeated else None
        if call is None:
            call = self._open()
        self._by_index[index] = call
        return call

    def _at_position(self, name: str, position: int, siblings: int) -> Optional[OpenCall]:
        """Neither index nor id: a name opens a call, anything else goes on with one."""
        last = self.calls[-1] if self.calls else None
        if name and (last is None or last.name):
            return self._open()
        if siblings > 1 and position < len(self.calls):
            return self.calls[position]
        return last


def _usable(value: Mapping[str, Any], key: str) -> str:
    """A usable id or name; Mistral's placeholder for none is the word null."""
    found = word(value, key)
    return "" if found == "null" else found
