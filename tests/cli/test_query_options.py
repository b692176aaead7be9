"""Every option of a query, seen from outside: what it makes jpq send, show or save."""

from __future__ import annotations

import glob
import json
import os
from typing import Any, Dict, List, Sequence

import pytest

from jpq.cli.query_parser import build_parser
from tests.support.programs import (
    ROOT,
    base_url,
    conversations,
    entries,
    environment,
    jpq,
    model_at,
    script,
)
from tests.support.server import DONE, FINISH, USAGE, Server, answer, delta, error, reply


@pytest.fixture
def model(tmp_path: Any) -> List[str]:
    usage = "usage = { input_tokens = 7, output_tokens = 3 }"
    return ["-m", "scripted/" + script(tmp_path, f'text = "Hello there."\n{usage}')]


def request_of(*arguments: str, times: int = 1, **channels: Any) -> Dict[str, Any]:
    """What the last of ``times`` runs with ``arguments`` sends."""
    with Server(answer("Hi")) as server:
        for _ in range(times):
            ran = jpq(*model_at(server), *arguments, **channels)
            assert ran.code == 0, ran
        sent: Dict[str, Any] = server.seen[-1].json
    return sent


def test_model() -> None:
    assert request_of("hi")["model"] == "test"
    assert request_of("--model", "custom/other/name", "hi")["model"] == "other/name"
    assert request_of("--set", "aliases.mine=custom/third", "-m", "mine", "hi")["model"] == "third"


def test_system_as_text_and_from_a_file(tmp_path: Any) -> None:
    (tmp_path / "system.md").write_text("Be brief.\n")
    for system in ("Be brief.\n", "@system.md", f"@{tmp_path}/system.md"):
        messages = request_of("-s", system, "hi", cwd=str(tmp_path))["messages"]
        assert messages[0] == {"role": "system", "content": "Be brief.\n"}


def test_a_system_prompt_that_can_be_read_once_only() -> None:
    read, write = os.pipe()
    os.write(write, b"From a pipe.")
    os.close(write)
    try:
        messages = request_of("-s", "@/dev/stdin", "hi", stdin=read)["messages"]
    finally:
        os.close(read)
    assert messages[0]["content"] == "From a pipe."


def test_model_options() -> None:
    given = ["temperature=0.2", "seed=7", 'stop=["END"]', "user=me", "logprobs=true", "top_p=NaN"]
    sent = request_of(*[word for option in given for word in ("-o", option)], "hi")
    assert (sent["temperature"], sent["seed"], sent["stop"]) == (0.2, 7, ["END"])
    assert (sent["user"], sent["logprobs"], sent["top_p"]) == ("me", True, "NaN")


def test_continue_and_resume() -> None:
    assert request_of("-s", "Be brief.", "one")["messages"][-1]["content"] == "one"
    (first,) = conversations()
    sent = request_of("-c", "two")["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert sent[0]["content"] == "Be brief."  # what an option set stays with the conversation
    request_of("another")
    sent = request_of("--resume", os.path.basename(first), "three")["messages"]
    assert [m["content"] for m in sent if m["role"] == "user"] == ["one", "two", "three"]
    assert len(conversations()) == 2


def test_retry_asks_an_unanswered_question_again() -> None:
    with Server(error("401 Unauthorized", b"{}"), answer("Hi")) as server:
        assert jpq(*model_at(server), "hi").code == 77
        ran = jpq(*model_at(server), "--retry")
        assert server.seen[0].json["messages"] == server.seen[1].json["messages"]
    assert (ran.code, ran.text) == (0, "Hi\n")
    (folder,) = conversations()
    assert [e["content"] for e in entries(folder) if e["type"] == "chat_request"] == ["hi"]


def test_ephemeral(model: List[str]) -> None:
    ran = jpq(*model, "--ephemeral", "--format", "jsonl", "hi")
    assert (ran.code, ran.events[0]["id"]) == (0, None)
    assert conversations() == []


def test_no_stream() -> None:
    whole = {
        "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]
    }
    with Server(error("200 OK", json.dumps(whole).encode())) as server:
        ran = jpq(*model_at(server), "--no-stream", "hi")
        assert not server.seen[0].json.get("stream")
    assert (ran.code, ran.text) == (0, "Hi\n")


@pytest.mark.parametrize("spelling", ["/v1", "/v1/", "", "/", "/v1/chat/completions"])
def test_base_url_wins_over_its_variable_however_it_is_written(spelling: str) -> None:
    with Server(answer("Hi")) as server:
        root = server.url[: -len("/v1")]
        env = environment(CUSTOM_BASE_URL="http://127.0.0.1:9/v1")
        ran = jpq("-m", "custom/test", "--base-url", root + spelling, "hi", environ=env)
        assert server.seen[0].path == "/v1/chat/completions"
    assert (ran.code, ran.text) == (0, "Hi\n")


def test_a_setting_wins_over_the_variable_of_base_url() -> None:
    env = environment(CUSTOM_BASE_URL="http://127.0.0.1:9/v1")
    with Server(answer("Hi")) as server:
        assert jpq("-m", "custom/test", *base_url(server.url), "hi", environ=env).code == 0


def test_retries() -> None:
    with Server(error("503 Service Unavailable", b"{}")) as server:
        options = ["-m", "custom/test", *base_url(server.url)]
        ran = jpq(*options, "--set", "request.backoff_base_s=0.01", "--retries", "2", "hi")
        assert len(server.seen) == 3
    assert ran.code == 75 and "Attempt 3 of 3" in ran.told[1]


def test_the_whole_run_may_be_limited_in_the_configuration(model: List[str]) -> None:
    jpq(*model, "--set", "request.total_timeout_s=1e-9", "hi").failed_with(124, "--timeout")


def test_max_cycles() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "nosuch", "arguments": "{}"}}
    asks = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    ends = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    with Server(reply(asks, ends, USAGE, DONE)) as server:
        ran = jpq(*model_at(server), "--max-cycles", "1", "--json", "hi")
        assert len(server.seen) == 2
    assert ran.code == 76
    assert "max_cycles" in ran.told[-2] and "--max-cycles" in ran.told[-1]
    assert ran.result["status"] == "limited"
    assert ran.result["usage"] == {"input_tokens": 14, "output_tokens": 6}


