"""Sampling: lets a server ask the run's own model, through the run's own provider."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping

from jpq.conversation.thread import ASSISTANT, USER, Message, Thread, ThreadText
from jpq.events.transcript import Transcript
from jpq.mcp.content import part_text
from jpq.mcp.protocol import Json, table, text_of
from jpq.provider.base import ModelRef, Provider, ProviderRequest

_STOP_REASONS = {"stop": "endTurn", "length": "maxTokens"}


def sampler_of(
    provider: Provider, model: ModelRef, options: Mapping[str, Any]
) -> Callable[[Json], Json]:
    """A function from the params of ``sampling/createMessage`` to its result.

    Called on worker threads. Raises StreamError.
    """

    def sample(params: Json) -> Json:
        request = ProviderRequest(
            model=model.model, thread=_thread(params), options=_options(params, options)
        )
        response = Transcript(model.model).drain(provider.exchange(request).events())
        return {
            "role": "assistant",
            "content": {"type": "text", "text": response.text},
            "model": response.model or str(model),
            "stopReason": _STOP_REASONS.get(response.stop_reason, "endTurn"),
        }

    return sample


def _options(params: Json, options: Mapping[str, Any]) -> Dict[str, Any]:
    """The run's options, and the limits that the server sets."""
    own = dict(options)
    if isinstance(params.get("maxTokens"), int):
        own["max_tokens"] = params["maxTokens"]
    if isinstance(params.get("temperature"), (int, float)):
        own["temperature"] = params["temperature"]
    return own


def _thread(params: Json) -> Thread:
    """The server's messages; roles that repeat are one message, as every API wants it."""
    messages: List[Message] = []
    for message in params.get("messages") or []:
        role = ASSISTANT if table(message).get("role") == "assistant" else USER
        content = table(message).get("content")
        parts = content if isinstance(content, list) else [content]
        text = "\n\n".join(filter(str.strip, map(part_text, parts)))
        if not text:
            continue
        block = ThreadText(text)
        if messages and messages[-1].role == role:
            messages[-1] = Message(role, (*messages[-1].blocks, block))
        else:
            messages.append(Message(role, (block,)))
    return Thread(text_of(params.get("systemPrompt")), tuple(messages))
