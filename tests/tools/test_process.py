"""Real children that do what children do: end, hang, hide, refuse to die, talk without end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import Any, Callable, List, Optional

import pytest

from jpq.interrupt.cancel import CancelToken
from jpq.process.start import CannotStart, Launch
from jpq.process.tree import MARK_VARIABLE, group_members
from jpq.tools.capture import Capture
from jpq.tools.process import ProcessEnded, Times, run_process
from tests.support.pressing import wait_until

WAIT_S = 30.0
PATIENT = Times(WAIT_S, WAIT_S, WAIT_S)
HELD = PATIENT._replace(drain_s=1.0)  # for output that has no end while others hold it
QUICK = PATIENT._replace(term_s=0.3, drain_s=0.1)  # for who does not end at TERM
SOON_S = 60.0  # on any machine, and long before what sleeps for minutes would end
SLEEP = f"sleep 301.{os.getpid()}"  # this test's own, whatever else runs on the machine

pytestmark = pytest.mark.skipif(os.name != "posix", reason="written for a POSIX shell")


def run(
    line: str,
    cancel: Optional[CancelToken] = None,
    progress: Callable[[str], None] = lambda text: None,
    times: Times = PATIENT,
    capture: Optional[Capture] = None,
    **launch: Any,
) -> ProcessEnded:
    """Run a line of sh."""
    what = Launch(("sh", "-c", line), launch.pop("cwd", "/"), {**os.environ, **launch}, None)
    return run_process(
        what, capture or Capture(65536, None), cancel or CancelToken(), progress, times
    )


def python(code: str, **more: Any) -> ProcessEnded:
    """Run Python code."""
    return run('exec "$PY" -c "$CODE"', PY=sys.executable, CODE=code, **more)


class Cancelling:
    """A token that is cancelled as soon as a child has said ``word``."""

    def __init__(self, word: str) -> None:
        self.token = CancelToken()
        self._word = word
        self._text = ""
        self.at = 0.0

    def __call__(self, text: str) -> None:
        self._text += text
        if self._word in self._text and not self.token.cancelled:
            self.at = time.monotonic()
            self.token.cancel()


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


class HeldBack(Capture):
    """Takes nothing more until the reader has been told to end."""

    def __init__(self, told: threading.Event) -> None:
        super().__init__(65536, None)
        self._told = told

    def add(self, data: bytes) -> None:
        assert self._told.wait(WAIT_S)
        super().add(data)


def test_what_a_reader_had_no_time_for_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()
    write = os.write

    def writes(descriptor: int, data: bytes) -> int:
        written = write(descriptor, data)
        if data == b".":
            told.set()
        return written

    monkeypatch.setattr(os, "write", writes)
    line = "echo first; sleep 0.2; echo second"
    ended = run(line, capture=HeldBack(told), times=PATIENT._replace(drain_s=0.0))
    assert ended.captured.text == "first\nsecond\n"


def test_output_and_status_of_both_channels_in_their_order() -> None:
    ended = run("echo one; echo two >&2; echo three; exit 7")
    assert ended.captured.text == "one\ntwo\nthree\n"
    assert (ended.status, ended.stopped, ended.survivors) == (7, False, ())


def test_a_signal_is_a_negative_status() -> None:
    assert run("kill -SEGV $$").status == -11


def test_there_is_no_terminal_and_nothing_to_read() -> None:
    ended = run("cat; (: </dev/tty) 2>/dev/null || echo no terminal; ps -o sid= -p $$; echo $$")
    first, session, own = ended.captured.text.split("\n")[:3]
    assert first == "no terminal"
    assert session.strip() == own


def test_bytes_given_are_what_it_reads_however_many() -> None:
    launch = Launch(("wc", "-c"), "/", os.environ, b"x" * 300_000)
    ended = run_process(launch, Capture(99, None), CancelToken(), lambda text: None)
    assert ended.captured.text.strip() == "300000"


def test_who_does_not_read_what_is_given_holds_nobody_up() -> None:
    launch = Launch(("true",), "/", os.environ, b"x" * 300_000)
    assert run_process(launch, Capture(99, None), CancelToken(), lambda text: None).status == 0


def test_a_background_child_that_holds_the_pipe_is_found_and_ended() -> None:
    started = time.monotonic()
    # What it is called is known once it is no longer a copy of the shell.
    begun = "until ps -o comm= -p $! | grep -qx sleep; do :; done"
    ended = run(f"sleep 300 & {begun}; echo started $!", times=HELD)
    word, pid = ended.captured.text.split()
    assert (word, ended.status) == ("started", 0)
    assert ended.survivors == ("sleep 300",)
    assert not alive(int(pid))
    assert time.monotonic() - started < SOON_S


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what carries the mark")
@pytest.mark.parametrize(
    "line",
    [
        f"setsid {SLEEP} >/dev/null 2>&1 & echo $!",
        f"nohup setsid {SLEEP} & echo $!",
        f"set -m; {SLEEP} >/dev/null 2>&1 & echo $!",
        f"(setsid sh -c '{SLEEP} & wait' >/dev/null 2>&1 &); echo 0",
    ],
    ids=["own session", "nohup", "job control", "two levels"],
)
def test_who_leaves_the_group_or_the_session_is_found_too(line: str) -> None:
    ended = run(line, times=HELD)
    assert ended.survivors
    assert not alive(int(ended.captured.text.split()[-1]))
    assert SLEEP.encode() not in subprocess.check_output(["ps", "-A", "-o", "args="]).split(b"\n")


def test_a_grandchild_that_shed_its_mark_is_left_but_not_waited_for(tmp_path: Any) -> None:
    """A process that hides on purpose, as another user's would, must not hold the result up."""
    times = Times(term_s=0.3, kill_s=0.3, drain_s=0.05)
    said = os.path.join(str(tmp_path), "said")
    os.mkfifo(said)
    hidden = "echo $$ >$1; exec sleep 300"
    started = time.monotonic()
    # Nothing is over before it has hidden itself, which its number is the sign of.
    line = 'env -i setsid sh -c "$HIDDEN" sh "$SAID" & read pid <"$SAID"; echo $pid'
    ended = run(line, times=times, HIDDEN=hidden, SAID=said)
    assert time.monotonic() - started < SOON_S
    pid = int(ended.captured.text)
    os.kill(pid, 9)


