"""MediaOrWords: sends the pictures and PDFs of results, and names them to a model that refuses.

Of many models nobody knows whether they see. A person who attaches a picture is told so by the
provider; a picture that a tool gave must not end the turn, nor the conversation that keeps it.
"""

from __future__ import annotations

import re
import threading
from typing import Callable, Iterator, Set

from jpq.conversation.thread import Thread, ThreadToolResult
from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import StreamEvent
from jpq.provider.base import Exchange, Provider, ProviderRequest
from jpq.provider.wire_thread import results_in_words

# What servers say that are asked to look (llama.cpp, OpenRouter, Ollama, vLLM and others).
_ABOUT_MEDIA = r"image|vision|multi-?modal|mmproj|modalit|document|\bpdf\b"


class MediaOrWords:
    """Opens exchanges of ``provider``. Main thread."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.blind: Set[str] = set()  # models that were seen to refuse

    def exchange(self, request: ProviderRequest) -> Exchange:
        """An exchange whose request is made once more, in words, where it is refused for what
        tools gave."""
        if not _has_media(request.thread):
            return self._provider.exchange(request)
        in_words = request._replace(thread=results_in_words(request.thread))
        if request.model in self.blind:
            return self._provider.exchange(in_words)
        first, second = self._provider.exchange(request), self._provider.exchange(in_words)
        return _TwoWays(first, second, lambda: self.blind.add(request.model))


class _TwoWays:
    """``first``, and ``second`` after a refusal. ``refused`` is called once that helped."""

    def __init__(self, first: Exchange, second: Exchange, refused: Callable[[], None]) -> None:
        self._current = first
        self._second = second
        self._refused = refused
        self._lock = threading.Lock()  # guards _current and _aborted
        self._aborted = False

    @property
    def ending(self) -> bool:
        return self._current.ending

    def events(self) -> Iterator[StreamEvent]:
        begun = False
        try:
            for event in self._current.events():
                begun = True
                yield event
            return
        except StreamError as error:
            if begun or not _is_about_media(error) or not self._turn():
                raise
        for event in self._current.events():
            if not begun:
                self._refused()
            begun = True
            yield event

    def abort(self) -> None:
        with self._lock:
            self._aborted = True
            current = self._current
        current.abort()

    def _turn(self) -> bool:
        """Whether the second way is still wanted, which is the current one then."""
        with self._lock:
            self._current = self._second
            return not self._aborted


def _has_media(thread: Thread) -> bool:
    blocks = (block for message in thread.messages for block in message.blocks)
    return any(isinstance(block, ThreadToolResult) and block.attached for block in blocks)


def _is_about_media(error: StreamError) -> bool:
    if error.kind is ErrorKind.INVALID_REQUEST:
        return True  # whatever it says: there is nothing to lose
    about = re.search(_ABOUT_MEDIA, error.message, re.IGNORECASE)
    return about is not None and error.kind in (ErrorKind.SERVER, ErrorKind.NOT_FOUND)
