"""Sampling: lets a server ask the run's own model, through the run's own provider."""

from __future__ import annotations

import queue
import threading
from typing import Any, Dict, Iterator, List, Mapping

from jpq.conversation.thread import USER, Message, Thread, ThreadBlock, ThreadText, block_of
from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import INTERRUPTED, StreamEvent
from jpq.events.transcript import ChatResponse, Transcript
from jpq.interrupt.cancel import CancelToken
from jpq.mcp.content import message_texts
from jpq.mcp.failure import McpCancelled
from jpq.mcp.protocol import Json, text_of
from jpq.provider.base import Exchange, ModelRef, Provider, ProviderRequest
from jpq.tools.mcp_content import Parts
from jpq.tools.mcp_host import Sampler

_STOP_REASONS = {"stop": "endTurn", "length": "maxTokens"}
_JOIN_S = 1.0


def sampler_of(
    provider: Provider, model: ModelRef, options: Mapping[str, Any], idle_timeout_s: float
) -> Sampler:
    """A function from the params of ``sampling/createMessage`` to its result.

    Called on worker threads. Raises StreamError, and McpCancelled where the token given
    with the params says so; a model that says nothing for ``idle_timeout_s`` is given up.
    """

    def sample(params: Json, cancel: CancelToken) -> Json:
        request = ProviderRequest(
            model=model.model, thread=_thread(params), options=_options(params, options)
        )
        response = _answer(provider.exchange(request), model, cancel, idle_timeout_s)
        return {
            "role": "assistant",
            "content": {"type": "text", "text": response.text},
            "model": response.model or str(model),
            "stopReason": _STOP_REASONS.get(response.stop_reason, "endTurn"),
        }

    return sample


def _answer(
    exchange: Exchange, model: ModelRef, cancel: CancelToken, idle_timeout_s: float
) -> ChatResponse:
    """The whole answer, read on a thread of its own, whose silence this one can end."""
    came: queue.SimpleQueue[Any] = queue.SimpleQueue()  # events, an exception, None at the end

    def read() -> None:
        try:
            for event in exchange.events():
                came.put(event)
        except Exception as error:  # a thread's top: raised again by who waits
            came.put(error)
        came.put(None)

    reader = threading.Thread(target=read, name="jpq-mcp-sampling", daemon=True)
    reader.start()
    try:
        with cancel.calling(exchange.abort):
            response = Transcript(model.model).drain(_events(came, cancel, idle_timeout_s))
    finally:
        exchange.abort()
        reader.join(_JOIN_S)
    if response.stop_reason == INTERRUPTED:
        raise StreamError(ErrorKind.CUT, "The model's answer was cut off.")
    return response


def _events(
    came: queue.SimpleQueue[Any], cancel: CancelToken, idle_timeout_s: float
) -> Iterator[StreamEvent]:
    while True:
        try:
            item = came.get(timeout=idle_timeout_s)
        except queue.Empty:
            told = f"The model sent nothing for {idle_timeout_s:g} seconds."
            raise StreamError(ErrorKind.STALLED, told) from None
        if cancel.cancelled:
            raise McpCancelled("The question to the model was cancelled.")
        if item is None:
            return
        if isinstance(item, Exception):
            raise item
        yield item


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
    parts = Parts()
    taken = 0
    for role, text in message_texts(params.get("messages"), parts.text):
        blocks: List[ThreadBlock] = [ThreadText(text)]
        if role == USER:  # no model says pictures
            blocks += map(block_of, parts.attachments[taken:])
        taken = len(parts.attachments)
        if messages and messages[-1].role == role:
            messages[-1] = Message(role, (*messages[-1].blocks, *blocks))
        else:
            messages.append(Message(role, tuple(blocks)))
    return Thread(text_of(params.get("systemPrompt")), tuple(messages))
