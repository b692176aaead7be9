"""What a reply can hold that jpq keeps but does not show."""

from __future__ import annotations

from typing import Any, Dict

import pytest

from jpq.events.transcript import OpaqueBlock, TextBlock
from jpq.provider.unshown import unshown


@pytest.mark.parametrize(
    "data, name",
    [
        ({"type": "image_generation_call", "result": "iVBORw0K"}, "image_generation_call"),
        ({"type": "server_tool_use", "id": "s1"}, "server_tool_use"),
        ({"type": "web_search_tool_result", "content": []}, "web_search_tool_result"),
        ({"images": ["iVBORw0K"]}, "images"),
        ({"inlineData": {"mimeType": "image/png", "data": ""}}, "inlineData"),
        ({"executableCode": {"code": "1"}, "thoughtSignature": "s"}, "executableCode"),
    ],
)
def test_pictures_and_the_work_of_a_provider_s_tools_are_named(
    data: Dict[str, Any], name: str
) -> None:
    assert unshown([OpaqueBlock(data), TextBlock("Hi"), OpaqueBlock(data)]) == [name]


@pytest.mark.parametrize(
    "data",
    [
        {"type": "redacted_thinking", "data": "x"},
        {"type": "reasoning", "encrypted_content": "x"},
        {"type": "compaction", "content": "x"},
        {"type": "mcp_list_tools", "tools": []},
        {"thought": True, "thoughtSignature": "s"},
        {"reasoning_details": [{"type": "reasoning.encrypted"}]},
        {"images": []},
        {"signature": "s"},
        {},
    ],
)
def test_reasoning_and_what_only_prepares_are_not(data: Dict[str, Any]) -> None:
    assert unshown([OpaqueBlock(data)]) == []
