"""Answers from a script."""

from __future__ import annotations

import json
import os
import threading
from typing import Any, List, Tuple

import pytest

from jpq.conversation.thread import (
    Message,
    Thread,
    ThreadText,
    ThreadToolCall,
    ThreadToolResult,
)
from jpq.errors import ConfigError, ErrorKind
from jpq.events.parts import Finished, KeepAlive, MessageDelta, Part, StreamEvent
from jpq.events.usage import Usage
from jpq.provider.base import Exchange, ProviderRequest, ProviderRow
from jpq.provider.scripted import ScriptedProvider
from tests.support.decoding import Decoded, check_order, collect

SCRIPT = """
[[reply]]
reasoning = "The person greets."
text = ["Hel", "lo!"]
model = "demo-1"
usage = { input_tokens = 9, output_tokens = 2, reasoning_tokens = 1, cache_read_tokens = 4 }

[[reply]]
match = "weather"
tool_calls = [{ name = "weather", arguments = { city = "Paris" } }]

[[reply]]
match = "weather"
text = "It is  sunny.\\n"

[[reply]]
text = "Anything else?"
finish = "length"
"""


def ask(*texts: str, continues: bool = False) -> Thread:
    """A thread in which person and model spoke in turn."""
    roles = ("user", "assistant")
    messages = [Message(roles[n % 2], (ThreadText(text),)) for n, text in enumerate(texts)]
    return Thread("", tuple(messages), continues)


