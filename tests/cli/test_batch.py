"""``jpq --batch`` from outside: what is written, in which order, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any, Dict, List, Optional, Sequence

import pytest

from tests.support import ptys
from tests.support.programs import (
    JPQ,
    ROOT,
    WAIT_S,
    Ran,
    base_url,
    conversations,
    environment,
    jpq,
    script,
)
from tests.support.server import (
    FINISH,
    Pause,
    Seen,
    Server,
    Tell,
    answer,
    delta,
    error,
    head,
    reply,
)

REPLIES = (
    'match = "slow"\ntext = "late answer"\ndelay_s = 0.3',
    'match = "bad"\nstatus = 400\nerror = "No."',
    'match = "busy"\nstatus = 429\nfails = 1\ntext = "after all"',
    'match = "person"\ntext = \'{"name": "Ada"}\'',
    'text = "Hello."\nusage = { input_tokens = 7, output_tokens = 3 }',
)


@pytest.fixture
def model(tmp_path: Any) -> List[str]:
    return ["-m", "scripted/" + script(tmp_path, *REPLIES)]


def written(folder: Any, *lines: Any, name: str = "in.jsonl") -> str:
    path = os.path.join(str(folder), name)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def served(server: Server) -> List[str]:
    """The options for ``server``, which closes each connection: where that is not noticed in
    time, the request is made again on another one."""
    quick = ["--retries", "5", "--set", "request.backoff_base_s=0.01"]
    return ["-m", "custom/test", *quick, *base_url(server.url)]


def records(source: Any) -> List[Dict[str, Any]]:
    data = source.out if isinstance(source, Ran) else source.read_bytes()
    assert data.endswith(b"\n") or not data
    return [json.loads(line) for line in data.splitlines()]


def test_each_line_is_answered_in_order(model: List[str], tmp_path: Any) -> None:
    batch = written(tmp_path, "slow one", {"id": "b", "prompt": "two"}, "three", {"prompt": "4"})
    ran = jpq(*model, "--batch", batch, "-j", "4")
    assert ran.code == 0
    found = records(ran)
    assert [(each["line"], each["id"]) for each in found] == [(1, None), (2, "b"), (3, None),
                                                              (4, None)]  # fmt: skip
    assert [each["text"] for each in found] == ["late answer", "Hello.", "Hello.", "Hello."]
    single = jpq(*model, "--json", "two").result
    assert {**single, "line": 2, "id": "b"} == found[1]
    assert ran.told == ["jpq: 4 answered; tokens: 21 in, 9 out, price unknown."]
    assert len(conversations()) == 1  # that of the single question


def test_unordered_lines_come_as_they_end(tmp_path: Any) -> None:
    """The first line's answer begins when the other two have been read."""
    others = threading.Event()

    def replies(seen: Seen) -> Sequence[Any]:
        waits = [Pause(others, WAIT_S)] if b"slow" in seen.body else []
        return [*waits, *answer("Hi")]

    with Server(replies) as server:
        command = [*JPQ, *served(server), "-q", "-j", "3", "--unordered"]
        command += ["--batch", written(tmp_path, "slow one", "two", "three")]
        with subprocess.Popen(
            command, env=environment(), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            sooner = [json.loads(process.stdout.readline())["line"] for _ in range(2)]
            others.set()
            last = json.loads(process.stdout.read())["line"]
            assert process.stderr.read() == b""
    assert process.returncode == 0
    assert (sorted(sooner), last) == ([2, 3], 1)


def test_a_line_that_fails_stops_no_other(model: List[str], tmp_path: Any) -> None:
    batch = written(tmp_path, "one", "bad two", {"promt": "three"}, "four")
    with open(batch, "a", encoding="utf-8") as file:
        file.write("no json\n\n" + json.dumps({"prompt": "six", "model": "nowhere/x"}))
    ran = jpq(*model, "--batch", batch)
    found = records(ran)
    assert [each["line"] for each in found] == [1, 2, 3, 4, 5, 7]
    assert [each["exit_code"] for each in found] == [0, 1, 65, 0, 65, 78]
    assert [each["status"] == "complete" for each in found] == [True, False, False, True] + [
        False
    ] * 2
    assert found[1]["error"]["kind"] == "invalid_request"
    assert "no field 'promt'" in found[2]["error"]["message"]
    assert ran.code == 1  # of the first line that failed
    assert "2 answered, 4 failed (bad_input 2, config 1, invalid_request 1)" in ran.told[0]


def test_lines_have_settings_of_their_own(tmp_path: Any) -> None:
    lines = [
        {"prompt": "a", "system": "Be brief.", "options": {"temperature": 0.5}},
        {"prompt": "b", "model": "custom/other"},
        {"prompt": "c", "attach": ["note.txt"]},
        {"prompt": "d", "schema": "name"},
    ]
    (tmp_path / "note.txt").write_text("A note.")
    with Server(answer('{"name": "x"}')) as server:
        options = [*served(server), "-s", "All.", "-o", "seed=1"]
        ran = jpq(*options, "--batch", written(tmp_path, *lines), "-j", "1", cwd=str(tmp_path))
        assert ran.code == 0, ran
        first, second, third, fourth = [seen.json for seen in server.seen]
    assert first["messages"][0]["content"] == "Be brief." and first["temperature"] == 0.5
    assert first["seed"] == second["seed"] == 1
    assert second["model"] == "other" and second["messages"][0]["content"] == "All."
    assert "A note." in json.dumps(third["messages"])
    assert "response_format" in fourth and "response_format" not in third
    assert records(ran)[3]["structured"] == {"name": "x"}


def test_a_schema_that_is_refused_is_sent_with_one_line_only(tmp_path: Any) -> None:
    refused = error("400 Bad Request", b'{"error": {"message": "no response_format here"}}')
    whole = answer('{"name": "Ada"}')
    with Server(refused, whole, whole, whole) as server:
        options = [*served(server), "--schema", "name", "-j", "1"]
        ran = jpq(*options, "--batch", written(tmp_path, "one", "two", "three"))
    assert [each["structured"] for each in records(ran)] == [{"name": "Ada"}] * 3
    assert ["response_format" in each.json for each in server.seen] == [True] + 3 * [False]


def test_a_schema_for_every_line(model: List[str], tmp_path: Any) -> None:
    ran = jpq(*model, "--schema", "name", "--batch", written(tmp_path, "person", "no"))
    assert [each["structured"] for each in records(ran)] == [{"name": "Ada"}, None]
    assert ran.code == 65


def test_stdin_is_answered_line_by_line(model: List[str]) -> None:
    process = subprocess.Popen(
        [*JPQ, *model, "-q", "--batch", "-"],
        env=environment(), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdin is not None and process.stdout is not None
        for number in (1, 2):
            process.stdin.write(b'"hi"\n')
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["line"] == number
        process.stdin.close()
        assert process.wait(WAIT_S) == 0


def test_rate_limits_are_waited_out_for_each_line(model: List[str], tmp_path: Any) -> None:
    options = ["--set", "request.backoff_base_s=0.01"]
    ran = jpq(*model, *options, "--batch", written(tmp_path, "busy", "x"))
    assert [each["text"] for each in records(ran)] == ["after all", "Hello."]


def test_another_run_goes_on_where_the_last_one_stopped(model: List[str], tmp_path: Any) -> None:
    batch = written(tmp_path, *[{"id": n, "prompt": f"q{n}"} for n in range(1, 8)])
    out = tmp_path / "out.jsonl"
    assert jpq(*model, "--batch", batch, "--output", str(out)).code == 0
    whole = out.read_bytes()
    lines = whole.splitlines(keepends=True)
    for kept, torn in ((lines[:3], lines[3][:20]), (lines[1:2] + lines[5:6], b""), (lines, b"")):
        out.write_bytes(b"".join(kept) + torn)
        ran = jpq(*model, "--batch", batch, "--output", str(out))
        assert ran.code == 0 and ran.out == b""
        assert out.read_bytes().startswith(b"".join(kept))
        assert sorted(out.read_bytes().splitlines(keepends=True)) == sorted(lines)
        assert f"{7 - len(kept)} answered, {len(kept)} answered before" in ran.told[-1]


def test_lines_that_failed_are_asked_again_with_retry(model: List[str], tmp_path: Any) -> None:
    out = tmp_path / "out.jsonl"
    batch = written(tmp_path, "one", "bad", "three")
    assert jpq(*model, "--batch", batch, "--output", str(out)).code == 1
    assert jpq(*model, "--batch", batch, "--output", str(out)).code == 1  # it is kept
    written(tmp_path, "one", "good", "three")
    assert jpq(*model, "--batch", batch, "--output", str(out), "--retry").code == 0
    assert [each["line"] for each in records(out)] == [1, 3, 2]


def test_answers_of_another_batch_are_not_taken(model: List[str], tmp_path: Any) -> None:
    out = tmp_path / "out.jsonl"
    batch = written(tmp_path, {"id": "a", "prompt": "x"})
    assert jpq(*model, "--batch", batch, "--output", str(out)).code == 0
    written(tmp_path, {"id": "b", "prompt": "x"})
    jpq(*model, "--batch", batch, "--output", str(out)).failed_with(65, "a different id")


def test_shards_merge_by_line(model: List[str], tmp_path: Any) -> None:
    batch = written(tmp_path, *[f"q{n}" for n in range(10)])
    found = []
    for part in (1, 2, 3):
        ran = jpq(*model, "-q", "--batch", batch, "--shard", f"{part}/3")
        assert ran.code == 0
        found += ran.out.splitlines()
    merged = sorted(found, key=lambda line: int(line.split()[1].rstrip(b",")))
    assert [json.loads(line)["line"] for line in merged] == list(range(1, 11))


def test_two_runs_do_not_write_one_file(tmp_path: Any) -> None:
    asked, go_on = threading.Event(), threading.Event()
    batch, out = written(tmp_path, "x"), str(tmp_path / "out.jsonl")
    script = [Tell(asked), Pause(go_on, 60), *answer("Hi")]
    with Server(script) as server:
        command = [*JPQ, *served(server), "--batch", batch, "--output", out]
        with subprocess.Popen(command, env=environment(), cwd=ROOT, stderr=subprocess.PIPE) as one:
            assert asked.wait(WAIT_S)
            jpq(*command[len(JPQ) :]).failed_with(75, "Another jpq writes this file", out)
            go_on.set()
            one.communicate(timeout=WAIT_S)
            assert one.returncode == 0
    assert [each["text"] for each in records(tmp_path / "out.jsonl")] == ["Hi"]


def stopped(
    signum: int, folder: Any, replies: Sequence[Any], asked: threading.Event, out: Optional[str]
) -> Ran:
    """A batch of five that gets ``signum`` once ``asked`` is set."""
    batch = written(folder, *[f"q{n}" for n in range(5)])
    with Server(*replies) as server:
        command = [*JPQ, *served(server), "--batch", batch, "-j", "1"]
        command += ["--output", out] if out else []
        with subprocess.Popen(
            command, env=environment(CI="true"), cwd=ROOT,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert asked.wait(WAIT_S)
            process.send_signal(signum)
            output, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == -signum
    return Ran(128 + signum, output, errors)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_batch_that_is_stopped_goes_on_later(signum: int, tmp_path: Any) -> None:
    asked, never = threading.Event(), threading.Event()
    stalls = [*reply(delta("hal"))[:-1], Tell(asked), Pause(never)]
    out = tmp_path / "out.jsonl"
    ran = stopped(signum, tmp_path, [answer("A"), answer("B"), stalls], asked, str(out))
    never.set()
    assert [each["text"] for each in records(out)] == ["A", "B"]
    assert b"Traceback" not in ran.err
    with Server(answer("C")) as server:
        command = [*served(server), "--batch", str(tmp_path / "in.jsonl"), "--output", str(out)]
        assert jpq(*command).code == 0
        assert len(server.seen) == 3
    assert [each["line"] for each in records(out)] == [1, 2, 3, 4, 5]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
@pytest.mark.parametrize("timed", [False, True])
def test_a_line_that_is_stuck_does_not_keep_a_batch_from_its_end(
    timed: bool, model: List[str], tmp_path: Any
) -> None:
    os.mkfifo(tmp_path / "pipe")
    held = os.open(tmp_path / "pipe", os.O_RDWR)  # a writer that never writes
    batch = written(tmp_path, "one", {"prompt": "two", "attach": ["pipe"]})
    argv = [*JPQ, *model, "--batch", batch, "--set", "interrupt.shutdown_s=0.2"]
    argv += ["--timeout", "5"] if timed else []
    try:
        with ptys.Child(argv, environment(), str(tmp_path), terminal=False) as child:
            child.wait_for(b"\n")
            if not timed:
                child.signal(signal.SIGTERM)
            assert child.end() == (124 if timed else -signal.SIGTERM)
            assert [json.loads(line)["line"] for line in child.output.splitlines()] == [1]
    finally:
        os.close(held)


def test_as_many_lines_as_wanted_are_asked_at_a_time(tmp_path: Any) -> None:
    asked = [threading.Event() for _ in range(5)]
    go_on = threading.Event()
    scripts = [[head(), Tell(each), Pause(go_on), *answer("Hi")[1:]] for each in asked]
    out = str(tmp_path / "out.jsonl")
    with Server(*scripts) as server:
        command = [*JPQ, *served(server), "-q", "--output", out]
        command += ["--batch", written(tmp_path, *["q"] * 5), "-j", "5"]
        with subprocess.Popen(command, env=environment(), cwd=ROOT) as process:
            assert all(each.wait(WAIT_S) for each in asked)
            go_on.set()
            assert process.wait(WAIT_S) == 0
    assert [each["line"] for each in records(tmp_path / "out.jsonl")] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("how", [[], ["--unordered"]], ids=["ordered", "unordered"])
def test_kills_at_any_moment_lose_and_repeat_nothing(
    how: List[str], model: List[str], tmp_path: Any
) -> None:
    texts = [f"question {n}" + " slow" * (n % 50 == 49) for n in range(300)]
    out = tmp_path / "out.jsonl"
    out.touch()
    command = [*JPQ, *model, *how, "-q", "--batch", written(tmp_path, *texts), "-j", "6"]
    command += ["--output", str(out)]
    for enough in (3_000, 17_000, 30_001, 44_444):
        with subprocess.Popen(command, env=environment(), cwd=ROOT) as process:
            while out.stat().st_size < enough:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.005)
                    break  # it was quicker than the kill
            process.kill()
        whole = out.read_bytes().rpartition(b"\n")[0].splitlines()
        assert all(json.loads(line)["exit_code"] == 0 for line in whole)
    assert jpq(*command[len(JPQ) :]).code == 0
    numbers = [each["line"] for each in records(out)]
    assert sorted(numbers) == list(range(1, 301))
    assert how or numbers == sorted(numbers)


def test_a_reader_that_goes_away_ends_it_silently(model: List[str], tmp_path: Any) -> None:
    batch = written(tmp_path, *["slow"] * 3 + ["x"] * 20)
    read, write = os.pipe()
    os.close(read)
    try:
        ran = jpq(*model, "--batch", batch, "-j", "1", stdout=write)
    finally:
        os.close(write)
    assert (ran.code, ran.err) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
def test_a_full_disk_ends_it(model: List[str], tmp_path: Any) -> None:
    with open("/dev/full", "wb") as full:
        ran = jpq(*model, "--batch", written(tmp_path, "a", "b"), stdout=full)
    ran.failed_with(74, "No space")


def test_a_wrong_key_ends_it_and_no_line_counts_as_answered(tmp_path: Any) -> None:
    refused = error("401 Unauthorized", b'{"error": {"message": "wrong key"}}')
    out = tmp_path / "out.jsonl"
    batch = written(tmp_path, *["q"] * 20)
    with Server(answer("A"), refused) as server:
        ran = jpq(*served(server), "--batch", batch, "-j", "1", "--output", str(out))
        assert len(server.seen) == 2
    assert ran.code == 77 and any("key" in line for line in ran.told)
    assert [each["line"] for each in records(out)] == [1]


def test_an_outage_ends_it(tmp_path: Any) -> None:
    out = tmp_path / "out.jsonl"
    batch = written(tmp_path, *["q"] * 60)
    with Server(answer("A"), error("503 Service Unavailable", b"{}")) as server:
        command = [*served(server), "--retries", "0", "--batch", batch, "-j", "2", "--unordered"]
        ran = jpq(*command, "--output", str(out))
        asked = len(server.seen)
    assert ran.code in (69, 75), ran  # 69: the server closed a connection at that moment
    found = records(out)
    assert asked <= len(found) and {each["exit_code"] for each in found} <= {0, 69, 75}
    lost = [each["exit_code"] != 0 for each in found]  # in the order in which they ended
    many = next(end for end in range(20, len(lost) + 1) if all(lost[end - 20 : end]))
    assert len(lost) - many <= 1, "what was being asked at that moment, and no more"
    with Server(answer("B")) as server:
        assert jpq(*served(server), "--batch", batch, "--output", str(out), "--retry").code == 0
    assert {each["line"] for each in records(out)} == set(range(1, 61))


def test_the_time_of_all_lines_together_is_limited(tmp_path: Any) -> None:
    never = threading.Event()
    stalls = [*reply(delta("hal"))[:-1], Pause(never)]
    out = tmp_path / "out.jsonl"
    with Server(answer("A"), stalls) as server:
        options = [*served(server), "--timeout", "4", "-j", "1", "--output", str(out)]
        ran = jpq(*options, "--batch", written(tmp_path, "a", "b", "c"))
        never.set()
    assert ran.code == 124
    # On a busy machine the time may be over before the first line is asked.
    assert not out.exists() or [each["text"] for each in records(out)] in ([], ["A"])


def test_the_cost_of_all_lines_together_is_limited(model: List[str], tmp_path: Any) -> None:
    prices = ["--set", 'prices."scripted/scripted"={input = 1000.0, output = 1000.0}']
    batch = written(tmp_path, *["q"] * 10)
    ran = jpq(*model, *prices, "--max-cost", "0.025", "--batch", batch, "-j", "1")
    assert ran.code == 76 and any("request.max_cost_usd" in line for line in ran.told)
    assert len(records(ran)) == 3  # 0.01 USD each


def test_what_is_wrong_before_the_first_line(model: List[str], tmp_path: Any) -> None:
    batch = written(tmp_path, "x")
    jpq("-m", "nowhere/x", "--batch", batch).failed_with(78, "nowhere")
    jpq(*model, "--batch", str(tmp_path / "none")).failed_with(65, "No such file", "none")
    jpq(*model, "--batch", batch, "words").failed_with(2, "words")
    jpq(*model, "--batch", batch, "-c").failed_with(2, "-c")
    jpq(*model, "--batch", batch, "-x").failed_with(2, "-x")
    jpq(*model, "--batch", batch, "--shard", "3/2").failed_with(2, "K/N")
    jpq(*model, "--batch", batch, "-j", "0").failed_with(2, "1 to 256")
    jpq(*model, "--batch", batch, "--retry").failed_with(2, "--output")
    jpq(*model, "-j", "2", "hi").failed_with(2, "--batch")
    jpq(*model, "--schema", "a b c", "--batch", batch, "--output", "/dev/null/x").failed_with(74)


def test_the_log_has_each_line_where_it_is_asked_for(model: List[str], tmp_path: Any) -> None:
    log = tmp_path / "log"
    batch = written(tmp_path, "secret words", "bad")
    assert jpq(*model, "--batch", batch, "--log-file", str(log)).code == 1
    text = log.read_text()
    assert "line 1: complete, 0" in text and "line 2: error, 1" in text
    assert "secret words" not in text


def test_answers_go_into_no_file_of_questions_but_into_devices(
    model: List[str], tmp_path: Any
) -> None:
    batch = written(tmp_path, "x")
    jpq(*model, "--batch", batch, "--output", batch).failed_with(2, "file of questions")
    assert (tmp_path / "in.jsonl").read_text() == '"x"\n'
    ran = jpq(*model, "-q", "--batch", batch, "--output", "/dev/stdout")
    assert (ran.code, len(records(ran))) == (0, 1)
    assert jpq(*model, "-q", "--batch", batch, "--output", "/dev/null").code == 0


def test_nothing_to_do_is_done(model: List[str], tmp_path: Any) -> None:
    ran = jpq(*model, "--batch", written(tmp_path))
    assert (ran.code, ran.out) == (0, b"") and ran.told == ["jpq: 0 answered."]
    assert jpq(*model, "-q", "--batch", "-", stdin=b"\n \n").code == 0


def test_a_terminal_shows_how_far_it_is(model: List[str], tmp_path: Any) -> None:
    batch = written(tmp_path, *["slow"] * 4)
    command = ptys.jpq(*model, "--batch", batch, "-j", "1", "--output", str(tmp_path / "out"))
    with ptys.Child(
        command, ptys.environment(str(tmp_path / "home")), ROOT, terminal=True
    ) as child:
        child.wait_for(b" of 4")
        child.wait_for(b"4 answered")
        assert child.end() == 0
    assert len(records(tmp_path / "out")) == 4


def test_ctrl_c_on_a_terminal_waits_for_what_is_being_answered(tmp_path: Any) -> None:
    asked, go_on = threading.Event(), threading.Event()
    script = [head(), Tell(asked), Pause(go_on), *answer("Hi")[1:]]
    out = tmp_path / "out"
    with Server(script) as server:
        command = ptys.jpq(*served(server), "--batch", written(tmp_path, "a", "b"), "-j", "1",
                           "--output", str(out))  # fmt: skip
        with ptys.Child(
            command, ptys.environment(str(tmp_path / "home")), ROOT, terminal=True
        ) as child:
            assert asked.wait(WAIT_S)
            child.type(b"\x03")
            child.wait_for(b"Ctrl+C again stops at once")
            go_on.set()
            assert child.end() == -signal.SIGINT
        assert len(server.seen) == 1
    assert [each["text"] for each in records(out)] == ["Hi"]


def test_many_lines_keep_little_in_memory(model: List[str], tmp_path: Any) -> None:
    batch = written(tmp_path, *[f"question {n}" for n in range(4000)])
    code = (
        "import resource, sys\n"
        "from jpq.cli.run import run\n"
        f"code = run([*{model!r}, '-q', '--batch', sys.argv[1], '-j', '8'])\n"
        "print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\n"
    )
    peaks = []
    for count in (400, 4000):
        short = tmp_path / f"{count}.jsonl"
        with open(batch, encoding="utf-8") as file:
            short.write_text("".join(file.readlines()[:count]))
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code, str(short)],
            env=environment(), cwd=ROOT, capture_output=True, timeout=60,
        )  # fmt: skip
        ended, peak = done.stderr.split()
        assert ended == b"0" and done.stdout.count(b"\n") == count
        peaks.append(int(peak))
    assert peaks[1] - peaks[0] < 8 * 1024, peaks  # KiB


