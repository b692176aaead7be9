"""How many tokens a thread will take, estimated without knowing the model.

Four bytes of UTF-8 are one token, each block costs four more, and a picture or a document
counts a thousand. English text is rarely off by more than a quarter; what matters is that
two threads compare rightly.
"""

from __future__ import annotations

from typing import Any

from jpq.conversation.entry import to_json_bytes
from jpq.conversation.thread import (
    Thread,
    ThreadOpaque,
    ThreadReasoning,
    ThreadText,
    ThreadToolCall,
    ThreadToolResult,
)

BYTES_A_TOKEN = 4
_BLOCK = 4
_ATTACHMENT = 1000


def estimate_tokens(thread: Thread) -> int:
    """The tokens of everything that is sent, the system prompt among them."""
    blocks = (block for message in thread.messages for block in message.blocks)
    return tokens_of(thread.system) + sum(map(_tokens_of_block, blocks))


def tokens_of(text: str) -> int:
    """The tokens of a text; a begun one counts."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_A_TOKEN)


def _tokens_of_block(block: Any) -> int:
    if isinstance(block, (ThreadText, ThreadReasoning)):
        return _BLOCK + tokens_of(block.text) + _tokens_of_data(block.opaque)
    if isinstance(block, ThreadToolCall):
        own = tokens_of(block.name) + _tokens_of_data(block.arguments)
        return _BLOCK + own + _tokens_of_data(block.opaque)
    if isinstance(block, ThreadToolResult):
        return _BLOCK + tokens_of(block.content) + _ATTACHMENT * len(block.attached)
    if isinstance(block, ThreadOpaque):
        return _BLOCK + _tokens_of_data(block.data)
    return _BLOCK + _ATTACHMENT


def _tokens_of_data(data: Any) -> int:
    return -(-len(to_json_bytes(data)) // BYTES_A_TOKEN) if data else 0
