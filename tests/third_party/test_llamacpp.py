"""jpq against the real llama.cpp server, which runs the embedded model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any, Dict, Iterator, List

import pytest

from jpq.provider.local_process import running_servers
from tests.support import programs
from tests.support.programs import JPQ, ROOT, Ran, conversations, entries
from tests.support.weights import needs_engine

pytestmark = needs_engine

WAIT_S = 60.0
# A grammar makes a small model say what a test can compare.
COUNT = 'grammar=root ::= "one two three four five"'
COUNTED = "one two three four five"
STORY = "Tell me a very long story about a fox."
ENDLESS = 'grammar=root ::= "fox " root'


@pytest.fixture
def environ(home: str) -> Dict[str, str]:
    return programs.environment(JPQ_HOME=home)


def options(*values: str) -> List[str]:
    return [word for value in values for word in ("-o", value)]


def ask(environ: Dict[str, str], *words: str, **more: Any) -> Ran:
    return programs.jpq("-m", "local/smollm2", *words, environ=environ, **more)


def begin_story(environ: Dict[str, str]) -> subprocess.Popen[bytes]:
    """A command that is in the middle of a long answer."""
    command = [*JPQ, "-m", "local/smollm2", *options(ENDLESS), STORY]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, env=environ, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    assert process.stdout is not None and process.stdout.read(20)
    return process


def said_last(home: str) -> List[str]:
    """The answers of the last conversation."""
    last = max(conversations(home), key=lambda path: os.stat(path).st_mtime_ns)
    return [entry["message"] for entry in entries(last) if "message" in entry]


@pytest.mark.parametrize("how", [[], ["--no-stream"]], ids=["stream", "whole"])
def test_an_answer(environ: Dict[str, str], how: List[str]) -> None:
    ran = ask(environ, *how, *options(COUNT), "--format", "json", "Count.")
    result = json.loads(ran.text)
    assert (ran.code, result["text"], result["finish_reason"]) == (0, COUNTED, "stop")
    assert result["usage"]["input_tokens"] > 0 and result["usage"]["output_tokens"] > 0


def test_the_output_limit(environ: Dict[str, str]) -> None:
    ran = ask(environ, *options("max_tokens=3"), STORY)
    ran.failed_with(76, "output limit")
    assert ran.text.strip()


def test_stop_sequences(environ: Dict[str, str]) -> None:
    ran = ask(environ, *options(COUNT, 'stop=["three"]'), "Count.")
    assert (ran.code, ran.text.rstrip("\n")) == (0, "one two ")


@pytest.mark.parametrize("how", [[], ["--no-stream"]], ids=["stream", "whole"])
def test_a_prompt_that_is_too_long(environ: Dict[str, str], how: List[str]) -> None:
    ran = ask(environ, *how, stdin=b"many words " * 5000)
    ran.failed_with(65, "longer than the model can take", "tokens, room for 4096", "HTTP 400")


def test_a_request_that_is_refused(environ: Dict[str, str]) -> None:
    ran = ask(environ, *options("grammar=this is no grammar"), "Count.")
    ran.failed_with(1, "did not accept the request", "grammar", "HTTP 400")


def test_a_conversation_with_answered_calls_is_taken(
    environ: Dict[str, str], tmp_path: Any
) -> None:
    script = programs.script(
        tmp_path,
        'tool_calls = [{ name = "weather", arguments = { city = "Paris" } }]',
        'text = "I do not know."',
    )
    begun = programs.jpq("-m", f"scripted/{script}", "Rain?", environ=environ, cwd=str(tmp_path))
    assert (begun.code, begun.text) == (0, "I do not know.\n")
    ran = ask(environ, "-c", *options(COUNT), "Count.", cwd=str(tmp_path))
    assert (ran.code, ran.text) == (0, f"{COUNTED}\n")


def tokens_in(ran: Ran) -> int:
    count: int = json.loads(ran.text)["usage"]["input_tokens"]
    return count


def test_a_stopped_answer_is_written_on(environ: Dict[str, str], home: str) -> None:
    """The model is given the open answer; a question would be dozens of tokens more."""
    first = ask(environ, *options(COUNT, "max_tokens=3"), "--format", "json", "Count.")
    begun = said_last(home)
    go_on = 'grammar=root ::= "six seven"'
    second = ask(environ, "--retry", *options(go_on, "max_tokens=20"), "--format", "json")
    assert (first.code, second.code) == (76, 0)
    assert said_last(home) == [*begun, "six seven"]
    # Three tokens can be more or less of it: the model may spell a word.
    assert len(begun) == 1 and begun[0] and COUNTED.startswith(begun[0])
    assert 0 < tokens_in(second) - tokens_in(first) < 5


def test_nor_is_anything_repeated_without_streaming(environ: Dict[str, str]) -> None:
    """llama.cpp begins a whole reply with the answer that it was asked to go on with."""
    first = ask(environ, *options(COUNT, "max_tokens=3"), "Count.")
    second = ask(environ, "--retry", "--no-stream", *options(COUNT, "max_tokens=20"))
    assert (first.code, second.code) == (76, 0)
    assert second.text == f"{COUNTED}\n"


def test_a_command_that_is_killed_leaves_an_answer_to_go_on_with(
    environ: Dict[str, str], home: str
) -> None:
    with begin_story(environ) as process:
        process.kill()
    ran = ask(environ, "--retry", *options(COUNT, "max_tokens=3"))
    assert ran.code == 76 and ran.text.strip()
    said = said_last(home)
    assert len(said) == 2 and said[1].strip() == ran.text.strip()


def test_the_next_command_is_served_after_one_that_was_stopped(environ: Dict[str, str]) -> None:
    with begin_story(environ) as process:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=WAIT_S)
    assert process.returncode == -signal.SIGINT
    ran = ask(environ, *options(COUNT), "Count.")
    assert (ran.code, ran.text) == (0, f"{COUNTED}\n")


def test_two_commands_at_once_are_both_answered(environ: Dict[str, str], home: str) -> None:
    with begin_story(environ) as process:
        # The server has one slot: the second command is served when the first one ends.
        second = subprocess.Popen(
            [*JPQ, "-m", "local/smollm2", *options(COUNT), "Count."],
            env=environ,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=WAIT_S)
        assert second.communicate(timeout=WAIT_S)[0] == f"{COUNTED}\n".encode()
    assert second.returncode == 0
    assert len(running_servers(os.path.join(home, "state"))) == 1


SURE = ("-o", "temperature=0")  # it says what is most likely, and nothing else
CLOCK = """
[tools.get_time]
description = "Get the current time"
command = ["printf", "14:32"]
"""


@pytest.fixture
def clock(home: str) -> Iterator[None]:
    path = os.path.join(home, "config.toml")
    with open(path, "w") as file:
        file.write(CLOCK)
    yield
    os.unlink(path)


def test_it_calls_a_tool_and_uses_what_it_gave(environ: Dict[str, str], clock: None) -> None:
    ran = ask(environ, "-t", "get_time", "-y", *SURE, "What time is it?")
    assert ran.code == 0 and "14:32" in ran.text
    assert ran.err.count(b"get_time()") == 1


def test_a_forced_call_is_made_once_and_then_answered(environ: Dict[str, str], clock: None) -> None:
    ran = ask(environ, "-y", "--tool-choice", "required", *SURE, "What time is it?")
    assert ran.code == 0 and "14:32" in ran.text


def test_tools_do_not_keep_it_from_talking(environ: Dict[str, str], clock: None) -> None:
    ran = ask(environ, "--ephemeral", "-y", *SURE, "Hello")
    assert ran.code == 0 and "Hello" in ran.text and b"get_time" not in ran.err
