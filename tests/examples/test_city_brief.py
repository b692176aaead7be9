"""examples/city-brief as a person runs it: the real program against an API that misbehaves."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from typing import Any, Dict, Iterator, List, Mapping, Tuple

import pytest

from tests.support.programs import (
    JPQ,
    ROOT,
    WAIT_S,
    Ran,
    conversations,
    entries,
    environment,
    jpq,
    model_at,
)
from tests.support.server import Server, answer

EXAMPLE = os.path.join(ROOT, "examples", "city-brief")
SLOW_S = 0.3


class Example:
    """The running API, and a JPQ_HOME with the example's configuration."""

    def __init__(self, port: str, log: str) -> None:
        self.log = log
        self.jpq_log = os.path.join(os.environ["JPQ_HOME"], "state", "log", "jpq.log")
        os.makedirs(os.environ["JPQ_HOME"], exist_ok=True)
        with open(os.path.join(EXAMPLE, "config.toml"), encoding="utf-8") as file:
            config = file.read()
        assert ":8765/" in config
        path = os.path.join(os.environ["JPQ_HOME"], "config.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config.replace(":8765/", f":{port}/"))

    def ask(self, *words: str) -> Ran:
        return jpq(*words, cwd=EXAMPLE)

    def happened(self) -> List[Tuple[float, str, str]]:
        """What the API noted: when, what, and of which tool."""
        with open(self.log, encoding="utf-8") as file:
            lines = [line.split() for line in file]
        return [(float(when), what, path) for when, what, path, *_ in lines]

    def has_answered(self, count: int) -> List[Tuple[float, str, str]]:
        """What happened, once the API has noted so many answers, which it does when a client
        has them."""
        _until(lambda: [what for _, what, _ in self.happened()].count("answered") >= count)
        return self.happened()


@pytest.fixture
def example(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Example]:
    """The parameter is how long each answer takes, in seconds."""
    slow_s = getattr(request, "param", SLOW_S)
    log = str(tmp_path / "api.log")
    command = [sys.executable, os.path.join(EXAMPLE, "api.py"), "--port", "0"]
    command += ["--slow", str(slow_s), "--log", log]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as api:
        assert api.stdout is not None
        address = api.stdout.readline().decode().strip()
        yield Example(address.rpartition(":")[2], log)
        api.terminate()


def results(ran: Ran) -> Dict[str, Any]:
    """What each tool gave, by its name."""
    events = ran.events
    names = {each["id"]: each["name"] for each in events if each["type"] == "tool_use"}
    return {
        names[each["id"]]: (each["is_error"], each["content"])
        for each in events
        if each["type"] == "tool_result"
    }


@pytest.mark.parametrize("example", [3.0], indirect=True)
def test_both_tools_run_at_once_and_give_what_the_paths_lead_to(example: Example) -> None:
    ran = example.ask("--format", "jsonl", "Brief me about Paris.")
    assert ran.code == 0
    assert results(ran) == {
        "weather": (False, '{"temperature_c": 21, "sky": "clear"}'),
        "research": (
            False,
            '["The Louvre is closed on Tuesdays.", "The metro runs until 1:15."]',
        ),
    }
    assert ran.result["text"].startswith("Paris: 21 degrees")
    # The turn takes the longer of the two, since the second begins before the first ends.
    happened = [what for _, what, _ in example.has_answered(2)]
    assert happened == ["asked", "asked", "answered", "answered"]


def test_a_list_of_one_is_the_same_answer(example: Example) -> None:
    ran = example.ask("--format", "jsonl", "Brief me about Tokyo.")
    assert results(ran)["weather"] == (False, '{"temperature_c": 27, "sky": "rain"}')


def test_throttled_it_waits_as_told_and_says_so_in_the_log_only(example: Example) -> None:
    ran = example.ask("Brief me about Oslo.")
    assert (ran.code, ran.text) == (0, "Oslo: 9 degrees and cloudy. You may walk on the opera's "
                                    "roof.\n")  # fmt: skip
    happened = example.has_answered(4)  # three of them are about the weather
    weather = [(when, what) for when, what, path in happened if path == "/weather"]
    assert [what for _, what in weather] == ["asked", "answered"] * 3
    waits = [weather[i + 2][0] - weather[i][0] - SLOW_S for i in (0, 2)]
    assert all(0.499 <= wait < 15 for wait in waits), waits
    with open(example.jpq_log, encoding="utf-8") as file:
        logged = re.findall(r"weather: throttled, waiting ([\d.]+) s \((.*)\)", file.read())
    assert logged == [("0.5", "attempt 1 of 3"), ("0.5", "attempt 2 of 3")]
    assert not [line for line in ran.told if "INFO" in line or "jpq.tools" in line]


def test_throttled_for_good_is_told_to_the_model(example: Example) -> None:
    ran = example.ask("--format", "jsonl", "Brief me about Quito.")
    assert ran.code == 0
    is_error, content = results(ran)["weather"]
    assert is_error and content.startswith("The service is throttled: it was asked 3 times")


def test_a_web_page_instead_of_json_is_an_error_result(example: Example) -> None:
    ran = example.ask("--format", "jsonl", "Brief me about Atlantis.")
    assert ran.code == 0
    told = (True, 'The server sent a web page instead of JSON: "No such city"')
    assert results(ran) == {"weather": told, "research": told}


def test_ctrl_c_during_a_call_answers_at_once_and_leaves_a_history_that_can_go_on(
    example: Example,
) -> None:
    process = subprocess.Popen(
        [*JPQ, "Brief me about Lima."],
        cwd=EXAMPLE,
        env=environment(CI="true"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        _until(lambda: os.path.exists(example.log) and len(example.happened()) == 2)
        started = time.monotonic()
        process.send_signal(2)
        process.communicate(timeout=WAIT_S)
    assert time.monotonic() - started < 20  # the API would take half a minute
    assert process.returncode == -2
    (folder,) = conversations()
    saved = entries(folder)
    calls = [each["id"] for each in saved if each["type"] == "tool_call_request"]
    answered = [each for each in saved if each["type"] == "tool_call_response"]
    assert len(calls) == 2 and sorted(each["id"] for each in answered) == sorted(calls)
    assert all(each["content"].startswith("Cancelled") for each in answered)
    _accepted_by_a_provider(folder)


def _accepted_by_a_provider(folder: str) -> None:
    """Go on with the conversation at a server: each call has its result right behind it."""
    with Server(answer("Where were we?")) as server:
        ran = jpq(*model_at(server), "-r", os.path.basename(folder), "Go on.", cwd=EXAMPLE)
        assert (ran.code, ran.text) == (0, "Where were we?\n"), ran.told
        messages: List[Mapping[str, Any]] = server.seen[0].json["messages"]
    roles = [message["role"] for message in messages]
    asks = roles.index("assistant")
    assert roles[asks : asks + 3] == ["assistant", "tool", "tool"]
    wanted = [call["id"] for call in messages[asks]["tool_calls"]]
    assert [message["tool_call_id"] for message in messages[asks + 1 : asks + 3]] == wanted
    assert "tool" not in roles[asks + 3 :] and roles[-1] == "user"
    assert all(json.loads(call["function"]["arguments"]) for call in messages[asks]["tool_calls"])


def _until(holds: Any) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
