"""The program on the channels that scripts and people give it."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import threading
from typing import Any, List

import pytest

from tests.support.programs import (
    JPQ,
    ROOT,
    WAIT_S,
    conversations,
    entries,
    environment,
    jpq,
    model_at,
    question,
    script,
    shell,
)
from tests.support.server import FINISH, Pause, Server, answer, chunk, delta, head, reply, sse

HOSTILE = "a\0b\x1b[31mred\x1b]0;title\x07 \u202eb\u009bx\x7f"


@pytest.fixture
def model(tmp_path: Any) -> List[str]:
    return ["-m", "scripted/" + script(tmp_path, 'text = "Hello there."')]


# -- stdin ---------------------------------------------------------------------------------


def asked_with(*words: str, **channels: Any) -> str:
    with Server(answer("Hi")) as server:
        ran = jpq(*model_at(server), *words, **channels)
        assert (ran.code, ran.text) == (0, "Hi\n"), ran
        return question(server.seen[0])


def test_words_and_a_pipe() -> None:
    assert asked_with("explain", stdin=b"diff") == "explain\n\ndiff"


def test_a_huge_pipe() -> None:
    data = b"line\n" * 400_000
    assert asked_with("count", stdin=data) == "count\n\n" + data.decode().strip("\n")


def test_a_binary_pipe() -> None:
    with Server(answer("Hi")) as server:
        ran = jpq(*model_at(server), "what?", stdin=bytes(range(256)))
        assert question(server.seen[0]).count("\ufffd") == 128
    assert ran.code == 0
    assert len(ran.told) == 1 and "UTF-8" in ran.told[0]


def test_words_are_what_their_bytes_are_in_utf8() -> None:
    """In whatever locale; of what is none the person is told, and no half of a pair is sent."""
    plain = environment(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    with Server(answer("Hi")) as server:
        ran = shell("jpq \"$@\" 'h\u00e9 \u65e5' -s 's\u00fc'", *model_at(server), environ=plain)
        assert (ran.code, ran.told, question(server.seen[0])) == (0, [], "h\u00e9 \u65e5")
        assert server.seen[0].json["messages"][0]["content"] == "s\u00fc"
        ran = shell("jpq \"$@\" $'a\\xffb' c", *model_at(server))
        assert (ran.code, question(server.seen[1])) == (0, "a\ufffdb c")
    assert len(ran.told) == 1 and "UTF-8" in ran.told[0]
    (said, *_) = entries(conversations()[-1])
    assert said["content"] == "a\ufffdb c"


def test_a_pipe_that_nobody_writes_to() -> None:
    read, write = os.pipe()
    try:
        with Server(answer("Hi")) as server:
            options = [*model_at(server), "--set", "input.stdin_wait_s=0.1"]
            ran = jpq(*options, "why?", stdin=read)
            quiet = jpq(*options, "-q", "why?", stdin=read)
            assert question(server.seen[0]) == "why?"
    finally:
        os.close(read)
        os.close(write)
    assert ran.code == 0
    assert len(ran.told) == 1 and "0.1 s" in ran.told[0]
    assert (quiet.code, quiet.err) == (0, b"")


def test_a_file(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("text\n")
    with open(tmp_path / "file", "rb") as file:
        assert asked_with("what?", stdin=file) == "what?\n\ntext"


# -- stdout and stderr ---------------------------------------------------------------------


def test_each_channel_may_be_closed(model: List[str]) -> None:
    closed = {"<&-": b"Hello there.\n", ">&-": b"", "2>&-": b"Hello there.\n", "<&- >&- 2>&-": b""}
    for channels, shown in closed.items():
        ran = shell(f'jpq "$1" "$2" hi {channels}', *model)
        assert (ran.code, ran.out, ran.err) == (0, shown, b""), channels
    for folder in conversations():
        assert [entry["type"] for entry in entries(folder)][-1] == "turn_end"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["$M hi", "$M --json hi", "--version", "--help", "config show"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_under_stdout(tmp_path: Any, command: str, unbuffered: str) -> None:
    # A single piece: the first one that cannot be written ends the turn.
    model = ["-m", "scripted/" + script(tmp_path, 'text = "Hello."')]
    command = command.replace("$M", '"$1" "$2"')
    environ = environment(PYTHONUNBUFFERED=unbuffered)
    ran = shell(f"jpq {command} > /dev/full", *model, environ=environ)
    ran.failed_with(74, "No space left on device", "stdout")
    for folder in conversations():
        assert entries(folder)[1]["message"] == "Hello."


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_under_stderr_only(model: List[str]) -> None:
    ran = shell('jpq "$1" "$2" -v -u hi 2> /dev/full', *model)
    assert (ran.code, ran.out) == (0, b"Hello there.\n")


def test_a_reader_that_has_enough() -> None:
    """The server notices that nobody listens any more: it can send no more."""
    flood = [head(), *[chunk(sse(delta("x" * 1000))[0])] * 20_000]
    never = threading.Event()
    with Server([*flood, Pause(never, WAIT_S)]) as server:
        ran = shell(
            'jpq "$@" hi | head -c 5; echo " ${PIPESTATUS[0]}"', *model_at(server), "--no-stream"
        )
    assert (ran.out, ran.err) == (b"xxxxx 141\n", b"")
    (folder,) = conversations()
    assert entries(folder)[-1]["status"] == "interrupted"


def test_a_file_gets_what_a_pipe_gets(model: List[str], tmp_path: Any) -> None:
    with open(tmp_path / "out", "wb") as file:
        assert jpq(*model, "hi", stdout=file).code == 0
    assert (tmp_path / "out").read_bytes() == b"Hello there.\n"


def test_stdout_and_stderr_may_be_the_same_file(model: List[str]) -> None:
    ran = jpq(*model, "-u", "hi", stderr=subprocess.STDOUT)
    assert ran.text.splitlines() == ["Hello there.", "jpq: tokens: not reported"]


# -- characters ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("ascii", b"na?ve ? ?\n"),
        ("latin-1", b"na\xefve ? ?\n"),
        ("ascii:strict", b"na?ve ? ?\n"),
        ("utf-8:surrogateescape", "naïve € \ufffd\n".encode()),
        ("utf-16", "naïve € \ufffd\n".encode("utf-16")),
        (None, "naïve € \ufffd\n".encode()),
    ],
)
def test_characters_that_a_channel_lacks_are_replaced(encoding: Any, shown: bytes) -> None:
    environ = environment(PYTHONIOENCODING=encoding, LC_ALL=None if encoding else "C")
    with Server(reply(delta("naïve € \ud83d"), FINISH)) as server:
        ran = jpq(*model_at(server), "hi", environ=environ)
        broken = jpq(*model_at(server), "-r", "naïve \udc80", "hi", environ=environ)
    assert (ran.code, ran.out) == (0, shown)
    assert broken.code == 65 and b"Traceback" not in broken.err


def test_a_pipe_gets_every_byte() -> None:
    with Server(reply(delta(HOSTILE), FINISH)) as server:
        assert jpq(*model_at(server), "hi").out == HOSTILE.encode() + b"\n"


def test_a_terminal_is_not_driven_by_an_answer() -> None:
    with Server(reply(delta(HOSTILE), FINISH)) as server:
        code, shown = on_a_terminal(*model_at(server), "hi")
    assert code == 0
    assert b"ab" in shown and b"red" in shown
    for sent in (b"\0", b"\x1b[31m", b"\x1b]", b"\x07", "\u202e".encode(), "\u009b".encode()):
        assert sent not in shown


def test_a_terminal_is_not_driven_by_an_error() -> None:
    code, shown = on_a_terminal("-m", "\x1b]0;title\x07nosuch/model", "hi")
    assert code == 78
    assert b"neither PROVIDER" in shown and b"\x1b]" not in shown


def on_a_terminal(*arguments: str) -> Any:
    """Run the program with all three channels on a terminal; its code and what was shown."""
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [*JPQ, *arguments],
        env=environment(TERM="xterm"),
        cwd=ROOT,
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
    )
    os.close(side)
    shown = b""
    with process:
        while select.select([terminal], [], [], WAIT_S)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # EIO: nobody has the terminal open any more
                break
        code = process.wait(WAIT_S)
    os.close(terminal)
    return code, shown


# -- what is shown while it arrives --------------------------------------------------------


@pytest.mark.parametrize("format", ["auto", "jsonl"])
def test_each_piece_is_on_the_pipe_when_it_has_come(format: str) -> None:
    more = threading.Event()
    events = sse(delta("one"), delta(" two"), FINISH)
    steps = [head(), chunk(events[0]), Pause(more), *map(chunk, events[1:]), chunk(b"")]
    with Server(steps) as server:
        process = subprocess.Popen(
            [*JPQ, *model_at(server), "--format", format, "hi"],
            env=environment(),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        with process:
            assert process.stdout is not None
            shown = b""
            while b"one" not in shown:
                shown += os.read(process.stdout.fileno(), 65536)
            assert b"two" not in shown
            more.set()
            shown += process.stdout.read()
    assert process.returncode == 0
    if format == "auto":
        assert shown == b"one two\n"
    else:
        assert json.loads(shown.splitlines()[-1])["text"] == "one two"
