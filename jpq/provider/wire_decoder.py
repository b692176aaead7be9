"""JsonDecoder: what the decoders of all APIs do with a message before they take it apart."""

from __future__ import annotations

import abc
import json
from typing import Any, Dict, Iterator, Mapping

from jpq.events import json_depth
from jpq.events.parts import KeepAlive, StreamEvent
from jpq.provider.failure import from_error_object
from jpq.provider.wire_reply import not_json
from jpq.wire.message import Message

_DONE = "[DONE]"
# json.loads looks for white space on both sides in a way that takes a fifth of its time.
_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"


class JsonDecoder(abc.ABC):
    """The beginning of a decoder (see ``jpq.provider.base.Decoder``) of messages that are JSON.

    ``where`` names the provider in errors. docs/providers.md lists what is decided.
    """

    def __init__(self, where: str = "") -> None:
        self.ending = False
        self.done = False
        self._where = where
        self._malformed = ""  # a message that is not JSON; only the last one may be

    def feed(self, message: Message) -> Iterator[StreamEvent]:
        """The events of one message; nothing more after the end of the answer."""
        if self.done:
            return iter(())
        if self._malformed:
            raise not_json(self._malformed, self._where)
        text = message.data.strip(_SPACE)
        try:
            json_depth.refuse_deep(text)
            value, end = _DECODER.raw_decode(text)
        except ValueError:
            return self._no_json(message)
        if end < len(text):
            return self._no_json(message)
        if isinstance(value, dict):
            return self._object(value, message.event)
        return self._no_object(value, message.event)

    @abc.abstractmethod
    def _object(self, value: Dict[str, Any], event: str) -> Iterator[StreamEvent]:
        """The events of an object, which came as ``event``."""

    def _no_object(self, value: Any, event: str) -> Iterator[StreamEvent]:
        """JSON of another kind: it matters only as an error, which Google wraps in a list."""
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value = value[0]
        if event == "error" or (isinstance(value, dict) and self._is_error(value)):
            raise from_error_object(value, where=self._where)
        return iter(())

    def _is_error(self, value: Mapping[str, Any]) -> bool:
        """Whether ``value`` stands in place of what the API sends."""
        return bool(value.get("error"))

    def _end_mark(self) -> Iterator[StreamEvent]:
        """``[DONE]``, which some servers send behind an answer."""
        return iter(())

    def _no_json(self, message: Message) -> Iterator[StreamEvent]:
        data = message.data.strip()
        if message.event == "error":
            raise from_error_object(data, where=self._where)
        if data == _DONE:
            return self._end_mark()
        if data.startswith(":"):
            return iter((KeepAlive(),))  # a gateway passed a comment on as data
        if not self.ending:
            # The last message of a stream may be cut; the next one shows that it is not.
            self._malformed = data
        return iter(())
