"""One exchange over a real socket: status, media type, framing, end marks, cuts, secrets."""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence, Tuple

import pytest

from jpq.conversation.thread import Thread
from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import (
    INTERRUPTED,
    STOP,
    Finished,
    KeepAlive,
    MessageDelta,
    Part,
    StreamEvent,
)
from jpq.provider.base import Decoder, ProviderRequest, ProviderRow
from jpq.provider.failure import from_error_object
from jpq.provider.http import HttpExchange, HttpProvider
from jpq.provider.registry import load_api, resolve
from jpq.wire import transport
from jpq.wire.message import HttpRequest, Message
from tests.support.server import (
    DROP,
    KEEP,
    LAST_CHUNK,
    WAIT_S,
    Pause,
    Server,
    Step,
    Tell,
    chunk,
    error,
    head,
    sse,
)

KEY = "sk-very-secret-0123456789"
NO_THREAD: Any = None  # what is asked is not what is tested here


class WordDecoder:
    """A wire API of one word a message, ``{"end": true}`` to say it ends, [DONE] at its end."""

    def __init__(self) -> None:
        self.ending = False
        self.done = False

    def feed(self, message: Message) -> Iterator[StreamEvent]:
        if message.data == "[DONE]":
            self.done = True
            yield Finished(STOP)
            return
        value = json.loads(message.data)
        if message.event == "error" or "error" in value:
            raise from_error_object(value, "in the stream")
        self.ending = self.ending or bool(value.get("end"))
        if "word" in value:
            yield Part(0, MessageDelta(value["word"]))

    def close(self) -> Iterator[StreamEvent]:
        yield Finished(INTERRUPTED)


class WordApi:
    """The API module of that wire API."""

    def __init__(self, framing: str = "sse") -> None:
        self.FRAMING = framing

    def encode(self, request: ProviderRequest, row: ProviderRow, key: Optional[str]) -> HttpRequest:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return HttpRequest(
            row.base_url + "/chat", {**headers, **row.headers}, {"stream": request.stream}
        )

    def make_decoder(self, row: ProviderRow) -> Decoder:
        return WordDecoder()

    def read_response(self, value: Mapping[str, Any], row: ProviderRow) -> Iterator[StreamEvent]:
        yield Part(0, MessageDelta(value["content"]))
        yield Finished(STOP)


Open = Callable[..., HttpExchange]


@pytest.fixture
def exchange() -> Iterator[Open]:
    """Opens an exchange with a server; the provider's connections are closed afterwards."""
    providers: List[HttpProvider] = []

    def opened(
        server: Server, *, framing: str = "sse", stream: bool = True, key: Optional[str] = KEY
    ) -> HttpExchange:
        if not providers:
            row = ProviderRow("prov", "words", server.url, headers={"X-Team-Token": "tt-12345678"})
            providers.append(HttpProvider(row, WordApi(framing), key, WAIT_S))
        return providers[0].exchange(ProviderRequest("m", NO_THREAD, stream=stream))

    yield opened
    for provider in providers:
        provider.close()


def _words(events: Sequence[StreamEvent]) -> List[str]:
    return [
        e.payload.text
        for e in events
        if isinstance(e, Part) and isinstance(e.payload, MessageDelta)
    ]


def _failure(exchange: HttpExchange) -> StreamError:
    with pytest.raises(StreamError) as caught:
        list(exchange.events())
    return caught.value


def _streamed(*events: bytes, chunked: bool = True) -> List[Step]:
    if chunked:
        return [head(), *(chunk(event) for event in events), LAST_CHUNK]
    return [head(chunked=False), *events]


ANSWER = sse({"word": "one"}, {"word": "two", "end": True}, "[DONE]")


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "close-delimited"])
def test_a_streamed_answer(exchange: Open, chunked: bool) -> None:
    with Server(_streamed(*ANSWER, chunked=chunked)) as server:
        events = list(exchange(server).events())
    assert _words(events) == ["one", "two"] and events[-1] == Finished(STOP)
    assert server.seen[0].path == "/v1/chat" and server.seen[0].json == {"stream": True}


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "close-delimited"])
def test_each_event_is_there_before_the_next_is_sent(exchange: Open, chunked: bool) -> None:
    seen = [threading.Event(), threading.Event()]
    start, one, two, *rest = _streamed(*ANSWER, chunked=chunked)
    with Server([start, one, Pause(seen[0]), two, Pause(seen[1]), *rest]) as server:
        opened = exchange(server)
        words = []
        for event in opened.events():
            if isinstance(event, Part):
                assert not opened.ending
                words += _words([event])
                seen[len(words) - 1].set()
        assert words == ["one", "two"] and opened.ending


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "close-delimited"])
def test_the_end_mark_ends_the_exchange_although_the_connection_stays_open(
    exchange: Open, chunked: bool
) -> None:
    over = threading.Event()
    steps = _streamed(*ANSWER, chunked=chunked)
    with Server([*(s for s in steps if s is not LAST_CHUNK), Pause(over)]) as server:
        assert list(exchange(server).events())[-1] == Finished(STOP)
        over.set()


