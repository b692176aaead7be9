"""ScriptedProvider: answers from a file, for demonstrations, documentation and tests.

Its replies become the bytes of a real chat completion stream and are read by the same
framing and decoder as everybody else's.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from jpq.conversation.thread import Message, Thread, ThreadText
from jpq.errors import ConfigError
from jpq.events.parts import StreamEvent
from jpq.provider import openai_chat
from jpq.provider.base import Progress, ProviderRequest, ProviderRow
from jpq.provider.failure import from_status
from jpq.provider.scripted_reply import Reply, load_script
from jpq.wire import sse

_USAGE = {
    "input_tokens": ("prompt_tokens",),
    "output_tokens": ("completion_tokens",),
    "reasoning_tokens": ("completion_tokens_details", "reasoning_tokens"),
    "cache_read_tokens": ("prompt_tokens_details", "cached_tokens"),
    "cache_write_tokens": ("prompt_tokens_details", "cache_write_tokens"),
}


class ScriptedProvider:
    """A Provider whose script is the file ``row.base_url``, else the one the model names.

    Main thread.
    """

    def __init__(self, row: ProviderRow) -> None:
        self._row = row
        self._scripts: Dict[str, List[Reply]] = {}
        self._failures: Dict[Tuple[str, int], int] = {}

    def prepare(self, model: str, progress: Progress) -> None:
        """Read the script. Raises ConfigError."""
        self._replies(model)

    def exchange(self, request: ProviderRequest) -> ScriptedExchange:
        """A new exchange with the reply that is due. Raises ConfigError if there is none."""
        replies = self._replies(request.model)
        number = due_reply(replies, request.thread)
        if number is None:
            raise ConfigError(
                "The script has no reply to that.",
                where=self._path(request.model),
                hint="Give it a [[reply]] without match.",
            )
        reply = replies[number]
        if reply.fails is not None:
            count = self._failures.get((request.model, number), 0)
            self._failures[request.model, number] = count + 1
            if count >= reply.fails:
                reply = reply.without_fault()
        return ScriptedExchange(reply, request, self._row)

    def close(self) -> None:
        """Nothing: a script that was read is closed."""

    def _path(self, model: str) -> str:
        return self._row.base_url or model

    def _replies(self, model: str) -> List[Reply]:
        if model not in self._scripts:
            self._scripts[model] = load_script(self._path(model))
        return self._scripts[model]


class ScriptedExchange:
    """One reply. ``events`` runs on a reader thread, ``abort`` on any."""

    def __init__(self, reply: Reply, request: ProviderRequest, row: ProviderRow) -> None:
        self.ending = False
        self._reply = reply
        self._request = request
        self._row = row
        self._aborted = threading.Event()

    def events(self) -> Iterator[StreamEvent]:
        """The reply at its own pace. Raises StreamError where the script says so."""
        reply = self._reply
        if reply.status is not None:
            wait = reply.retry_after_s
            headers = {} if wait is None else {"Retry-After": f"{wait:g}"}
            body = json.dumps({"error": reply.error or "The script says so."}).encode()
            raise from_status(reply.status, headers, body, self._row.name)
        decoder = openai_chat.make_decoder(self._row)
        for message in sse.messages(self._bytes()):
            yield from decoder.feed(message)
            self.ending = decoder.ending
            if decoder.done:
                return
        yield from decoder.close()

    def abort(self) -> None:
        """End ``events`` at once, whatever it waits for."""
        self._aborted.set()

    def _bytes(self) -> Iterator[bytes]:
        reply = self._reply
        for delta in self._deltas():
            if self._aborted.wait(reply.delay_s) if reply.delay_s else self._aborted.is_set():
                return
            yield self._event(choices=[{"index": 0, "delta": delta, "finish_reason": None}])
        if reply.stall:
            self._aborted.wait()
        if reply.stall or reply.cut:
            return
        if reply.error is not None:
            error = {"message": reply.error} if isinstance(reply.error, str) else reply.error
            yield self._event(error=error)
        yield self._event(choices=[{"index": 0, "delta": {}, "finish_reason": reply.finish}])
        if reply.usage:
            yield self._event(choices=[], usage=_chat_usage(reply.usage))
        yield b"data: [DONE]\n\n"

    def _event(self, **fields: Any) -> bytes:
        chunk = {"id": "scripted", "model": self._reply.model, **fields}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    def _deltas(self) -> Iterator[Dict[str, Any]]:
        thread = self._request.thread
        yield {"role": "assistant", "content": ""}
        for piece in self._reply.reasoning:
            yield {"reasoning_content": piece}
        said = _text(thread.messages[-1]) if thread.continues else ""
        for piece in _rest(self._reply.text, said):
            yield {"content": piece}
        for index, call in enumerate(self._reply.tool_calls):
            id = call.id or f"call_{_cycles(thread) + 1}_{index + 1}"
            function = {"name": call.name, "arguments": call.arguments}
            entry = {"index": index, "id": id, "type": "function", "function": function}
            yield {"tool_calls": [entry]}


def due_reply(replies: Sequence[Reply], thread: Thread) -> Optional[int]:
    """The number of the reply that ``thread`` gets, or None.

    Replies whose ``match`` is found in the last question are given in order, one for each
    cycle since it was asked; where there are none, those without ``match``, one for each
    cycle of the conversation. The last one repeats. What is due depends on the thread
    alone, so a new process goes on where the last one stopped.
    """
    asked = [n for n, m in enumerate(thread.messages) if m.role == "user" and _text(m)]
    question = _text(thread.messages[asked[-1]]) if asked else ""
    matching = [n for n, r in enumerate(replies) if r.match and r.match.search(question)]
    if matching:
        since = thread._replace(messages=thread.messages[asked[-1] if asked else 0 :])
        return matching[min(_cycles(since), len(matching) - 1)]
    plain = [n for n, reply in enumerate(replies) if reply.match is None]
    return plain[min(_cycles(thread), len(plain) - 1)] if plain else None


def _cycles(thread: Thread) -> int:
    """How many answers the thread holds; one that is being continued does not count."""
    answers = sum(message.role == "assistant" for message in thread.messages)
    return answers - 1 if thread.continues and answers else answers


def _text(message: Message) -> str:
    return "\n\n".join(block.text for block in message.blocks if isinstance(block, ThreadText))


def _rest(pieces: Sequence[str], said: str) -> Iterator[str]:
    """The pieces that go on after ``said``, or all of them if it is not their beginning."""
    if not "".join(pieces).startswith(said):
        said = ""
    for piece in pieces:
        rest = piece[len(said) :]
        said = said[len(piece) :]
        if rest:
            yield rest


def _chat_usage(usage: Mapping[str, int]) -> Dict[str, Any]:
    """``usage`` in the names of chat completions."""
    written: Dict[str, Any] = {}
    for name, count in usage.items():
        *outer, field = _USAGE.get(name, (name,))
        holder = written.setdefault(outer[0], {}) if outer else written
        holder[field] = count
    return written
