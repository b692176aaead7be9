"""The client that the public conformance suite tests: jpq.mcp, driven as each scenario wants.

The suite runs ``python client.py URL`` with the scenario's name and data in the environment.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, Optional

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
sys.path.insert(0, ROOT)

from jpq.mcp.client import Client  # noqa: E402
from jpq.mcp.host import Host  # noqa: E402
from jpq.mcp.http import HttpTransport  # noqa: E402
from jpq.mcp.http_fetch import Fetcher  # noqa: E402
from jpq.mcp.oauth import ClientIdentity, OAuth  # noqa: E402
from jpq.mcp.oauth_tokens import TokenStore  # noqa: E402
from jpq.mcp.protocol import Json  # noqa: E402

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION")
CONTEXT: Dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
# The address under which the suite's authorization servers expect to find a client's document.
DOCUMENT_URL = "https://conformance-test.local/client-metadata.json"


class Agreeable(Host):
    """Says yes to everything, as the suite's scenarios expect."""

    elicits = True
    samples = True

    def elicit(self, params: Json) -> Json:
        confirms = SCENARIO.startswith("sep-2322")
        return {"action": "accept", "content": {"confirmed": True} if confirms else {}}

    def sample(self, params: Json) -> Json:
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}


class Redirected:
    """Takes the suite's login page at its word: it sends everybody back at once."""

    redirect_uri = "http://127.0.0.1:8765/callback"

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    def visit(self, url: str) -> str:
        return self._fetcher.get(url, {}).headers.get("Location", "")


def log(line: str) -> None:
    print(line, file=sys.stderr)


def authorizer(url: str) -> Optional[OAuth]:
    if not SCENARIO.startswith("auth/"):
        return None
    fetcher = Fetcher()
    identity = ClientIdentity(
        CONTEXT.get("client_id", ""), CONTEXT.get("client_secret", ""), DOCUMENT_URL
    )
    modern = VERSION != "2025-11-25"
    visitor = Redirected(fetcher)
    return OAuth(url, TokenStore(), fetcher, visitor, identity=identity, modern=modern, log=log)


def arguments_for(tool: Json) -> Json:
    return {"a": 2, "b": 3} if "add" in tool["name"] else {}


def play(client: Client) -> None:
    tools = client.tools()
    if SCENARIO in ("initialize", "json-schema-ref-no-deref", "request-metadata"):
        return
    if SCENARIO == "json-schema-2020-12-preservation":
        tool = next(each for each in tools if each["name"] == "json_schema_2020_12_tool")
        client.call_tool("json_schema_echo", {"schema": tool["inputSchema"]})
    elif SCENARIO.startswith("http-") and CONTEXT.get("toolCalls"):
        for call in CONTEXT["toolCalls"]:
            client.call_tool(call["name"], call["arguments"])
    else:
        for tool in tools:
            client.call_tool(tool["name"], arguments_for(tool))
    if SCENARIO == "http-standard-headers":
        for resource in client.resources():
            client.read_resource(resource["uri"])
        for prompt in client.prompts():
            client.get_prompt(prompt["name"])


def main(url: str) -> None:
    transport = HttpTransport(url, authorizer=authorizer(url), log=log)
    with Client(transport, Agreeable([os.getcwd()]), version=VERSION, log=log) as client:
        play(client)


if __name__ == "__main__":
    main(sys.argv[-1])