def test_a_wordless_end_is_noticed_while_the_connection_stays_open(exchange: Open) -> None:
    """A server said how the answer ended, and no more: jpq went on waiting as patiently as
    for words, because what it waits for had brought nothing."""
    over = threading.Event()
    said = sse({"word": "one"}, {"end": True})
    with Server([head(), *map(chunk, said), Pause(over)]) as server:
        opened = exchange(server)
        events = opened.events()
        assert _words([next(events)]) == ["one"] and not opened.ending
        assert next(events) == KeepAlive() and opened.ending
        over.set()
        opened.abort()
        assert list(events) == [Finished(INTERRUPTED)]


def test_an_error_is_told_although_its_body_does_not_come(exchange: Open) -> None:
    """A refused key was told as a server that is silent, after the patience for words."""
    over = threading.Event()
    refused = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 500\r\n\r\n"
    with Server([refused + b'{"error": ', Pause(over)]) as server:
        begun = time.monotonic()
        failure = _failure(exchange(server))
        assert failure.kind is ErrorKind.AUTH and failure.status == 401
        assert time.monotonic() - begun < WAIT_S / 2  # the server waits for longer


def test_the_next_exchange_uses_the_same_connection(
    exchange: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a slow machine the end of the body may come long after the end mark.
    monkeypatch.setattr(transport, "_LINGER_S", WAIT_S)
    with Server([*_streamed(*ANSWER), KEEP]) as server:
        for _ in range(3):
            assert list(exchange(server).events())[-1] == Finished(STOP)
        assert server.connections == 1


def test_a_stream_of_lines(exchange: Open) -> None:
    lines = [json.dumps(value).encode() + b"\n" for value in ({"word": "one"}, {"word": "two"})]
    start = head("application/x-ndjson")
    with Server([start, *map(chunk, lines), chunk(b"[DONE]\n"), LAST_CHUNK]) as server:
        events = list(exchange(server, framing="ndjson").events())
    assert _words(events) == ["one", "two"] and events[-1] == Finished(STOP)


# Cuts

CUT_EVENTS = b"".join(sse({"word": "one"}, {"word": "two"}, "[DONE]"))


def _until_the_end(exchange: HttpExchange) -> Tuple[List[str], Optional[Finished], Optional[str]]:
    """The words, how the provider said it ended, and the kind of failure."""
    events: List[StreamEvent] = []
    try:
        for event in exchange.events():
            events.append(event)
    except StreamError as failed:
        return _words(events), None, failed.kind.word
    except ValueError:
        return _words(events), None, "half an event"
    return _words(events), events[-1] if isinstance(events[-1], Finished) else None, None


@pytest.mark.parametrize("framing", ["chunked", "close-delimited", "content-length"])
def test_a_reply_cut_at_any_byte_is_never_complete(framing: str) -> None:
    if framing == "chunked":
        whole = head() + chunk(CUT_EVENTS[:40]) + chunk(CUT_EVENTS[40:]) + LAST_CHUNK
    elif framing == "close-delimited":
        whole = head(chunked=False) + CUT_EVENTS
    else:
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream"]
        lines += [f"Content-Length: {len(CUT_EVENTS)}", "", ""]
        whole = "\r\n".join(lines).encode() + CUT_EVENTS
    mark = whole.index(b"[DONE]") + len(b"[DONE]")
    scripts = [[whole[:size]] for size in range(len(whole))]
    with Server(*scripts) as server:
        provider = HttpProvider(ProviderRow("prov", "words", server.url), WordApi())
        for size in range(len(whole)):
            request = ProviderRequest("m", NO_THREAD)
            words, finished, failed = _until_the_end(provider.exchange(request))
            assert words == ["one", "two"][: len(words)], size
            if size < mark:
                assert failed or finished == Finished(INTERRUPTED), size
            if failed:
                assert failed in ("reset", "cut", "half an event"), size
        provider.close()


@pytest.mark.parametrize("sent", [0, 1])
def test_a_reset_keeps_what_had_come(exchange: Open, sent: int) -> None:
    reached = threading.Event()
    steps = _streamed(*ANSWER)[: sent + 1] if sent else []
    with Server([*steps, Pause(reached), DROP]) as server:
        words = []
        if not sent:
            reached.set()
        with pytest.raises(StreamError) as caught:
            for event in exchange(server).events():
                words += _words([event])
                if len(words) == sent:
                    reached.set()
    assert words == ["one", "two"][:sent]
    assert caught.value.kind is (ErrorKind.CUT if sent else ErrorKind.RESET)
    assert caught.value.retryable and "prov, http://127.0.0.1" in caught.value.where


def test_a_reset_after_the_answer_said_how_it_ends_is_the_decoders_to_judge(
    exchange: Open,
) -> None:
    """A server that resets the connection after the finish reason, before [DONE]."""
    reached = threading.Event()
    events: List[StreamEvent] = []
    with Server([*_streamed(*ANSWER)[:3], Pause(reached), DROP]) as server:
        for event in exchange(server).events():
            events.append(event)
            if len(_words(events)) == 2:
                reached.set()
    assert events[-1] == Finished(INTERRUPTED)  # what this decoder says when it is closed


def test_abort_ends_the_events(exchange: Open) -> None:
    reached, release = threading.Event(), threading.Event()
    with Server([*_streamed(ANSWER[0])[:2], Tell(reached), Pause(release)]) as server:
        opened = exchange(server)
        ended: List[Tuple[List[str], Optional[Finished], Optional[str]]] = []
        reader = threading.Thread(target=lambda: ended.append(_until_the_end(opened)))
        reader.start()
        assert reached.wait(WAIT_S)
        opened.abort()
        reader.join(WAIT_S / 2)
        assert not reader.is_alive()
        release.set()
    words, finished, failed = ended[0]
    assert finished is None and failed == "cut"


# Errors


def test_an_error_status_is_told_with_the_providers_words(exchange: Open) -> None:
    body = b'{"error": {"message": "slow down", "type": "rate_limit_error"}}'
    with Server(error("429 Too Many", body, "application/json", "retry-after: 7")) as server:
        failed = _failure(exchange(server))
        assert failed.where == f"prov, {server.url}/chat, HTTP 429"
    assert (failed.kind, failed.retry_after) == (ErrorKind.RATE_LIMITED, 7.0)
    assert "slow down" in failed.message


def test_the_status_counts_more_than_the_media_type(exchange: Open) -> None:
    body = b'{"error": {"code": 404, "message": "no such model", "status": "NOT_FOUND"}}'
    with Server(error("404 Not Found", body, "text/event-stream")) as server:
        assert _failure(exchange(server)).kind is ErrorKind.NOT_FOUND


@pytest.mark.parametrize("body", [b'{"error": "no such path"}', b"<html>nginx: not found</html>"])
@pytest.mark.parametrize(
    "provider, overrides, told",
    [
        ("openai", {}, True),
        ("mine", {"api": "openai-responses"}, True),
        ("openai", {"api": "openai-chat"}, False),
        ("groq", {}, False),
    ],
)
def test_a_server_that_may_know_the_chat_api_only(
    provider: str, overrides: Mapping[str, Any], told: bool, body: bytes
) -> None:
    media_type = "text/html" if body[:1] == b"<" else "application/json"
    with Server(error("404 Not Found", body, media_type)) as server:
        row = resolve(provider, {"base_url": server.url, **overrides}, {})
        asked = HttpProvider(row, load_api(row.api), KEY, WAIT_S)
        failed = _failure(asked.exchange(ProviderRequest("m", Thread("", ()))))
        asked.close()
    assert failed.kind is ErrorKind.NOT_FOUND and "base_url" in failed.hint
    setting = f'jpq config set providers.{provider}.api "openai-chat"'
    assert (setting in failed.hint) == told


def test_an_error_whose_body_is_cut_is_still_that_error(exchange: Open) -> None:
    steps = [b"HTTP/1.1 503 Down\r\nContent-Length: 99\r\n\r\nout of"]
    with Server(steps) as server:
        failed = _failure(exchange(server))
    assert failed.kind is ErrorKind.SERVER and "out of" in failed.message


def test_a_redirect_is_an_error_that_names_its_target(exchange: Open) -> None:
    location = "Location: https://elsewhere.example/v1/chat"
    with Server(error("302 Found", b"", "text/plain", location)) as server:
        failed = _failure(exchange(server))
    assert "https://elsewhere.example/v1/chat" in failed.message and "base_url" in failed.hint


@pytest.mark.parametrize("media_type", ["text/html; charset=utf-8", "text/event-stream"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_web_page_instead_of_an_answer(exchange: Open, media_type: str, stream: bool) -> None:
    page = b"\n<!doctype html><html><title>Sign in to Wi-Fi</title><body>...</body></html>"
    with Server([head(media_type), chunk(page), LAST_CHUNK]) as server:
        failed = _failure(exchange(server, stream=stream))
    assert failed.kind is ErrorKind.MALFORMED and not failed.retryable
    assert "web page" in failed.message and "Sign in to Wi-Fi" in failed.message


MID_STREAM = [
    b'event: error\ndata: {"error": {"message": "boom", "type": "overloaded_error"}}\n\n',
    b'error: {"error": {"message": "boom", "type": "overloaded_error"}}\n\n',
    b'{\n "error": {\n  "message": "boom",\n  "type": "overloaded_error"\n }\n}\n',
    b'[{\n "error": {\n  "message": "boom",\n  "type": "overloaded_error"\n }\n}]',
]


@pytest.mark.parametrize("failing", MID_STREAM[:3], ids=["event", "field", "bare JSON"])
def test_an_error_in_the_middle_of_a_stream(exchange: Open, failing: bytes) -> None:
    words = []
    with Server(_streamed(ANSWER[0], failing)) as server, pytest.raises(StreamError) as caught:
        for event in exchange(server).events():
            words += _words([event])
    assert words == ["one"]
    assert caught.value.kind is ErrorKind.OVERLOADED and "boom" in caught.value.message


@pytest.mark.parametrize("media_type", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("body", MID_STREAM[2:], ids=["object", "list"])
def test_nothing_but_an_error_in_a_reply_with_status_200(
    exchange: Open, media_type: str, body: bytes
) -> None:
    with Server([head(media_type), chunk(body), LAST_CHUNK]) as server:
        failed = _failure(exchange(server))
    assert failed.kind is ErrorKind.OVERLOADED and "boom" in failed.message


# Whole replies

WHOLE = b'\xef\xbb\xbf\n{"content": "all of it"}'


@pytest.mark.parametrize("stream", [True, False], ids=["a stream was asked for", "as asked"])
def test_a_whole_reply(exchange: Open, stream: bool) -> None:
    with Server(
        [head("application/json"), chunk(WHOLE[:9]), chunk(WHOLE[9:]), LAST_CHUNK]
    ) as server:
        events = list(exchange(server, stream=stream).events())
    assert _words(events) == ["all of it"] and events[-1] == Finished(STOP)


def test_a_stream_although_a_whole_reply_was_asked_for(exchange: Open) -> None:
    with Server(_streamed(*ANSWER)) as server:
        events = list(exchange(server, stream=False).events())
    assert _words(events) == ["one", "two"]


def test_a_stream_that_is_labelled_as_json(exchange: Open) -> None:
    with Server([head("application/json"), *map(chunk, [b"\n\n", *ANSWER]), LAST_CHUNK]) as server:
        assert _words(list(exchange(server).events())) == ["one", "two"]


@pytest.mark.parametrize(
    "body, kind",
    [(b"", ErrorKind.CUT), (WHOLE[:-3], ErrorKind.CUT), (b"OK", ErrorKind.MALFORMED),
     (b'{"a": }', ErrorKind.MALFORMED), (b'"text"', ErrorKind.MALFORMED)],
)  # fmt: skip
def test_a_whole_reply_that_is_none(exchange: Open, body: bytes, kind: ErrorKind) -> None:
    with Server([head("application/json", chunked=False), body]) as server:
        assert _failure(exchange(server, stream=False)).kind is kind


@pytest.mark.parametrize("media_type", ["text/plain", "application/json", ""])
def test_words_instead_of_a_stream_are_told(exchange: Open, media_type: str) -> None:
    with Server([head(media_type), chunk(b"\nupstream "), chunk(b"gone"), LAST_CHUNK]) as server:
        failure = _failure(exchange(server))
    assert failure.kind is ErrorKind.MALFORMED
    assert failure.message == "The reply is not an answer: upstream gone"


def test_lines_before_a_stream_that_are_none_of_its_fields(exchange: Open) -> None:
    with Server([head(), *map(chunk, [b"queued\n\n", *ANSWER]), LAST_CHUNK]) as server:
        assert _words(list(exchange(server).events())) == ["one", "two"]


def test_an_empty_reply_is_interrupted(exchange: Open) -> None:
    with Server([head(), LAST_CHUNK]) as server:
        assert list(exchange(server).events()) == [Finished(INTERRUPTED)]


# Secrets


@pytest.mark.parametrize(
    "script",
    [
        error("401 No", f'{{"error": "bad key {KEY}, team tt-12345678"}}'.encode()),
        error("302 Found", b"", "text/plain", f"Location: https://x/?key={KEY}&t=tt-12345678"),
        _streamed(f'data: {{"error": {{"message": "{KEY} tt-12345678"}}}}\n\n'.encode()),
        [head("text/html"), chunk(f"<title>{KEY} tt-12345678</title>".encode()), LAST_CHUNK],
    ],
    ids=["status", "redirect", "stream", "page"],
)
def test_a_credential_that_the_server_repeats_is_masked(
    exchange: Open, script: Sequence[Step]
) -> None:
    with Server(script) as server:
        failed = _failure(exchange(server, key=KEY + "\n"))
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    told = failed.message + failed.where + failed.hint + str(failed) + repr(failed)
    assert KEY not in told and "tt-12345678" not in told