@pytest.mark.parametrize("price, code", [("1", 76), ("0.000001", 0)])
def test_max_cost(price: str, code: int) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "nosuch", "arguments": "{}"}}
    asks = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    ends = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    prices = [f'prices."custom/*".{kind}={price}' for kind in ("input", "output")]
    sets = [word for each in prices for word in ("--set", each)]
    with Server(reply(asks, ends, USAGE, DONE), answer("Hi")) as server:
        ran = jpq(*model_at(server), *sets, "--max-cost", "0.000005", "--json", "hi")
        assert len(server.seen) == (1 if code else 2)
    assert ran.code == code
    if code:
        assert "max_cost_usd" in ran.told[-2] and "--max-cost" in ran.told[-1]
        assert ran.result["status"] == "limited"


@pytest.mark.parametrize("word", ["0", "-1", "much", "nan"])
def test_max_cost_is_an_amount(word: str) -> None:
    jpq("--max-cost", word, "hi").failed_with(2, "--max-cost")


def test_usage(model: List[str]) -> None:
    (line,) = jpq(*model, "-u", "hi").told
    assert line.startswith("jpq: tokens: 7 in, 3 out")
    assert jpq(*model, "-u", "-q", "hi").told == []
    assert jpq(*model, "hi").told == []


def test_verbose_and_quiet(model: List[str]) -> None:
    told = "\n".join(jpq(*model, "-v", "hi").told)
    (folder,) = conversations()
    assert f"saved in {folder}" in told
    assert "answered by scripted" in told and "7 in, 3 out" in told
    assert "nothing is saved" in "\n".join(jpq(*model, "-v", "--ephemeral", "hi").told)


def test_quiet_shows_errors() -> None:
    jpq("-q", "-m", "nosuch/x", "hi").failed_with(78, "no provider")


def reasoned(*options: str) -> str:
    thought = {"choices": [{"index": 0, "delta": {"reasoning_content": "Let me think hard."}}]}
    with Server(reply(thought, delta("Hi"), FINISH, DONE)) as server:
        ran = jpq(*model_at(server), *options, "hi")
    assert (ran.code, ran.text) == (0, "Hi\n")
    return ran.err.decode()


def test_reasoning() -> None:
    assert "Let me think hard." in reasoned()
    assert "think" not in reasoned("--reasoning", "hidden")
    assert "Let me" in reasoned("--reasoning", "6")
    assert "think hard" not in reasoned("--reasoning", "6")
    assert "think" not in reasoned("-q")
    assert "think" not in reasoned("--set", "style.reasoning=hidden")


@pytest.mark.parametrize(
    ("options", "variables", "coloured"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        (("--set", "style.color=always"), {}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        (("--color", "never", "--set", "style.color=always"), {}, True),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_color(options: Sequence[str], variables: Dict[str, str], coloured: bool) -> None:
    with Server(error("401 Unauthorized", b"{}")) as server:
        ran = jpq(*model_at(server), *options, "hi", environ=environment(**variables))
    assert (b"\x1b[" in ran.err) == coloured


def test_non_interactive(model: List[str]) -> None:
    assert jpq(*model, "--non-interactive", "hi").code == 0
    jpq(*model, "--non-interactive").failed_with(2, "no question")


def test_json_and_formats_are_the_same_option(model: List[str]) -> None:
    assert jpq(*model, "--json", "hi").events == jpq(*model, "--format", "json", "hi").events
    assert jpq(*model, "--format=text", "hi").text == "Hello there.\n"


def test_options_stand_anywhere_and_words_after_dashes_are_words() -> None:
    with Server(answer("Hi")) as server:
        assert jpq("why", *model_at(server), "is", "-q", "it", "--", "-c", "--json").code == 0
        assert server.seen[0].json["messages"][-1]["content"] == "why is it -c --json"
        assert jpq(*model_at(server), "query", "me").code == 0
        assert jpq("query", *model_at(server), "ls").code == 0
        assert server.seen[2].json["messages"][-1]["content"] == "ls"


def test_environment_sets_the_model() -> None:
    with Server(answer("Hi")) as server:
        environ = environment(JPQ_MODEL="custom/mine")
        assert jpq(*base_url(server.url), "hi", environ=environ).code == 0
        assert server.seen[0].json["model"] == "mine"


def test_no_option_is_without_a_test() -> None:
    """Each is used in one of the files that drive the real program."""
    used = ""
    for pattern in ("cli/test_*.py", "faults/test_*.py"):
        for path in glob.glob(os.path.join(ROOT, "tests", pattern)):
            with open(path, encoding="utf-8") as file:
                used += file.read()
    for action in build_parser("jpq")._actions:
        flags = action.option_strings
        assert not flags or any(f'"{flag}' in used for flag in flags), flags
