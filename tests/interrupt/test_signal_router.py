"""SignalRouter: which signals become messages, what it leaves behind, and what ends at once."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import time
from typing import Iterator, List

import pytest

from jpq.interrupt.escalation import END, MENU
from jpq.interrupt.signals import Interrupt, Signalled, SignalRouter
from tests.support.ptys import ROOT

WAIT_S = 30.0
GRACEFUL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def handlers() -> Iterator[None]:
    """Ours for the time of the test, whatever the runner of the tests has set."""
    before = {signum: signal.getsignal(signum) for signum in GRACEFUL}
    for signum in GRACEFUL:
        signal.signal(signum, signal.SIG_DFL)
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


def raise_signal(signum: int) -> None:
    os.kill(os.getpid(), signum)


def test_a_press_asks_for_the_menu_and_the_next_one_for_the_end(handlers: None) -> None:
    posted: List[Interrupt] = []
    with SignalRouter(posted.append):
        raise_signal(signal.SIGINT)
        raise_signal(signal.SIGINT)
    assert posted == [Interrupt(signal.SIGINT, MENU), Interrupt(signal.SIGINT, END)]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_ask_for_the_end(signum: int, handlers: None) -> None:
    posted: List[Interrupt] = []
    with SignalRouter(posted.append):
        raise_signal(signum)
    assert posted == [Interrupt(signum, END)]


def test_the_topmost_scope_that_takes_a_signal_gets_it(handlers: None) -> None:
    below: List[Interrupt] = []
    above: List[Interrupt] = []
    asked: List[Interrupt] = []

    def declines(interrupt: Interrupt) -> bool:
        asked.append(interrupt)
        return False

    router = SignalRouter(below.append)
    with router:
        with router.scope(above.append), router.scope(declines):
            raise_signal(signal.SIGINT)
        raise_signal(signal.SIGTERM)
    assert asked == above == [Interrupt(signal.SIGINT, MENU)]
    assert below == [Interrupt(signal.SIGTERM, END)]


def test_without_a_scope_a_signal_is_raised(handlers: None) -> None:
    with SignalRouter(), pytest.raises(KeyboardInterrupt):
        raise_signal(signal.SIGINT)
    with SignalRouter(), pytest.raises(Signalled) as raised:
        raise_signal(signal.SIGTERM)
    assert raised.value.signum == signal.SIGTERM


def test_what_was_set_before_is_set_again(handlers: None) -> None:
    heard: List[int] = []
    signal.signal(signal.SIGTERM, lambda signum, frame: heard.append(signum))
    with SignalRouter(lambda interrupt: None):
        raise_signal(signal.SIGTERM)
    raise_signal(signal.SIGTERM)
    assert heard == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_an_ignored_signal_stays_ignored(handlers: None) -> None:
    posted: List[Interrupt] = []
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with SignalRouter(posted.append):
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        raise_signal(signal.SIGHUP)
    assert posted == []


def ended(code: str) -> int:
    """The exit code of a process that runs ``code``, negative for a signal."""
    head = "import os, signal; from jpq.interrupt.signals import SignalRouter, end_by_signal\n"
    command = [sys.executable, "-c", head + code]
    return subprocess.run(command, cwd=ROOT, timeout=WAIT_S).returncode


def test_the_third_press_ends_the_process_by_that_signal() -> None:
    code = """
signal.signal(signal.SIGINT, signal.default_int_handler)
with SignalRouter(lambda interrupt: None):
    for press in range(3):
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(7)
"""
    assert ended(code) == -signal.SIGINT


@pytest.mark.parametrize("signum", GRACEFUL)
def test_the_end_is_the_signal_itself(signum: int) -> None:
    ignored = f"signal.signal({int(signum)}, signal.SIG_IGN)\n"
    assert ended(f"{ignored}end_by_signal({int(signum)})") == -signum


def test_where_the_signal_is_blocked_its_code_remains() -> None:
    code = "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); end_by_signal(15)"
    assert ended(code) == 143


def test_after_a_signal_asked_for_the_end_the_first_press_ends_at_once() -> None:
    code = """
router = SignalRouter(lambda interrupt: None)
signal.signal(signal.SIGINT, signal.default_int_handler)
with router:
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
    os._exit(7)
"""
    assert ended(code) == -signal.SIGINT


def test_a_press_while_jpq_is_being_loaded_shows_no_traceback() -> None:
    code = """
import sys
import time
from jpq.cli import main
class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "jpq.cli.run":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Pressed())
main.main(["hi"])
"""
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, cwd=ROOT, timeout=WAIT_S, stderr=subprocess.PIPE)
    assert (process.returncode, process.stderr) == (-signal.SIGINT, b"")


class Freed:
    """Presses while Python frees it, where nothing that is raised gets anywhere."""

    def __init__(self, signum: int) -> None:
        self.signum = signum

    def __del__(self) -> None:
        raise_signal(self.signum)
        time.sleep(0)


@pytest.mark.parametrize("signum", GRACEFUL)
def test_what_python_drops_is_raised_again(signum: int, handlers: None) -> None:
    lost = Freed(signum)
    with SignalRouter(), pytest.raises((KeyboardInterrupt, Signalled)):
        del lost
        time.sleep(WAIT_S)


def test_what_is_dropped_goes_to_a_scope_that_is_there_by_then(handlers: None) -> None:
    posted: queue.SimpleQueue[Interrupt] = queue.SimpleQueue()
    lost = Freed(signal.SIGINT)
    with SignalRouter() as router:
        del lost
        router.listen(posted.put)
        assert posted.get(timeout=WAIT_S) == Interrupt(signal.SIGINT, MENU)


def test_other_errors_that_python_drops_are_told_as_ever(
    handlers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: List[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: told.append(error.exc_value))

    class Broken:
        def __del__(self) -> None:
            raise KeyError("broken")

    broken = Broken()
    with SignalRouter():
        del broken
    assert isinstance(told[0], KeyError)


def test_once_all_is_told_only_a_scope_that_is_opened_then_takes_signals(handlers: None) -> None:
    before: List[Interrupt] = []
    late: List[Interrupt] = []
    with SignalRouter(before.append) as router:
        router.stop_listening()
    with router.scope(late.append):
        raise_signal(signal.SIGINT)
        raise_signal(signal.SIGINT)
    assert (before, late) == ([], [Interrupt(signal.SIGINT, END)] * 2)


def test_once_all_is_told_a_signal_ends_the_process_at_once() -> None:
    code = """
router = SignalRouter()
signal.signal(signal.SIGINT, signal.default_int_handler)
with router:
    router.stop_listening()
try:
    os.kill(os.getpid(), signal.SIGINT)
finally:
    os._exit(7)
"""
    assert ended(code) == -signal.SIGINT
