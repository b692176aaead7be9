"""The tools that a query offers to the model."""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING, Mapping, Optional

from jpq.config.load import Config
from jpq.conversation.event import ToolResponse
from jpq.errors import UsageError
from jpq.store.reading import SavedConversation
from jpq.tools.toolset import Toolset

if TYPE_CHECKING:
    from jpq.tools.definition import Tool


def offered_toolset(
    args: argparse.Namespace,
    config: Config,
    cwd: str,
    others: Optional[Mapping[str, Tool]] = None,
    *,
    known: bool = True,
) -> Toolset:
    """The tools that the configuration and ``-t`` choose. Raises UsageError, ConfigError.

    ``others`` are those of MCP servers. While these start, they are not ``known`` yet, and a
    name may be theirs.
    """
    toolset = Toolset({})
    if config.table("tools") or config["active_tools"] or others:
        # Of no use to a question without tools.
        registry = importlib.import_module("jpq.tools.registry")
        strict = bool(args.tool) and known
        toolset = registry.build_toolset(config, cwd, strict=strict, others=others or {})
    if known:
        _check_choice(args.tool_choice, toolset)
    return toolset


def tools_showed_something(saved: SavedConversation) -> bool:
    """Whether results in ``saved`` hold pictures or PDFs, which its model may refuse."""
    return any(
        isinstance(entry.event, ToolResponse) and "attachments" in entry.metadata
        for entry in saved.stream.entries
    )


def _check_choice(choice: Optional[str], toolset: Toolset) -> None:
    if choice in (None, "auto", "none"):
        return
    if not toolset.tools or (choice != "required" and choice not in toolset.tools):
        offered = ", ".join(toolset.tools) or "none"
        raise UsageError(
            f"--tool-choice {choice} needs a tool that is offered.",
            hint=f"Offered here: {offered}. A builtin is offered with -t NAME.",
        )
