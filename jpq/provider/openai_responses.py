"""The Responses API of OpenAI, and of the servers that imitate it."""

from __future__ import annotations

from typing import Any, Iterator

from jpq.events.parts import StreamEvent
from jpq.provider.base import Decoder, ProviderRow
from jpq.provider.openai_responses_decoder import ResponsesDecoder
from jpq.provider.openai_responses_encoder import encode

__all__ = ["FRAMING", "encode", "make_decoder", "read_response"]

FRAMING = "sse"
# Many servers imitate only the older API.
NOT_FOUND_HINT = (
    "Check the model's name and base_url. If the server knows only chat completions: "
    'jpq config set providers.{name}.api "openai-chat"'
)


def make_decoder(row: ProviderRow) -> Decoder:
    """A decoder for one streamed reply."""
    return ResponsesDecoder(row.name)


def read_response(value: Any, row: ProviderRow) -> Iterator[StreamEvent]:
    """The events of a reply that was not streamed; raises StreamError as the decoder does."""
    return ResponsesDecoder(row.name).feed_whole(value)
