"""HTTP tools against a real socket: what is sent, what is delivered, and what goes wrong."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple

import pytest

from jpq.errors import ConfigError
from jpq.interrupt.cancel import CancelToken
from jpq.tools.definition import STOPPED, Invocation, ToolOutput, ToolSpec
from jpq.tools.http import HttpTool
from jpq.tools.reply_path import NotThere, at_path
from jpq.tools.schema import json_schema
from tests.support.server import WAIT_S, Pause, Server, Step, Tell, error, head, refusing


def tool(url: str, *names: str, **settings: Any) -> HttpTool:
    parameters = json_schema({name: {} for name in names}, "test")
    limit = settings.pop("max_output_bytes", 65536)
    return HttpTool(
        ToolSpec(
            "weather",
            "http",
            parameters=parameters,
            max_output_bytes=limit,
            settings={"url": url, **settings},
        ),
        "/",
    )


def call(
    tool: HttpTool,
    arguments: Optional[Mapping[str, Any]] = None,
    environ: Optional[Mapping[str, str]] = None,
    cancel: Optional[CancelToken] = None,
    progress: Any = lambda text: None,
) -> ToolOutput:
    invocation = Invocation("c1", arguments or {}, environ or {}, "/", None, lambda q: "")
    return tool.run(invocation, cancel or CancelToken(), progress)


def ok(value: Any, content_type: str = "application/json") -> List[Step]:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return error("200 OK", body, content_type)


def told(server: Server) -> Tuple[str, str, bytes]:
    seen = server.seen[-1]
    return seen.method, seen.path, seen.body


@pytest.mark.parametrize(
    "settings,arguments,sent",
    [
        ({}, {"city": "S\u00e3o Paulo", "days": 2}, ("GET", "/v1?city=S%C3%A3o+Paulo&days=2", b"")),
        ({}, {}, ("GET", "/v1", b"")),
        ({"query": {"q": "{city}", "n": "{days}", "fixed": "1"}}, {"city": "Bern"},
         ("GET", "/v1?q=Bern&fixed=1", b"")),
        ({"query": {"q": "in {city}"}}, {"city": "a&b=c"}, ("GET", "/v1?q=in+a%26b%3Dc", b"")),
        ({"query": {"q": "{city}"}}, {"city": ["a", 1, True]},
         ("GET", "/v1?q=a&q=1&q=true", b"")),
        ({"method": "post"}, {"city": "Bern", "days": 2},
         ("POST", "/v1", b'{"city": "Bern", "days": 2}')),
        ({"method": "PUT", "json": {"place": {"name": "{city}", "list": ["{days}", "x"]}}},
         {"city": "Bern"}, ("PUT", "/v1", b'{"place": {"name": "Bern", "list": ["x"]}}')),
        ({"method": "DELETE", "query": {}}, {"city": "Bern"}, ("DELETE", "/v1", b"")),
    ],
)  # fmt: skip
def test_what_is_sent(
    settings: Dict[str, Any], arguments: Dict[str, Any], sent: Tuple[str, str, bytes]
) -> None:
    with Server(ok({"ok": True})) as server:
        weather = tool(server.url, "city", "days", **settings)
        assert call(weather, arguments).content == '{"ok": true}'
        assert told(server) == sent
        assert server.seen[0].headers["accept"] == "application/json"


@pytest.mark.parametrize("city", ["...", "../../admin", "a/b?c=d#e"])
def test_an_argument_stays_within_its_part_of_the_path(city: str) -> None:
    with Server(ok({})) as server:
        call(tool(server.url + "/{city}/now", "city"), {"city": city})
        path = server.seen[0].path
        assert path.startswith("/v1/") and path.endswith("/now") and path.count("/") == 3
        assert "?" not in path


@pytest.mark.parametrize("city", ["..", "."])
def test_an_argument_cannot_lead_out_of_the_path(city: str) -> None:
    output = call(tool("http://h/{city}/now", "city"), {"city": city})
    assert output.is_error and "must not be '.' or '..'" in output.content


def test_a_variable_goes_into_a_header_and_an_argument_cannot_name_one() -> None:
    with Server(ok({})) as server:
        headers = {"X-Key": "k-${WEATHER_KEY}", "X-City": "{city}"}
        weather = tool(server.url, "city", headers=headers, query={})
        call(weather, {"city": "${WEATHER_KEY}"}, {"WEATHER_KEY": "secret"})
        assert server.seen[0].headers["x-key"] == "k-secret"
        assert server.seen[0].headers["x-city"] == "${WEATHER_KEY}"
        assert "secret" not in weather.preview({"city": "x"})
        output = call(weather, {"city": "x"})
    assert output == ToolOutput("The environment variable WEATHER_KEY is not set.", is_error=True)


def test_the_preview_is_the_request() -> None:
    weather = tool("https://h/{city}", "city", method="POST", json={"c": "{city}"})
    assert weather.preview({"city": "B n"}) == 'POST https://h/B%20n\n{"c": "B n"}'


@pytest.mark.parametrize(
    "settings,words",
    [
        ({"url": ""}, "needs a url"),
        ({"url": "ftp://h/"}, "is not an address"),
        ({"url": "https://{city}/"}, "must not choose the server"),
        ({"url": "https://h/{town}"}, "no parameter has that name"),
        ({"url": "https://h/", "query": {"q": "{town}"}}, "no parameter has that name"),
        ({"url": "https://h/", "json": [{"q": "{town}"}]}, "no parameter has that name"),
        ({"url": "https://h/", "method": "BREW"}, "The method 'BREW'"),
    ],
)
def test_what_cannot_be_meant_is_told_before_it_runs(settings: Dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        tool(settings.pop("url"), "city", **settings)


VALUE = {"now": {"t": 21}, "days": [{"t": 1}, {"t": 2}], "one": [{"t": 3}], "n": None}


@pytest.mark.parametrize(
    "path,found",
    [
        ("now.t", 21),
        ("days[1].t", 2),
        ("days[-1].t", 2),
        ("days.0.t", 1),
        ("days.t", [1, 2]),
        ("one.t", 3),
        ("n", None),
        ("", VALUE),
    ],
)
def test_paths_lead_into_a_reply(path: str, found: Any) -> None:
    assert at_path(VALUE, path) == found
    if path:
        assert at_path([VALUE], path) == found


@pytest.mark.parametrize(
    "path,walked",
    [("now.x.y", "now.x"), ("days[5]", "days[5]"), ("n.x", "n.x"), ("days.x", "days.x")],
)
def test_a_path_that_leads_nowhere_says_how_far_it_came(path: str, walked: str) -> None:
    with pytest.raises(NotThere) as raised:
        at_path(VALUE, path)
    assert str(raised.value) == walked


@pytest.mark.parametrize("reply", [{"now": {"t": 21}}, [{"now": {"t": 21}}]])
def test_flat_or_in_a_list_the_answer_is_the_same(reply: Any) -> None:
    with Server(ok(reply)) as server:
        assert call(tool(server.url, result="now.t")) == ToolOutput("21")


HTML = b"<!DOCTYPE html><html><head><title>Not Found</title></head><body>x</body></html>"


@pytest.mark.parametrize(
    "script,settings,words",
    [
        (ok(HTML, "text/html; charset=utf-8"), {},
         'The server sent a web page instead of JSON: "Not Found"'),
        (ok(HTML, "application/json"), {}, "web page instead of JSON"),
        (ok(b"oops {", "application/json"), {}, "The server's reply is not JSON. It begins: oops"),
        (ok(b"plain", "text/plain"), {"result": "a"}, "is not JSON"),
        (ok({"b": 1}), {"result": "a"}, 'The reply has no a. It is: {"b": 1}'),
        (error("404 Not Found", b'{"detail": "no such city"}'), {},
         'The server answered with status 404: {"detail": "no such city"}'),
        (error("500 Oops", HTML, "text/html"), {}, "with status 500: Not Found"),
        (error("302 Found", b"", "text/html", "Location: http://elsewhere.invalid/x?k=1"), {},
         "redirects to http://elsewhere.invalid/x, which is another server"),
        ([b"garbage\r\n\r\n"], {}, "is not HTTP"),
        (ok(b"[" * 100_000), {}, "not JSON"),
    ],
)  # fmt: skip
def test_what_went_wrong_is_an_error_result(
    script: List[Step], settings: Dict[str, Any], words: str
) -> None:
    with Server(script) as server:
        output = call(tool(server.url, **settings))
    assert output.is_error and words in output.content
    assert len(output.content) < 1500


@pytest.mark.parametrize(
    "script,content",
    [
        (ok(b"just text", "text/plain"), "just text"),
        (error("204 No Content", b""), "(no output)"),
        (ok(["a", "\u00fc"]), '["a", "\u00fc"]'),
        (ok("a string"), "a string"),
        (ok(b"\xef\xbb\xbf{}"), "{}"),
    ],
)
def test_what_is_fine_is_delivered(script: List[Step], content: str) -> None:
    with Server(script) as server:
        assert call(tool(server.url)) == ToolOutput(content)


def test_redirects_on_the_same_server_are_followed() -> None:
    with Server(error("301 Moved", b"", "text/html", "Location: /v2"), ok({"v": 2})) as server:
        assert call(tool(server.url)).content == '{"v": 2}'
        assert [seen.path for seen in server.seen] == ["/v1", "/v2"]


def test_nobody_there() -> None:
    with refusing() as port:
        output = call(tool(f"http://127.0.0.1:{port}/v1"))
    assert output.is_error and "refused" in output.content


THROTTLED = {"status": "throttled", "retry_after_seconds": 0.05}
RULE = {"field": "status", "equals": "throttled", "wait_field": "retry_after_seconds"}


@pytest.mark.parametrize("throttled", [THROTTLED, [THROTTLED]])
def test_throttled_it_waits_as_told_and_asks_again(
    throttled: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "jpq")
    shown: List[str] = []
    with Server(ok(throttled), ok(throttled), ok({"status": "ok"})) as server:
        started = time.monotonic()
        output = call(tool(server.url, throttle=RULE), progress=shown.append)
        assert time.monotonic() - started >= 0.1
        assert len(server.seen) == 3
    assert output == ToolOutput('{"status": "ok"}')
    told = "throttled, waiting 0.05 s (attempt 1 of 3)"
    assert shown[0] == told + "\n"
    assert f"weather: {told}" in caplog.messages


def test_throttled_for_good_is_an_error_after_so_many_attempts() -> None:
    told = {"status": "throttled", "retry_after_seconds": 9}
    rule = {**RULE, "max_wait_s": 0.01, "attempts": 2}
    with Server(ok(told)) as server:
        output = call(tool(server.url, throttle=rule))
        assert len(server.seen) == 2
    assert output == ToolOutput(
        "The service is throttled: it was asked 2 times, and says to wait 9 s before it is "
        "asked again.",
        is_error=True,
    )


def test_a_status_that_says_so_is_throttling_too() -> None:
    busy = error("429 Too Many", b"{}", "application/json", "Retry-After: 0")
    with Server(busy, ok({"a": 1})) as server:
        assert call(tool(server.url)).content == '{"a": 1}'


def test_the_wait_ends_at_once_when_it_is_cancelled() -> None:
    token = CancelToken()
    slow = {"status": "throttled", "retry_after_seconds": 2 * WAIT_S}
    rule = {**RULE, "max_wait_s": 2 * WAIT_S}
    with Server(ok(slow)) as server:
        started = time.monotonic()
        output = call(
            tool(server.url, throttle=rule), cancel=token, progress=lambda text: token.cancel()
        )
    assert time.monotonic() - started < WAIT_S
    assert output.ended == STOPPED


@pytest.mark.parametrize("where", ["before the headers", "in the body"])
def test_a_slow_reply_ends_at_once_when_it_is_cancelled(where: str) -> None:
    token, arrived, never = CancelToken(), threading.Event(), threading.Event()
    begun: List[Step] = (
        [] if where == "before the headers" else [head("application/json"), b"1\r\n{\r\n"]
    )
    with Server([*begun, Tell(arrived), Pause(never)]) as server:

        def cancel() -> None:
            assert arrived.wait(WAIT_S)
            token.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        output = call(tool(server.url), cancel=token)
        thread.join()
    assert output.ended == STOPPED


def test_a_long_reply_is_cut() -> None:
    with Server(ok(["x" * 1000])) as server:
        output = call(tool(server.url, max_output_bytes=100))
    assert "bytes left out" in output.content and len(output.content) < 200
