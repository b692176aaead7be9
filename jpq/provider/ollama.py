"""The chat API of Ollama, ``/api/chat``: one JSON object a line."""

from __future__ import annotations

from typing import Any, Iterator

from jpq.events.parts import StreamEvent
from jpq.provider.base import Decoder, ProviderRow
from jpq.provider.ollama_decoder import OllamaDecoder
from jpq.provider.ollama_encoder import encode

__all__ = ["FRAMING", "encode", "make_decoder", "read_response"]

FRAMING = "ndjson"


def make_decoder(row: ProviderRow) -> Decoder:
    """A decoder for one streamed reply."""
    return OllamaDecoder(row.name)


def read_response(value: Any, row: ProviderRow) -> Iterator[StreamEvent]:
    """The events of a reply that was not streamed; raises StreamError as the decoder does."""
    return OllamaDecoder(row.name).feed_whole(value)