def test_who_ignores_term_is_killed_with_all_of_its_kind() -> None:
    cancelling = Cancelling("ready")
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pid = os.fork()\n"
        "print('ready' if pid else '', flush=True)\n"
        "time.sleep(300)"
    )
    ended = python(code, cancel=cancelling.token, progress=cancelling, times=QUICK)
    seconds = time.monotonic() - cancelling.at
    assert (ended.status, ended.stopped) == (-9, True)
    assert QUICK.term_s <= seconds < SOON_S
    assert "ready" in ended.captured.text


def test_cancel_ends_a_child_at_once_and_keeps_what_it_said() -> None:
    cancelling = Cancelling("ready")
    ended = run("echo ready; sleep 300; echo never", cancel=cancelling.token, progress=cancelling)
    assert time.monotonic() - cancelling.at < SOON_S
    assert (ended.stopped, ended.captured.text) == (True, "ready\n")
    assert ended.survivors == ()


def test_last_words_on_term_are_kept() -> None:
    cancelling = Cancelling("ready")
    line = "trap 'echo cleaned up; exit 3' TERM; echo ready; while :; do sleep 0.01; done"
    ended = run(line, cancel=cancelling.token, progress=cancelling)
    assert ended.captured.text.endswith("cleaned up\n")
    assert ended.status == 3


def test_cancelled_before_the_start_it_is_ended_all_the_same() -> None:
    token = CancelToken()
    token.cancel()
    assert run("sleep 300", cancel=token).stopped


def test_a_stopped_child_is_ended_by_term() -> None:
    cancelling = Cancelling("ready")
    started = time.monotonic()
    ended = run("echo ready; kill -STOP $$", cancel=cancelling.token, progress=cancelling)
    assert (ended.status, ended.stopped) == (-15, True)
    assert time.monotonic() - started < SOON_S


def test_who_closes_its_output_still_runs() -> None:
    ended = run("exec >/dev/null 2>&1; sleep 0.1; exit 4")
    assert (ended.status, ended.captured.text) == (4, "")


