"""jpq against llmock, which breaks like the providers do and judges its client.

CHOICES are the only things that llmock may hold against jpq; docs/providers.md explains them.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import pytest

from tests.support import programs
from tests.support.llmock import CONTEXT_TOKENS, Finding, Llmock
from tests.support.programs import ROOT, Ran

ANSWER = "one two three four five six seven"
SHOWN, REST = "one two ", "three four five six seven"
QUESTION = "Count to seven."
KEY = "sk-test-of-llmock"


class Dialect(NamedTuple):
    """Where llmock speaks an API, and how many chunks of a stream it takes to say SHOWN."""

    path: str
    shown_after: int


DIALECTS = {
    "openai-chat": Dialect("/v1", 3),
    "openai-responses": Dialect("/v1", 6),
    "anthropic": Dialect("/anthropic/v1", 5),
    "google": Dialect("/gemini/v1beta", 2),
}

# What llmock takes for a retry is the same request again. After a break with nothing shown
# that is what jpq sends. What was shown is not asked for again but gone on with, which is
# another request; and where a server asks for a wait longer than request.retry_after_max_s,
# jpq tells when to come back instead of waiting. (Finding, beginning of the model's name)
CHOICES = {
    ("gave_up", "disconnect-shown"),
    ("truncated_stream_accepted", "truncate-shown"),
    ("malformed_chunk_ignored", "malformed-shown"),
    ("gave_up", "long-wait"),
}

CONFIG = """
[providers.mock]
api = "{api}"
base_url = "{url}"
api_key_env = "MOCK_KEY"
[request]
backoff_base_s = 0.1
"""
# A stall lasts much longer; a busy machine may be silent for a moment.
IMPATIENT = {"stall": ("--set", "request.idle_timeout_s=3")}
# So long that no moment of a busy machine makes the first wait look like the last.
UNHURRIED = ("--set", "request.backoff_base_s=0.5")


class Client:
    """jpq with a configuration that makes it speak one API to llmock."""

    def __init__(self, server: Llmock, api: str, case: str) -> None:
        self.server = server
        self.dialect = DIALECTS[api]
        self.model = f"{case}.{api}"
        home = os.environ["JPQ_HOME"]
        os.makedirs(home)
        with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG.format(api=api, url=server.url + self.dialect.path))

    def ask(self, *behaviours: Dict[str, Any], words: str = QUESTION, options: Any = ()) -> Ran:
        """Ask the model, which meets ``behaviours``."""
        if behaviours:
            self.server.script(self.model, *behaviours)
        environ = programs.environment(MOCK_KEY=KEY)
        return programs.jpq("-m", f"mock/{self.model}", *options, words, environ=environ)

    def requests(self) -> List[Dict[str, Any]]:
        return self.server.requests(self.model)

    def is_judged(self, *codes: str) -> None:
        """llmock has held ``codes`` against it, all of which are CHOICES."""
        found = self.server.findings(self.model)
        assert found == [Finding(code, self.model) for code in codes]
        assert unexplained(found) == []


def unexplained(found: Sequence[Finding]) -> List[Finding]:
    """The findings that are not CHOICES."""
    return [each for each in found if (each.code, each.model.partition(".")[0]) not in CHOICES]


def says(text: str, **more: Any) -> Dict[str, Any]:
    return {"type": "reply", "text": text, **more}


def fails(status: int, **more: Any) -> Dict[str, Any]:
    return {"type": "fail", "status": status, **more}


def breaks(kind: str, after: int) -> Dict[str, Any]:
    return {"type": "stream_fault", "kind": kind, "after_chunks": after, "stall_seconds": 30}


def calls(name: str, **arguments: Any) -> Dict[str, Any]:
    return {"type": "reply", "tool_calls": [{"name": name, "arguments": arguments}]}


# What a decoder or an error's body decides is tried with every API, the rest with one.
in_every_api = pytest.mark.parametrize("api", DIALECTS)
in_one_api = pytest.mark.parametrize("api", ["openai-chat"])


@in_every_api
@pytest.mark.parametrize("options", [(), ("--no-stream",)], ids=["stream", "whole"])
def test_an_answer(llmock: Llmock, api: str, options: Tuple[str, ...]) -> None:
    client = Client(llmock, api, "-".join(("answer", *options)))
    ran = client.ask(says(ANSWER), options=options)
    assert ran == Ran(0, f"{ANSWER}\n".encode(), b"")
    (request,) = client.requests()
    assert request["stream"] is not bool(options)
    client.is_judged()


@in_every_api
@pytest.mark.parametrize(
    "status, told",
    [(429, "takes no more requests for now"), (529, "is overloaded")],
)
def test_a_failure_that_passes(llmock: Llmock, api: str, status: int, told: str) -> None:
    client = Client(llmock, api, str(status))
    ran = client.ask(fails(status, retry_after=0.2), says(ANSWER))
    assert (ran.code, ran.text) == (0, f"{ANSWER}\n")
    (line,) = ran.told
    assert f"The provider {told}" in line and "Attempt 2 of 4 in 0.2 s." in line
    assert len(client.requests()) == 2
    client.is_judged()


@in_one_api
def test_a_server_that_names_no_wait_is_asked_less_and_less_often(llmock: Llmock, api: str) -> None:
    client = Client(llmock, api, "backoff")
    ran = client.ask(fails(500, times=3), says(ANSWER), options=UNHURRIED)
    assert (ran.code, ran.text, len(ran.told)) == (0, f"{ANSWER}\n", 3)
    client.is_judged()


@in_one_api
@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed", "stall"])
def test_a_stream_that_breaks_before_anything_is_shown_is_asked_for_again(
    llmock: Llmock, api: str, kind: str
) -> None:
    client = Client(llmock, api, kind)
    fault = breaks(kind, client.dialect.shown_after - 2)
    ran = client.ask(says(ANSWER, times=2), fault, options=IMPATIENT.get(kind, ()))
    assert (ran.code, ran.text) == (0, f"{ANSWER}\n")
    assert len(ran.told) == 1 and ". Attempt 2 of 4" in ran.told[0]
    first, second = client.requests()
    assert first["body"] == second["body"]
    client.is_judged()


@in_every_api
@pytest.mark.parametrize(
    "kind, findings",
    [
        ("disconnect", ["gave_up"]),
        ("truncate", ["truncated_stream_accepted"]),
        ("malformed", ["malformed_chunk_ignored"]),
        ("stall", []),
    ],
)
def test_a_stream_that_breaks_later_is_gone_on_with(
    llmock: Llmock, api: str, kind: str, findings: List[str]
) -> None:
    client = Client(llmock, api, f"{kind}-shown")
    fault = breaks(kind, client.dialect.shown_after)
    ran = client.ask(says(ANSWER), says(REST), fault, options=IMPATIENT.get(kind, ()))
    assert (ran.code, ran.text) == (0, f"{ANSWER}\n")
    assert len(ran.told) == 1 and ". Attempt 2 of 4" in ran.told[0]
    first, second = client.requests()
    assert SHOWN.strip() in str(second["body"]) and SHOWN.strip() not in str(first["body"])
    client.is_judged(*findings)


@in_one_api
def test_an_outage_ends_after_the_last_attempt(llmock: Llmock, api: str) -> None:
    client = Client(llmock, api, "outage")
    ran = client.ask(fails(503, times=None, retry_after=0))
    assert (ran.code, ran.text) == (75, "")
    assert len(client.requests()) == 4
    assert "HTTP 503" in ran.told[-2]
    client.is_judged()


@in_one_api
def test_a_wait_that_is_too_long_is_told(llmock: Llmock, api: str) -> None:
    client = Client(llmock, api, "long-wait")
    ran = client.ask(fails(429, retry_after=100))
    ran.failed_with(75, "HTTP 429", "Try again in 100 s.")
    client.is_judged("gave_up")


@in_every_api
def test_a_wrong_key_is_not_tried_again(llmock: Llmock, api: str) -> None:
    client = Client(llmock, api, "key")
    ran = client.ask(fails(401))
    ran.failed_with(77, "did not accept the API key", "HTTP 401", "jpq keys set")
    assert KEY not in str(ran)
    assert len(client.requests()) == 1
    client.is_judged()


@in_one_api
def test_a_request_that_is_refused_is_not_made_again(llmock: Llmock, api: str) -> None:
    client = Client(llmock, api, "request")
    client.ask(fails(400)).failed_with(1, "did not accept the request", "HTTP 400")
    assert len(client.requests()) == 1
    client.is_judged()


@in_every_api
def test_a_prompt_that_is_too_long(llmock: Llmock, api: str) -> None:
    client = Client(llmock, api, "context")
    ran = client.ask(words="many words " * CONTEXT_TOKENS)
    ran.failed_with(65, "longer than the model can take", f"{CONTEXT_TOKENS}")
    assert len(client.requests()) == 1
    client.is_judged()


@in_every_api
def test_a_call_of_an_unknown_tool_is_answered(llmock: Llmock, api: str) -> None:
    client = Client(llmock, api, "tool")
    ran = client.ask(calls("no_such_tool", city="Paris"), says(ANSWER))
    assert (ran.code, ran.text) == (0, f"{ANSWER}\n")
    second = str(client.requests()[1]["body"])
    assert "Paris" in second and "there is no tool named 'no_such_tool'" in second
    client.is_judged()


@in_one_api
def test_a_call_with_broken_arguments_is_answered(llmock: Llmock, api: str) -> None:
    client = Client(llmock, api, "arguments")
    fault = {"type": "tool_fault", "kind": "malformed_arguments"}
    ran = client.ask(calls("weather", city="Paris"), fault, says(ANSWER))
    assert (ran.code, ran.text) == (0, f"{ANSWER}\n")
    assert "not a JSON object" in str(client.requests()[1]["body"])
    client.is_judged()


@in_every_api
def test_an_answer_that_reaches_the_output_limit(llmock: Llmock, api: str) -> None:
    client = Client(llmock, api, "length")
    ran = client.ask(says(ANSWER, finish_reason="length"))
    assert (ran.code, ran.text) == (76, f"{ANSWER}\n")
    assert "output limit" in ran.told[0]
    client.is_judged()


def test_the_strict_report_holds_nothing_against_jpq_that_is_no_choice(llmock: Llmock) -> None:
    """Over all that the tests above did; each has looked at its own part already."""
    found = llmock.strict_report()
    assert unexplained(found) == []


def test_the_choices_are_documented() -> None:
    with open(os.path.join(ROOT, "docs", "providers.md"), encoding="utf-8") as file:
        page = file.read()
    assert [code for code, _ in sorted(CHOICES) if f"`{code}`" not in page] == []
