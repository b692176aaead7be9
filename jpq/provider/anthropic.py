"""The Messages API of Anthropic, and of the servers that imitate it."""

from __future__ import annotations

from typing import Any, Iterator

from jpq.events.parts import StreamEvent
from jpq.provider.anthropic_decoder import MessagesDecoder
from jpq.provider.anthropic_encoder import encode
from jpq.provider.base import Decoder, ProviderRow

__all__ = ["FRAMING", "encode", "make_decoder", "read_response"]

FRAMING = "sse"


def make_decoder(row: ProviderRow) -> Decoder:
    """A decoder for one streamed reply."""
    return MessagesDecoder(row.name)


def read_response(value: Any, row: ProviderRow) -> Iterator[StreamEvent]:
    """The events of a reply that was not streamed; raises StreamError as the decoder does."""
    return MessagesDecoder(row.name).feed_whole(value)
