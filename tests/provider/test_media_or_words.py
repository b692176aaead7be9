"""What tools gave beside text, and models that refuse it."""

from __future__ import annotations

import threading
from typing import Any, List

import pytest

from jpq.conversation.thread import (
    USER,
    Message,
    Thread,
    ThreadImage,
    ThreadText,
    ThreadToolResult,
)
from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import Finished, Flush, MessageDelta, Part
from jpq.provider.base import ProviderRequest
from jpq.provider.media_or_words import MediaOrWords

WAIT_S = 30.0
PICTURE = ThreadImage("a.png", "image/png", "AAAA")
WITH = ThreadToolResult("c", "look", "Here.", False, (PICTURE,))
NOTE = "(a.png was attached here; this model cannot be sent it.)"
IN_WORDS = WITH._replace(content=f"Here.\n{NOTE}", attached=())
ANSWER = [Part(0, MessageDelta("A dot.")), Flush(0), Finished("stop")]
BLIND = StreamError(ErrorKind.INVALID_REQUEST, "HTTP 400: no")


def request(*blocks: Any, model: str = "m") -> ProviderRequest:
    return ProviderRequest(model, Thread("", (Message(USER, blocks),)))


class Scripted:
    """A provider whose exchanges do this, one after the other: events, and an error to raise."""

    def __init__(self, *ways: Any) -> None:
        self._ways = list(ways)
        self.seen: List[Any] = []
        self.aborts = 0

    def exchange(self, asked: ProviderRequest) -> Any:
        return _Exchange(self, asked)

    def read(self, asked: ProviderRequest) -> Any:
        self.seen.append(asked.thread.messages[0].blocks[0])
        for item in self._ways.pop(0):
            if isinstance(item, Exception):
                raise item
            yield item


class _Exchange:
    def __init__(self, owner: Scripted, asked: ProviderRequest) -> None:
        self.ending = False
        self._owner = owner
        self._asked = asked

    def events(self) -> Any:
        return self._owner.read(self._asked)

    def abort(self) -> None:
        self._owner.aborts += 1


def asked(provider: Any, *blocks: Any, way: Any = None) -> List[Any]:
    exchanges = way or MediaOrWords(provider)
    return list(exchanges.exchange(request(*blocks)).events())


def test_what_is_taken_is_sent_once() -> None:
    provider = Scripted(ANSWER)
    assert asked(provider, WITH) == ANSWER and provider.seen == [WITH]


@pytest.mark.parametrize(
    "error",
    [
        BLIND,
        StreamError(ErrorKind.SERVER, "HTTP 500: image input is not supported"),
        StreamError(ErrorKind.NOT_FOUND, "No endpoints found that support image input"),
    ],
)
def test_a_refusal_is_asked_again_in_words_and_remembered(error: StreamError) -> None:
    provider: Any = Scripted([error], ANSWER, ANSWER)
    way = MediaOrWords(provider)
    assert asked(provider, WITH, way=way) == ANSWER
    assert asked(provider, WITH, way=way) == ANSWER
    assert provider.seen == [WITH, IN_WORDS, IN_WORDS]
    assert way.blind == {"m"}


@pytest.mark.parametrize(
    "error",
    [
        StreamError(ErrorKind.SERVER, "HTTP 500: out of memory"),
        StreamError(ErrorKind.RATE_LIMITED, "too many images"),
        StreamError(ErrorKind.RESET, "The connection was reset."),
    ],
)
def test_other_failures_are_as_they_are(error: StreamError) -> None:
    provider = Scripted([error])
    with pytest.raises(StreamError) as caught:
        asked(provider, WITH)
    assert caught.value is error and provider.seen == [WITH]


def test_a_failure_after_the_answer_began_is_no_refusal() -> None:
    provider = Scripted([ANSWER[0], BLIND])
    with pytest.raises(StreamError):
        asked(provider, WITH)
    assert provider.seen == [WITH]


def test_a_request_that_is_wrong_without_it_too_says_so() -> None:
    second = StreamError(ErrorKind.INVALID_REQUEST, "HTTP 400: no such option")
    way = MediaOrWords(Scripted([BLIND], [second]))  # type: ignore[arg-type]
    with pytest.raises(StreamError) as caught:
        asked(None, WITH, way=way)
    assert caught.value is second and not way.blind


def test_without_anything_beside_text_a_refusal_is_final() -> None:
    provider = Scripted([BLIND])
    with pytest.raises(StreamError):
        asked(provider, ThreadText("Hi"), PICTURE)
    assert len(provider.seen) == 1


def test_what_was_stopped_is_not_asked_again() -> None:
    begun, stop = threading.Event(), threading.Event()

    class Slow(Scripted):
        def read(self, asked: ProviderRequest) -> Any:
            self.seen.append(asked)
            begun.set()
            stop.wait(WAIT_S)
            raise BLIND
            yield

    provider: Any = Slow()
    exchange = MediaOrWords(provider).exchange(request(WITH))
    failures: List[StreamError] = []

    def read() -> None:
        try:
            list(exchange.events())
        except StreamError as error:
            failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    assert begun.wait(WAIT_S)
    exchange.abort()
    stop.set()
    reader.join(WAIT_S)
    assert failures == [BLIND] and len(provider.seen) == 1 and provider.aborts == 1
