"""Names of tools as APIs take them: valid, unique, the same every time, and taken back."""

from __future__ import annotations

import re
from typing import Any, List

from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.thread import (
    ASSISTANT,
    USER,
    Message,
    Thread,
    ThreadText,
    ThreadToolCall,
    ThreadToolResult,
)
from jpq.events.parts import Finished, Part, ToolCallRequest, ToolCallStarted
from jpq.provider.base import ProviderRequest, ToolDefinition
from jpq.provider.tool_names import RenamedTools, wire_names

TAKEN_EVERYWHERE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@given(st.lists(st.text(max_size=80)))
def test_any_names_become_valid_and_unique_ones(names: List[str]) -> None:
    found = wire_names(names)
    assert set(found) == set(names)
    assert len(set(found.values())) == len(set(names))
    assert all(TAKEN_EVERYWHERE.fullmatch(name) for name in found.values())
    assert found == wire_names(names)


def test_a_name_that_is_valid_stays_whoever_else_wants_it() -> None:
    names = ["files/read.file", "files_read_file", "files/read/file", "3d/show"]
    assert wire_names(names) == {
        "files_read_file": "files_read_file",
        "files/read.file": "files_read_file_2",
        "files/read/file": "files_read_file_3",
        "3d/show": "_3d_show",
    }


class Calling:
    """A provider whose model calls what it is told of first."""

    ending = False

    def __init__(self) -> None:
        self.request: Any = None

    def exchange(self, request: ProviderRequest) -> Any:
        self.request = request
        return self

    def events(self) -> Any:
        name = self.request.tools[0].name
        yield ToolCallStarted(0, "c", name)
        yield Part(0, ToolCallRequest("c", name, {}))
        yield ToolCallStarted(1, "d", "made_up")
        yield Finished("tool_calls")


def test_the_model_sees_one_name_and_everybody_else_the_other() -> None:
    name = "files/read"
    thread = Thread(
        "",
        (
            Message(USER, (ThreadText("hi"),)),
            Message(ASSISTANT, (ThreadToolCall("a", name, {}),)),
            Message(USER, (ThreadToolResult("a", name, "done", False),)),
        ),
    )
    provider: Any = Calling()
    request = ProviderRequest("m", thread, tools=(ToolDefinition(name, "", {}),), tool_choice=name)
    events = list(RenamedTools(provider).exchange(request).events())
    seen = provider.request
    assert (seen.tools[0].name, seen.tool_choice) == ("files_read", "files_read")
    blocks = [block for message in seen.thread.messages[1:] for block in message.blocks]
    assert [block.name for block in blocks] == ["files_read", "files_read"]
    assert [event.name for event in events if isinstance(event, ToolCallStarted)] == [
        name,
        "made_up",
    ]
    (call,) = [event.payload for event in events if isinstance(event, Part)]
    assert call == ToolCallRequest("c", name, {})
