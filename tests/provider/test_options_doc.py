"""docs/providers.md says where each option goes; the encoders are asked whether that is so."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, NamedTuple, Optional

import pytest

from jpq.conversation.thread import Message, Thread, ThreadText
from jpq.errors import ConfigError
from jpq.provider.base import ProviderRequest, ProviderRow, ToolDefinition
from jpq.provider.registry import load_api

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
VALUES: Dict[str, Any] = {
    "temperature": 0.25,
    "max_tokens": 77,
    "stop": "END",
    "reasoning_effort": "high",
    "reasoning_budget": 2_048,
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}},
    "parallel_tool_calls": False,
}
TOOL = ToolDefinition("look", "Looks", SCHEMA)
THREAD = Thread("", (Message("user", (ThreadText("Hi"),)),))


class Cell(NamedTuple):
    """What the table says of an option and an API."""

    option: str
    api: str
    text: str


def cells() -> List[Cell]:
    with open(os.path.join(ROOT, "docs", "providers.md"), encoding="utf-8") as file:
        section = file.read().partition("\n## Options\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    head, _, *lines = rows
    assert all(len(line) == len(head) for line in lines)
    return [
        Cell(line[0].strip("`"), api.strip(), text)
        for line in lines
        for api, text in zip(head[1:], line[1:])
    ]


def body(api: str, choice: Optional[str] = None, **options: Any) -> Dict[str, Any]:
    request = ProviderRequest("m", THREAD, (TOOL,), choice, options)
    row = ProviderRow("acme", api, "https://api.acme.test/v1")
    return dict(load_api(api).encode(request, row, None).body)


def with_option(api: str, option: str) -> Dict[str, Any]:
    if option == "--tool-choice":
        return body(api, "look")
    return body(api, **{option: VALUES[option]})


def test_the_table_has_every_option_and_api() -> None:
    assert {cell.option for cell in cells()} == {*VALUES, "--tool-choice"}
    assert {cell.api for cell in cells()} == {
        "openai-chat",
        "openai-responses",
        "anthropic",
        "google",
        "ollama",
    }


@pytest.mark.parametrize("cell", cells(), ids=lambda cell: f"{cell.option}-{cell.api}")
def test_each_option_goes_where_the_table_says(cell: Cell) -> None:
    if cell.text.startswith("refused"):
        with pytest.raises(ConfigError, match=cell.option):
            with_option(cell.api, cell.option)
        return
    sent, usual = with_option(cell.api, cell.option), body(cell.api)
    if cell.text.startswith("nothing"):
        assert sent == usual
        return
    path = re.match("`([^`]+)`", cell.text)
    assert path is not None
    assert at(sent, path[1]) is not None
    assert at(sent, path[1]) != at(usual, path[1])


def at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def test_a_named_tool_alone_is_offered_where_there_is_no_choice() -> None:
    assert "tools" in body("ollama", "look") and "tools" not in body("ollama", "none")


def test_servers_with_a_reasoning_object_are_told_effort_or_budget_in_it() -> None:
    row = ProviderRow("o", "openai-chat", "https://o.test/v1", quirks={"reasoning_object": True})
    options = {"reasoning_effort": "high", "reasoning_budget": 9, "reasoning": {"exclude": True}}
    request = ProviderRequest("m", THREAD, options=options)
    sent = load_api("openai-chat").encode(request, row, None).body
    assert sent["reasoning"] == {"max_tokens": 9, "exclude": True}  # it takes one of the two
    assert "reasoning_effort" not in sent
    del options["reasoning_budget"]
    request = ProviderRequest("m", THREAD, options=options)
    sent = load_api("openai-chat").encode(request, row, None).body
    assert sent["reasoning"] == {"effort": "high", "exclude": True}


def test_a_schema_for_anthropic_keeps_what_else_is_in_output_config() -> None:
    sent = body("anthropic", response_format=VALUES["response_format"], reasoning_effort="low")
    assert sent["output_config"] == {
        "effort": "low",
        "format": {"type": "json_schema", "schema": SCHEMA},
    }
    assert "output_config" not in body("anthropic", response_format={"type": "json_object"})
