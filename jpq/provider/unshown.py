"""What a reply can hold beside text, reasoning and calls, which jpq keeps but cannot show."""

from __future__ import annotations

from typing import Any, Iterable, List, Mapping

from jpq.events.transcript import Block, OpaqueBlock

# How Anthropic and OpenAI end the types of what their own tools do and bring
# (server_tool_use, web_search_tool_result, image_generation_call).
_WORK = ("_tool_use", "_tool_result", "_call", "_call_output")
# Pictures of chat completions and Ollama; parts of Gemini's that are neither text nor call.
_KEYS = ("images", "inlineData", "fileData", "executableCode", "codeExecutionResult")


def unshown(blocks: Iterable[Block]) -> List[str]:
    """The names that the provider has for such things in ``blocks``, each once."""
    names = [_name(block.data) for block in blocks if isinstance(block, OpaqueBlock)]
    return list(dict.fromkeys(filter(None, names)))


def _name(data: Mapping[str, Any]) -> str:
    kind = data.get("type")
    if isinstance(kind, str):
        return kind if kind.endswith(_WORK) else ""
    return next((key for key in _KEYS if data.get(key)), "")
