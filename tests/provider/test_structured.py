"""How each API is told of a schema, and what happens when it refuses it."""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping

import pytest

from jpq.conversation.schema_text import parse_schema
from jpq.conversation.thread import Message, Thread, ThreadText
from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import STOP, Finished, MessageDelta, Part, StreamEvent
from jpq.provider.base import ProviderRequest, ProviderRow
from jpq.provider.registry import load_api
from jpq.provider.structured import BOTH, INSTRUCTION, NATIVE, StructuredOutput, way_of

SCHEMA = parse_schema("name, age int")
LOOSE = {"type": "object", "properties": {"name": {"type": "string", "minLength": 2}}}
THREAD = Thread("Be brief.", (Message("user", (ThreadText("Who?"),)),))
REQUEST = ProviderRequest("m", THREAD, options={"temperature": 0.1})


class Recorder:
    """A Provider that keeps its requests; the first ``refusals`` of them fail."""

    def __init__(self, *refusals: Any) -> None:
        self.requests: List[ProviderRequest] = []
        self.exchanges: List[_Exchange] = []
        self.begins_with: List[StreamEvent] = []
        self._refusals = list(refusals)

    @property
    def aborted(self) -> int:
        return sum(each.aborts for each in self.exchanges)

    def prepare(self, model: str, progress: Any) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""

    def exchange(self, request: ProviderRequest) -> Any:
        self.requests.append(request)
        error = self._refusals.pop(0) if self._refusals else None
        self.exchanges.append(_Exchange(self.begins_with, error))
        return self.exchanges[-1]


class _Exchange:
    ending = False

    def __init__(self, begins_with: List[StreamEvent], error: Any) -> None:
        self._begins_with = begins_with
        self._error = error
        self.aborts = 0

    def events(self) -> Iterator[StreamEvent]:
        yield from self._begins_with
        if self._error is not None:
            raise self._error
        yield Finished(STOP)

    def abort(self) -> None:
        self.aborts += 1


def sent(api: str, schema: Mapping[str, Any] = SCHEMA, **quirks: Any) -> Any:
    """The body of a request through ``api``."""
    row = ProviderRow("x", api, "https://x.test/v1", quirks=quirks)
    recorder = Recorder()
    StructuredOutput(recorder, schema, way_of(row, schema)).exchange(REQUEST)
    return load_api(api).encode(recorder.requests[0], row, "k").body


def test_openai_is_held_to_an_exact_schema() -> None:
    format = sent("openai-responses")["text"]["format"]
    assert format == {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}
    format = sent("openai-responses", LOOSE)["text"]["format"]
    assert format == {"type": "json_schema", "name": "answer", "schema": LOOSE}


def test_chat_imitators_are_told_in_both_ways() -> None:
    body = sent("openai-chat")
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    system = body["messages"][0]["content"]
    assert system.startswith("Be brief.\n\nAnswer with JSON") and '"age"' in system
    assert body["temperature"] == 0.1


def test_a_quirk_says_how() -> None:
    row = ProviderRow("x", "openai-chat", quirks={"schema": "instruction"})
    assert way_of(row, SCHEMA) == INSTRUCTION
    assert way_of(row._replace(quirks={"schema": "native"}), SCHEMA) == NATIVE
    assert way_of(row._replace(quirks={"schema": "else"}), SCHEMA) == BOTH


@pytest.mark.parametrize(
    ("api", "schema", "way"),
    [
        ("openai-responses", SCHEMA, NATIVE),
        ("anthropic", SCHEMA, NATIVE),
        ("anthropic", LOOSE, INSTRUCTION),
        ("google", LOOSE, NATIVE),
        ("ollama", SCHEMA, BOTH),
        ("local", SCHEMA, BOTH),
        ("scripted", SCHEMA, INSTRUCTION),
        ("openai-responses", {"type": "array"}, INSTRUCTION),
        ("openai-chat", {"enum": [1, 2]}, INSTRUCTION),
    ],
)
def test_ways(api: str, schema: Any, way: str) -> None:
    assert way_of(ProviderRow("x", api), schema) == way


