"""RenamedTools: gives each tool on offer a name that every API takes, and takes it back.

APIs take up to 64 letters, digits, ``_`` and ``-``, and Google wants no digit first. The tools
of MCP servers are called ``SERVER/TOOL``, and what servers call their tools is up to them.
"""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, Mapping

from jpq.conversation.thread import Thread, ThreadBlock, ThreadToolCall, ThreadToolResult
from jpq.events.parts import Part, StreamEvent, ToolCallRequest, ToolCallStarted
from jpq.provider.base import Exchange, Progress, Provider, ProviderRequest
from jpq.provider.media_or_words import MediaOrWords
from jpq.provider.wire_names import valid_name

_LONGEST = 64


def wire_names(names: Iterable[str]) -> Dict[str, str]:
    """The valid and unique name that stands for each of ``names``, always the same ones."""
    offered = list(dict.fromkeys(names))
    found = {name: name for name in offered if _valid(name) == name}
    taken = set(found)
    for name in offered:
        if name in found:
            continue
        candidate, number = _valid(name), 1
        while candidate in taken:
            number += 1
            ending = f"_{number}"
            candidate = _valid(name)[: _LONGEST - len(ending)] + ending
        found[name] = candidate
        taken.add(candidate)
    return found


def _valid(name: str) -> str:
    valid = valid_name(name)
    return valid_name("_" + valid) if valid[0].isdigit() or valid[0] == "-" else valid


class RenamedTools:
    """A Provider whose model knows tools by their wire names; everybody else by their own."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._exchanges = MediaOrWords(provider)

    def prepare(self, model: str, progress: Progress) -> None:
        """As the provider does."""
        self._provider.prepare(model, progress)

    def close(self) -> None:
        """Close the provider."""
        self._provider.close()

    def exchange(self, request: ProviderRequest) -> Exchange:
        """The provider's exchange, with the names changed on the way there and back."""
        names = wire_names(tool.name for tool in request.tools)
        renamed = request._replace(
            thread=_renamed(request.thread, names),
            tools=tuple(tool._replace(name=names[tool.name]) for tool in request.tools),
            tool_choice=names.get(request.tool_choice or "", request.tool_choice),
        )
        own = {wire: name for name, wire in names.items()}
        return _RenamedExchange(self._exchanges.exchange(renamed), own)


class _RenamedExchange:
    def __init__(self, exchange: Exchange, own: Mapping[str, str]) -> None:
        self._exchange = exchange
        self._own = own

    @property
    def ending(self) -> bool:
        return self._exchange.ending

    def events(self) -> Iterator[StreamEvent]:
        own = self._own
        for event in self._exchange.events():
            if isinstance(event, ToolCallStarted):
                event = event._replace(name=own.get(event.name, event.name))
            elif isinstance(event, Part) and isinstance(event.payload, ToolCallRequest):
                call = event.payload
                event = event._replace(payload=call._replace(name=own.get(call.name, call.name)))
            yield event

    def abort(self) -> None:
        self._exchange.abort()


def _renamed(thread: Thread, names: Mapping[str, str]) -> Thread:
    def block(each: ThreadBlock) -> ThreadBlock:
        if isinstance(each, (ThreadToolCall, ThreadToolResult)):
            return each._replace(name=names.get(each.name, each.name))
        return each

    messages = (
        message._replace(blocks=tuple(map(block, message.blocks))) for message in thread.messages
    )
    return thread._replace(messages=tuple(messages))