def write(tmp_path: Any, text: str, name: str = "script.toml") -> str:
    path = os.path.join(str(tmp_path), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def open_provider(path: str) -> ScriptedProvider:
    return ScriptedProvider(ProviderRow("scripted", "scripted", path))


def exchange(provider: ScriptedProvider, thread: Thread) -> Exchange:
    return provider.exchange(ProviderRequest("any", thread))


def run(provider: ScriptedProvider, thread: Thread) -> Decoded:
    decoded = collect(exchange(provider, thread).events())
    check_order(decoded.events)
    return decoded


def test_a_reply_with_everything(tmp_path: Any) -> None:
    provider = open_provider(write(tmp_path, SCRIPT))
    decoded = run(provider, ask("Hi"))
    response = decoded.response
    assert (response.reasoning, response.text) == ("The person greets.", "Hello!")
    assert (response.model, response.stop_reason) == ("demo-1", "stop")
    assert response.usage == Usage(9, 2, 1, 4)
    texts = [e.payload for e in decoded.events if isinstance(e, Part)]
    assert texts[-2:] == [MessageDelta("Hel"), MessageDelta("lo!")]


def test_the_thread_says_which_reply_is_due(tmp_path: Any) -> None:
    path = write(tmp_path, SCRIPT)
    for thread, text in (
        (ask("Hi"), "Hello!"),
        (ask("Hi", "Hello!", "And?"), "Anything else?"),
        (ask("Hi", "Hello!", "And?", "Anything else?", "Hm"), "Anything else?"),
    ):
        # A new provider each time: nothing is remembered from one process to the next.
        assert run(open_provider(path), thread).response.text == text


def test_a_matching_question_starts_its_own_sequence(tmp_path: Any) -> None:
    provider = open_provider(write(tmp_path, SCRIPT))
    asked = ask("Hi", "Hello!", "How is the WEATHER?")
    response = run(provider, asked).response
    (call,) = response.tool_calls
    assert (call.name, call.arguments) == ("weather", {"city": "Paris"})
    assert response.stop_reason == "tool_calls"
    called = Message("assistant", (ThreadToolCall(call.id, call.name, call.arguments),))
    answered = Message("user", (ThreadToolResult(call.id, call.name, "sunny", False),))
    thread = asked._replace(messages=(*asked.messages, called, answered))
    assert run(provider, thread).response.text == "It is  sunny.\n"


def test_calls_of_different_cycles_have_different_ids(tmp_path: Any) -> None:
    provider = open_provider(write(tmp_path, '[[reply]]\ntool_calls = [{name="a"}, {name="b"}]'))
    seen = [
        c.id for t in (ask("x"), ask("x", "y", "z")) for c in run(provider, t).response.tool_calls
    ]
    assert len(set(seen)) == 4


def test_json_does_as_well_and_the_model_may_name_the_file(tmp_path: Any) -> None:
    script = {"reply": [{"text": "Hi", "tool_calls": [{"name": "f", "arguments": '{"a'}]}]}
    path = write(tmp_path, json.dumps(script), "script.json")
    provider = ScriptedProvider(ProviderRow("scripted", "scripted"))
    provider.prepare(path, progress=None)  # type: ignore[arg-type]
    request = ProviderRequest(path, ask("x"), stream=False)
    response = collect(provider.exchange(request).events()).response
    assert response.text == "Hi"
    assert response.tool_calls[0].raw == '{"a'


@pytest.mark.parametrize(
    "fault,kind",
    [
        ('status = 429\nerror = "slow down"\nretry_after_s = 2', ErrorKind.RATE_LIMITED),
        ("status = 529", ErrorKind.OVERLOADED),
        ('error = { message = "slow down", code = 502 }', ErrorKind.SERVER),
        ('error = "slow down"', ErrorKind.SERVER),
    ],
)
def test_faults_with_an_error(tmp_path: Any, fault: str, kind: ErrorKind) -> None:
    provider = open_provider(write(tmp_path, f'[[reply]]\ntext = "Hi"\n{fault}'))
    decoded = run(provider, ask("x"))
    assert decoded.error is not None
    assert decoded.error.kind is kind
    assert decoded.response.text == ("" if "status" in fault else "Hi")
    if "retry_after_s" in fault:
        assert decoded.error.retry_after == 2 and "slow down" in decoded.error.message


def test_a_cut_is_gone_on_with_where_it_happened(tmp_path: Any) -> None:
    provider = open_provider(
        write(tmp_path, '[[reply]]\ntext = "One two three"\ncut = true\nfails = 1')
    )
    cut = run(provider, ask("x"))
    assert (cut.error, cut.response.stop_reason) == (None, "interrupted")
    whole = run(provider, ask("x", "One two", continues=True))
    assert (whole.response.text, whole.response.stop_reason) == (" three", "stop")


def test_what_is_not_its_beginning_is_not_gone_on_with(tmp_path: Any) -> None:
    provider = open_provider(write(tmp_path, '[[reply]]\ntext = "One two"'))
    assert run(provider, ask("x", "Two", continues=True)).response.text == "One two"


def test_a_reply_fails_as_often_as_it_says(tmp_path: Any) -> None:
    provider = open_provider(write(tmp_path, '[[reply]]\ntext = "Hi"\nstatus = 503\nfails = 2'))
    errors = [run(provider, ask("x")).error is not None for _ in range(4)]
    assert errors == [True, True, False, False]


@pytest.mark.parametrize("waits", ["stall = true", "delay_s = 3600"])
def test_abort_ends_every_wait_at_once(tmp_path: Any, waits: str) -> None:
    provider = open_provider(write(tmp_path, f'[[reply]]\ntext = "Hi"\n{waits}'))
    running = exchange(provider, ask("x"))
    seen: List[StreamEvent] = []
    reader = threading.Thread(target=lambda: seen.extend(running.events()), name="reader")
    reader.start()
    running.abort()
    reader.join(30)
    assert not reader.is_alive()
    assert seen[-1] == Finished("interrupted")
    assert not any(isinstance(event, KeepAlive) for event in seen)


def test_the_end_is_announced(tmp_path: Any) -> None:
    running = exchange(open_provider(write(tmp_path, '[[reply]]\ntext = "Hi"')), ask("x"))
    before, after = [], []
    for event in running.events():
        (after if running.ending else before).append(event)
    assert any(isinstance(event, Part) for event in before)
    assert isinstance(after[-1], Finished)


SCRIPTS: Tuple[Tuple[str, str, str], ...] = (
    ("a.toml", "", "at least one"),
    ("a.toml", "reply = 3", "at least one"),
    ("a.toml", "[[reply]\n", "a.toml:1"),
    ("a.json", "{", "a.json:1"),
    ("a.json", "[1]", "at least one"),
    ("a.json", '{"reply": [1]}', "a reply is a table"),
    ("a.toml", '[[reply]]\ntxt = "x"', "'text'"),
    ("a.toml", "[[reply]]\ntext = 3", "'text' has the wrong type"),
    ("a.toml", "[[reply]]\ntext = [3]", "strings"),
    ("a.toml", "[[reply]]\ndelay_s = true", "'delay_s' has the wrong type"),
    ("a.toml", "[[reply]]\nmatch = '('", "regular expression"),
    ("a.toml", "[[reply]]\nmatch = 'a{99999999999}'", "regular expression"),
    ("a.toml", "[[reply]]\ntool_calls = [{}]", "needs a name"),
    ("a.toml", "[[reply]]\n\n[[reply]]\nfinsh = 'x'", "reply 2"),
)


@pytest.mark.parametrize("name,text,words", SCRIPTS)
def test_a_script_that_cannot_be_used(tmp_path: Any, name: str, text: str, words: str) -> None:
    provider = open_provider(write(tmp_path, text, name))
    with pytest.raises(ConfigError) as caught:
        provider.prepare("any", progress=None)  # type: ignore[arg-type]
    told = "\n".join((caught.value.message, caught.value.where, caught.value.hint))
    assert words in told and "a." in told


def test_a_script_that_is_not_there(tmp_path: Any) -> None:
    provider = open_provider(os.path.join(str(tmp_path), "none.toml"))
    with pytest.raises(ConfigError, match="cannot be read"):
        provider.prepare("any", progress=None)  # type: ignore[arg-type]


def test_a_question_that_no_reply_matches(tmp_path: Any) -> None:
    provider = open_provider(write(tmp_path, "[[reply]]\nmatch = 'cats'"))
    with pytest.raises(ConfigError, match="no reply"):
        exchange(provider, ask("dogs"))


def test_the_script_in_the_documentation(tmp_path: Any) -> None:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "docs", "providers.md"), encoding="utf-8") as file:
        blocks = file.read().split("```")
    scripts = [block for block in blocks if block.startswith("toml\n") and "[[reply]]" in block]
    (script,) = [block[len("toml") :] for block in scripts]
    provider = open_provider(write(tmp_path, script))
    assert run(provider, ask("How is the weather?")).response.stop_reason == "tool_calls"
    assert run(provider, ask("Hi")).response.text == "Hello!"
    second = ask("Hi", "Hello!", "And?")
    reasons = [run(provider, second).response.stop_reason for _ in range(2)]
    assert reasons == ["interrupted", "stop"]