def test_anthropic_google_and_ollama_have_it_in_their_words() -> None:
    assert sent("anthropic")["output_config"]["format"]["schema"] == SCHEMA
    assert "age" in sent("google")["generationConfig"]["responseSchema"]["properties"]
    assert sent("ollama")["format"] == SCHEMA


def refusal(message: str, kind: ErrorKind = ErrorKind.INVALID_REQUEST) -> StreamError:
    return StreamError(kind, message)


@pytest.mark.parametrize(
    "words",
    [
        "response_format json_schema is not supported",
        "Function calling with a response mime type: 'application/json' is unsupported",
    ],
)
def test_an_api_that_refuses_the_schema_is_told_in_words_from_then_on(words: str) -> None:
    recorder = Recorder(refusal(words))
    provider = StructuredOutput(recorder, SCHEMA, NATIVE)
    assert list(provider.exchange(REQUEST).events()) == [Finished(STOP)]
    assert list(provider.exchange(REQUEST).events()) == [Finished(STOP)]
    natives = ["response_format" in request.options for request in recorder.requests]
    assert natives == [True, False, False]
    assert "JSON Schema" in recorder.requests[1].thread.system


@pytest.mark.parametrize(
    "error",
    [
        refusal("max_tokens is too large"),
        refusal("invalid schema", ErrorKind.RATE_LIMITED),
        refusal("no schema", ErrorKind.AUTH),
    ],
)
def test_other_failures_are_told_as_they_are(error: StreamError) -> None:
    recorder = Recorder(error)
    with pytest.raises(StreamError) as caught:
        list(StructuredOutput(recorder, SCHEMA, NATIVE).exchange(REQUEST).events())
    assert caught.value is error and len(recorder.requests) == 1


def test_a_refusal_in_words_too_is_the_end() -> None:
    recorder = Recorder(refusal("no schema"), refusal("no schema at all"))
    with pytest.raises(StreamError, match="at all"):
        list(StructuredOutput(recorder, SCHEMA, NATIVE).exchange(REQUEST).events())


def test_a_refusal_after_the_answer_began_is_no_refusal_of_the_schema() -> None:
    recorder = Recorder(refusal("no schema"))
    recorder.begins_with = [Part(0, MessageDelta("{"))]
    seen: List[StreamEvent] = []
    with pytest.raises(StreamError, match="no schema"):
        for event in StructuredOutput(recorder, SCHEMA, NATIVE).exchange(REQUEST).events():
            seen.append(event)
    assert seen == recorder.begins_with and len(recorder.requests) == 1


def test_a_schema_is_sent_again_where_words_were_refused_too() -> None:
    recorder = Recorder(refusal("no schema"), refusal("the format of the key is wrong"))
    provider = StructuredOutput(recorder, SCHEMA, NATIVE)
    with pytest.raises(StreamError):
        list(provider.exchange(REQUEST).events())
    list(provider.exchange(REQUEST).events())
    assert "response_format" in recorder.requests[-1].options


def test_what_was_stopped_is_not_told_in_words() -> None:
    recorder = Recorder(refusal("no schema"))
    exchange = StructuredOutput(recorder, SCHEMA, NATIVE).exchange(REQUEST)
    exchange.abort()
    with pytest.raises(StreamError, match="no schema"):
        list(exchange.events())
    assert recorder.aborted == 1


def test_aborting_reaches_the_exchange_that_runs() -> None:
    recorder = Recorder(refusal("no schema"))
    exchange = StructuredOutput(recorder, SCHEMA, NATIVE).exchange(REQUEST)
    assert next(exchange.events()) == Finished(STOP)
    exchange.abort()
    assert [each.aborts for each in recorder.exchanges] == [0, 1]