def test_endless_output_is_bounded_and_can_be_ended(tmp_path: Any) -> None:
    cancelling = Cancelling("y")
    capture = Capture(1000, str(tmp_path / "full"), max_file_bytes=100_000)
    ended = run("yes", cancel=cancelling.token, progress=cancelling, capture=capture)
    assert ended.stopped
    assert len(ended.captured.text) < 1100


def test_output_arrives_while_it_runs(tmp_path: Any) -> None:
    go_on = os.path.join(str(tmp_path), "go")
    os.mkfifo(go_on)
    pieces: List[str] = []

    def take(text: str) -> None:
        pieces.append(text)
        if len(pieces) == 1:
            with open(go_on, "w") as fifo:  # what it has said is here before it may go on
                fifo.write("go")

    ended = run("echo one; cat $GO >/dev/null; echo two", progress=take, GO=go_on)
    assert pieces == ["one\n", "two\n"]
    assert ended.status == 0


@pytest.mark.parametrize(
    "argv,words",
    [
        (["no-such-program-anywhere"], "There is no program 'no-such-program-anywhere'."),
        (["/etc/passwd"], "may not be run"),
        (["echo", "a\0b"], "An argument cannot be passed"),
        (["echo", "\ud800"], "An argument cannot be passed"),
        (["echo", "x" * 3_000_000], "longer than this system"),
    ],
)
def test_what_cannot_be_started_says_why(argv: List[str], words: str) -> None:
    with pytest.raises(CannotStart, match=words):
        run_process(Launch(argv, "/", os.environ), Capture(9, None), CancelToken(), print)


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(CannotStart, match="The folder /nowhere/at/all does not exist"):
        run("true", cwd="/nowhere/at/all")


def test_a_file_without_a_first_line_for_the_system_is_no_program(tmp_path: Any) -> None:
    path = tmp_path / "thing"
    path.write_bytes(b"\x00\x01")
    path.chmod(0o755)
    with pytest.raises(CannotStart, match="not a program that this system can run"):
        run_process(Launch([str(path)], "/", os.environ), Capture(9, None), CancelToken(), print)


def test_no_descriptor_stays_open() -> None:
    run("true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        run("sleep 300 & echo", times=QUICK)
        with pytest.raises(CannotStart):
            run_process(
                Launch(["/nowhere"], "/", os.environ), Capture(9, None), CancelToken(), print
            )
    assert len(os.listdir("/proc/self/fd")) == before


PARENT = """
import os, signal, sys, threading
from jpq.interrupt.cancel import CancelToken
from jpq.tools.capture import Capture
from jpq.tools.process import run_process
from jpq.process.start import Launch

def run(line, progress):
    launch = Launch(("sh", "-c", line), "/", os.environ)
    return run_process(launch, Capture(99, None), CancelToken(), progress)

def die(text):
    sys.stdout.write(text)
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)

run("true", print)
other = threading.Thread(target=run, args=("exit 3", print))
other.start()
other.join()
run("trap '' TERM; echo $$; while :; do sleep 0.1; done", die)
"""


def test_whatever_ends_jpq_ends_its_children() -> None:
    died = subprocess.run([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, timeout=WAIT_S)
    assert died.returncode == -9
    pid = int(died.stdout)
    deadline = time.monotonic() + WAIT_S
    while alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_guard_of_many_ends_with_the_last() -> None:
    threads = [threading.Thread(target=run, args=("sleep 0.1",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    # no_leaks sees to it that no guard is left


def test_a_jpq_within_a_tool_adds_its_mark_to_the_first() -> None:
    ended = run(f"echo ${MARK_VARIABLE}", **{MARK_VARIABLE: "outer"})
    outer, _, inner = ended.captured.text.strip().partition(",")
    assert outer == "outer" and len(inner) == 16


def test_ps_tells_a_group_where_there_is_no_proc() -> None:
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as child:
        try:
            # Its words are not to be seen while it takes the place of our own image.
            wait_until(lambda: group_members(child.pid) == [(child.pid, child.pid, "sleep 300")])
        finally:
            child.kill()
    assert group_members(child.pid) == []
