"""fetch_url: what is at a web address, as text."""

from __future__ import annotations

from typing import Any, Mapping
from urllib.parse import urlsplit

from jpq.interrupt.cancel import CancelToken
from jpq.tools.builtin.page_text import page_text
from jpq.tools.definition import STOPPED, Description, Invocation, Progress, Tool, ToolOutput
from jpq.tools.limits import capped
from jpq.tools.schema import json_schema
from jpq.tools.web import MAX_BODY_BYTES, Stopped, WebFailed, WebReply, send
from jpq.wire.message import HttpRequest

_PARAMETERS = {
    "url": {"type": "string", "description": "an http or https address", "required": True},
    "raw": {"type": "boolean", "description": "a web page as its HTML instead of its text"},
}
_ACCEPT = "text/html, text/plain, application/json, */*;q=0.5"
_TEXT_TYPES = ("json", "xml", "javascript", "yaml", "toml", "csv", "x-sh")


class FetchUrlTool(Tool):
    """One GET, without any key or cookie. Redirects to another server are told, not followed."""

    stops_within_s = 0.5

    @classmethod
    def describe(cls, name: str, settings: Mapping[str, Any], cwd: str) -> Description:
        return Description(
            "Fetch a web address. Web pages come as text.", json_schema(_PARAMETERS, name)
        )

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """The request."""
        return f"GET {arguments['url']}"

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Fetch it."""
        url = str(invocation.arguments["url"])
        try:
            _check(url)
            reply = send(HttpRequest(url, {"Accept": _ACCEPT}, b"", "GET"), cancel)
        except WebFailed as error:
            return ToolOutput(str(error), is_error=True)
        except Stopped:
            return ToolOutput("", is_error=True, ended=STOPPED)
        text = _text(reply, raw=bool(invocation.arguments.get("raw", False)))
        if reply.cut:
            text += f"\n[cut off after {MAX_BODY_BYTES // (1024 * 1024)} MiB]"
        if not 200 <= reply.status < 300:
            text = f"The server answered with status {reply.status}.\n{text}".rstrip()
        content, full_output = capped(text, self.spec.max_output_bytes, invocation.full_output)
        return ToolOutput(content, not 200 <= reply.status < 300, full_output)


def _check(url: str) -> None:
    # As it is written, since rules look at the text; urlsplit is kinder.
    if not url.startswith(("http://", "https://")):
        raise WebFailed(f"{url!r} does not begin with http:// or https://.")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise WebFailed(f"{url!r} is not a web address.") from error
    if not parts.hostname:
        raise WebFailed(f"{url!r} is not a web address.")
    if "@" in parts.netloc:
        raise WebFailed("The address must not hold a user name or password.")


def _text(reply: WebReply, raw: bool) -> str:
    kind = reply.media_type
    is_page = "html" in kind or (not kind and reply.body.lstrip()[:1] == b"<")
    is_text = is_page or not kind or kind.startswith("text/") or kind.endswith(_TEXT_TYPES)
    if not is_text or b"\0" in reply.body[:8192]:
        return f"[{kind or 'binary content'}, {len(reply.body)} bytes]"
    text = reply.body.decode(_charset(reply), "replace")
    if is_page and not raw:
        text = page_text(text, reply.url)
    return text or "(nothing)"


def _charset(reply: WebReply) -> str:
    for part in reply.headers.get("Content-Type", "").split(";")[1:]:
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            try:
                "".encode(value.strip().strip("\"'"))
            except LookupError:
                break
            return value.strip().strip("\"'")
    return "utf-8-sig"
