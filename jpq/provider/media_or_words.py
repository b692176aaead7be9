"""MediaOrWords: sends the pictures and PDFs of results, and names them to a model that refuses.

Of many models nobody knows whether they see. A person who attaches a picture is told so by the
provider; a picture that a tool gave must not end the turn, nor the conversation that keeps it.
"""

from __future__ import annotations

import re
from typing import Set

from jpq.conversation.thread import Thread, ThreadToolResult
from jpq.errors import ErrorKind, StreamError
from jpq.provider.base import Exchange, Provider, ProviderRequest
from jpq.provider.second_way import SecondWay
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
        return SecondWay(
            self._provider.exchange(request),
            lambda: self._provider.exchange(in_words),
            _is_about_media,
            helped=lambda: self.blind.add(request.model),
        )


def _has_media(thread: Thread) -> bool:
    blocks = (block for message in thread.messages for block in message.blocks)
    return any(isinstance(block, ThreadToolResult) and block.attached for block in blocks)


def _is_about_media(error: StreamError) -> bool:
    if error.kind is ErrorKind.INVALID_REQUEST:
        return True  # whatever it says: there is nothing to lose
    about = re.search(_ABOUT_MEDIA, error.message, re.IGNORECASE)
    return about is not None and error.kind in (ErrorKind.SERVER, ErrorKind.NOT_FOUND)
