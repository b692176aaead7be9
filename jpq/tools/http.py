"""HTTP tools: one request to a JSON API, declared and not programmed (docs/tools-kinds.md)."""

from __future__ import annotations

import logging
import math
from typing import Any, Mapping, Optional

from jpq.events import json_depth
from jpq.interrupt.cancel import CancelToken
from jpq.named import NamedTuple
from jpq.provider.failure import html_summary
from jpq.tools.definition import MODES, STOPPED, Invocation, Progress, Tool, ToolOutput, ToolSpec
from jpq.tools.http_template import CannotFill, read_template
from jpq.tools.limits import capped
from jpq.tools.reply_path import NotThere, at_path
from jpq.tools.schema import json_text, shortened
from jpq.tools.web import MAX_BODY_BYTES, Stopped, WebFailed, WebReply, send

_LOG = logging.getLogger("jpq.tools.http")

_SHOWN_REPLY = 1000
_WAIT_UNTOLD_S = 1.0  # where it is throttled and does not say for how long
_BUSY = (429, 503)


class Throttle(NamedTuple):
    """How a service says that it must be asked again later.

    A reply with ``field`` equal to ``equals`` says so, and ``wait_field`` in how many
    seconds. ``attempts`` counts all requests.
    """

    field: str = ""
    equals: Any = None
    wait_field: str = ""
    max_wait_s: float = 15.0
    attempts: int = 3


class HttpTool(Tool):
    """Sends the configured request and delivers the reply, or the part of it at ``result``."""

    stops_within_s = 0.5

    def __init__(self, spec: ToolSpec, cwd: str) -> None:
        super().__init__(spec, cwd)
        names = tuple(spec.parameters.get("properties", {}))
        self._template = read_template(spec.settings, names, f"tools.{spec.name}")
        path = str(spec.settings.get("result", ""))
        self._path = "" if path in MODES else path
        throttle = spec.settings.get("throttle", {})
        self._throttle = Throttle(
            **{key: throttle[key] for key in Throttle._fields if key in throttle}
        )

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """The request as it will be sent, without its headers."""
        line = f"{self._template.method} {self._template.url_for(arguments)}"
        body = self._template.body_for(arguments).decode("utf-8", "replace")
        return f"{line}\n{body}" if body else line

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Send it, and again when the service says so."""
        try:
            output = self._asked(invocation, cancel, progress)
        except (WebFailed, CannotFill) as error:
            return ToolOutput(str(error), is_error=True)
        except Stopped:
            return ToolOutput("", is_error=True, ended=STOPPED)
        content, full_output = capped(
            output.content, self.spec.max_output_bytes, invocation.full_output
        )
        return output._replace(content=content, full_output=full_output)

    def _asked(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        request = self._template.fill(invocation.arguments, invocation.environ)
        attempts = self._throttle.attempts
        for attempt in range(1, attempts + 1):
            reply = send(request, cancel)
            value = _json_of(reply)
            wait_s = self._told_to_wait(reply, value)
            if wait_s is None:
                return self._read(reply, value)
            if attempt < attempts:
                self._wait(min(wait_s, self._throttle.max_wait_s), attempt, cancel, progress)
        return ToolOutput(
            f"The service is throttled: it was asked {attempts} times, and says to wait "
            f"{wait_s:g} s before it is asked again.",
            is_error=True,
        )

    def _wait(self, seconds: float, attempt: int, cancel: CancelToken, progress: Progress) -> None:
        told = f"throttled, waiting {seconds:g} s (attempt {attempt} of {self._throttle.attempts})"
        _LOG.info("%s: %s", self.spec.name, told)
        progress(told + "\n")
        if cancel.wait(seconds):
            raise Stopped

    def _told_to_wait(self, reply: WebReply, value: Any) -> Optional[float]:
        """The seconds to wait before the next attempt, or None where this is the answer."""
        if reply.status in _BUSY:
            return _seconds(reply.headers.get("Retry-After"))
        throttle = self._throttle
        if throttle.field and _found(value, throttle.field, _NOT_JSON) == throttle.equals:
            return _seconds(_found(value, throttle.wait_field, None))
        return None

    def _read(self, reply: WebReply, value: Any) -> ToolOutput:
        if not 200 <= reply.status < 300:
            said = f"The server answered with status {reply.status}"
            return ToolOutput(f"{said}: {_beginning(reply)}", is_error=True)
        if reply.cut:
            return ToolOutput(
                f"The reply is larger than {MAX_BODY_BYTES // 1_000_000} MB.", is_error=True
            )
        if not reply.body.strip():
            return ToolOutput("(no output)")
        if value is _NOT_JSON:
            return self._read_text(reply)
        if not self._path:
            return ToolOutput(_shown(value))
        try:
            return ToolOutput(_shown(at_path(value, self._path)))
        except NotThere as error:
            begins = shortened(_shown(value), _SHOWN_REPLY)
            return ToolOutput(f"The reply has no {error}. It is: {begins}", is_error=True)

    def _read_text(self, reply: WebReply) -> ToolOutput:
        """A reply that is not JSON: fine unless JSON was promised, by it or by the settings."""
        if _is_web_page(reply):
            told = f'The server sent a web page instead of JSON: "{_beginning(reply)}"'
            return ToolOutput(told, is_error=True)
        if self._path or self._throttle.field or reply.media_type.endswith("json"):
            told = f"The server's reply is not JSON. It begins: {_beginning(reply)}"
            return ToolOutput(told, is_error=True)
        return ToolOutput(_text_of(reply))


_NOT_JSON: Any = object()


def _json_of(reply: WebReply) -> Any:
    if _is_web_page(reply):
        return _NOT_JSON
    try:
        return json_depth.loads(reply.body.decode("utf-8-sig"))
    except ValueError:
        return _NOT_JSON


def _is_web_page(reply: WebReply) -> bool:
    begins = reply.body[:200].lstrip().lower()
    return reply.media_type == "text/html" or begins.startswith((b"<!doctype html", b"<html"))


def _text_of(reply: WebReply) -> str:
    return reply.body.decode("utf-8-sig", "replace")


def _beginning(reply: WebReply) -> str:
    if _is_web_page(reply):
        return html_summary(_text_of(reply))
    return shortened(_text_of(reply).strip(), _SHOWN_REPLY) or "nothing"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _found(value: Any, path: str, otherwise: Any) -> Any:
    try:
        return at_path(value, path)
    except NotThere:
        return otherwise


def _seconds(told: Any) -> float:
    try:
        seconds = float(told)
    except (TypeError, ValueError):
        return _WAIT_UNTOLD_S
    return max(0.0, seconds) if math.isfinite(seconds) else _WAIT_UNTOLD_S
