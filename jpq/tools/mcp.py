"""Tools of MCP servers: each is offered as ``SERVER/TOOL`` and called on its server."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional

from jpq.config.load import Config
from jpq.config.nested import join_name
from jpq.interrupt.cancel import CancelToken
from jpq.mcp.client import Call
from jpq.mcp.content import progress_text, result_text
from jpq.mcp.failure import McpCancelled, McpClosed, McpError
from jpq.mcp.protocol import Json, table, text_of
from jpq.mcp.servers import RunningServer
from jpq.tools.arguments import ArgumentCheck
from jpq.tools.definition import (
    STOPPED,
    UNATTENDED,
    Invocation,
    Progress,
    Tool,
    ToolOutput,
    ToolSpec,
)
from jpq.tools.mcp_content import Parts
from jpq.tools.mcp_host import CallHost, Sampler

_NO_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}
# What a server says of its tool, and what that is in words. Its word is not proof.
_HINTS = (
    ("readOnlyHint", True, "only reads"),
    ("destructiveHint", True, "may destroy something"),
    ("idempotentHint", True, "may be repeated safely"),
    ("openWorldHint", True, "reaches other systems"),
)


def mcp_tools(
    servers: Iterable[RunningServer], config: Config, cwd: str, sampler: Optional[Sampler] = None
) -> Dict[str, Tool]:
    """The tools of ``servers`` that run, by their names ``SERVER/TOOL``.

    ``[tools."SERVER/TOOL"]`` sets modes and limits of one; ``sampler`` answers servers that
    want to ask a model.
    """
    tools: Dict[str, Tool] = {}
    for server in servers:
        for described in server.tools:
            tool = McpTool(_spec(server, described, config), cwd, server, described, sampler)
            tools.setdefault(tool.spec.name, tool)
    return tools


class McpTool(Tool):
    """One tool of one server."""

    stops_within_s = 0.5

    def __init__(
        self,
        spec: ToolSpec,
        cwd: str,
        server: RunningServer,
        described: Json,
        sampler: Optional[Sampler],
    ) -> None:
        super().__init__(spec, cwd)
        self._server = server
        self._described = described
        self._sampler = sampler
        schema = described.get("outputSchema")
        self._output = ArgumentCheck(spec.name, schema) if isinstance(schema, dict) else None

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """Where the tool is, and what its server says of it."""
        hints = table(self._described.get("annotations"))
        said = [words for key, value, words in _HINTS if hints.get(key) is value]
        line = f"a tool of the {self._server.settings.where}"
        return f"{line}, which says that it {', '.join(said)}" if said else line

    def beside_preview(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """All of them."""
        return arguments

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Call it. What the server asks meanwhile is put to the person."""
        so_far: List[str] = []

        def on_progress(params: Json) -> None:
            line = progress_text(params) + "\n"
            so_far.append(line)
            progress(line)

        where = self._server.settings.where
        host = CallHost(where, invocation.ask, self._sampler, self.cwd, cancel)
        call = Call(None, cancel, on_progress, host)
        try:
            name = text_of(self._described.get("name"))
            result = self._server.call_tool(name, invocation.arguments, call)
        except McpCancelled:
            return ToolOutput("".join(so_far), True, ended=STOPPED)
        except McpError as error:
            return ToolOutput(_told(error, so_far), True)
        parts = Parts()
        text, is_error = result_text(result, parts.text)
        attached = tuple(parts.attachments)
        complaint = None if is_error else self._complaint(result)
        if complaint is not None:
            return ToolOutput(f"{text}\n\n{complaint}", True, attachments=attached)
        told = text or "The tool gave an empty result."
        return ToolOutput(told, is_error, attachments=attached)

    def _complaint(self, result: Json) -> Optional[str]:
        """How the result breaks the schema that the server gave for it."""
        if self._output is None:
            return None
        if "structuredContent" not in result:
            return "The server promised structured content, and sent none."
        said = self._output.complaint(result["structuredContent"])
        return None if said is None else f"The result is not as the server promised: {said}"


def _told(error: McpError, so_far: List[str]) -> str:
    """An error for the model."""
    code = "" if error.code is None else f" ({error.code})"
    lines = [f"The {error.where or 'MCP server'} failed{code}: {error.message}"]
    if isinstance(error, McpClosed):
        lines.append("Whether the call was carried out is not known.")
    if so_far:
        lines.append(f"Its progress so far:\n{''.join(so_far)}")
    return "\n".join(lines)


def _spec(server: RunningServer, described: Json, config: Config) -> ToolSpec:
    settings = server.settings
    name = f"{server.name}/{described['name']}"
    own = config.table("tools").get(name, {})
    own = own if isinstance(own, dict) else {}
    title = text_of(described.get("title")) or text_of(
        table(described.get("annotations")).get("title")
    )
    return ToolSpec(
        name=name,
        source="mcp",
        description=own.get("description") or text_of(described.get("description")) or title,
        parameters=table(described.get("inputSchema")) or _NO_SCHEMA,
        run=own.get("run", settings.run),
        result=own.get("result", UNATTENDED),
        timeout_s=own.get("timeout_s", settings.timeout_s),
        max_output_bytes=config[join_name(("tools", name, "max_output_bytes"))],
        display_name=table(own.get("display")).get("name", ""),
        title=table(own.get("display")).get("title", ""),
        settings=own,
    )
