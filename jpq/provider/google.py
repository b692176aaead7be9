"""The Gemini API of Google, on ai.google.dev and on Vertex AI."""

from __future__ import annotations

from typing import Any, Iterator

from jpq.events.parts import StreamEvent
from jpq.provider.base import Decoder, ProviderRow
from jpq.provider.google_decoder import GeminiDecoder
from jpq.provider.google_encoder import encode

__all__ = ["FRAMING", "encode", "make_decoder", "read_response"]

FRAMING = "sse"


def make_decoder(row: ProviderRow) -> Decoder:
    """A decoder for one streamed reply."""
    return GeminiDecoder(row.name)


def read_response(value: Any, row: ProviderRow) -> Iterator[StreamEvent]:
    """The events of a reply that was not streamed; raises StreamError as the decoder does.

    ``value`` may be a list: without ``alt=sse`` the chunks of a stream come as one.
    """
    return GeminiDecoder(row.name).feed_whole(value)