def test_the_stream_of_a_line_that_is_cut_goes_on(tmp_path: Any) -> None:
    cut = reply(delta("Hello "))[:-1]
    with Server(cut, reply(delta("there."), FINISH)) as server:
        ran = jpq(*served(server), "--batch", written(tmp_path, "x"))
    assert records(ran)[0]["text"] == "Hello there."


TOOL = """
[tools.greet]
source = "command"
command = ["printf", "hello %s", "{name}"]
parameters.name = { type = "string", required = true }
run = "ask"
"""
CALLS = (
    'tool_calls = [{ name = "greet", arguments = { name = "Ada" } }]',
    'text = "I greeted her."',
)


@pytest.mark.parametrize(("options", "code"), [((), 77), (("--yes",), 0)])
def test_tools_run_without_anybody_to_ask(options: Sequence[str], code: int, tmp_path: Any) -> None:
    os.makedirs(os.environ["JPQ_HOME"])
    with open(os.path.join(os.environ["JPQ_HOME"], "config.toml"), "w") as file:
        file.write(TOOL)
    model = "scripted/" + script(tmp_path, *CALLS)
    batch = written(tmp_path, *[f"q{n}" for n in range(6)])
    ran = jpq("-m", model, *options, "--batch", batch, "-j", "3")
    found = records(ran)
    assert [each["exit_code"] for each in found] == [code] * 6 and ran.code == code
    assert {each["text"] for each in found} == {"I greeted her." if code == 0 else ""}
    assert {each["status"] for each in found} == {"complete" if code == 0 else "denied"}
