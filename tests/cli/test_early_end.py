"""EarlyEnd: the time limit before a turn, whatever Python does in that moment."""

from __future__ import annotations

import signal
import time
from typing import Iterator

import pytest

from jpq.cli.early_end import EarlyEnd
from jpq.errors import RunTimeoutError

WAIT_S = 15.0
SOON_S = 0.01


@pytest.fixture
def handlers() -> Iterator[None]:
    """What the runner of the tests has set is set again."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    before = {signum: signal.getsignal(signum) for signum in numbers}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


class SlowToFree:
    """Python frees it while the alarm comes, where nothing that is raised gets anywhere."""

    def __del__(self) -> None:
        time.sleep(WAIT_S)


def test_the_limit_ends_what_comes_before_the_turn(handlers: None) -> None:
    with pytest.raises(RunTimeoutError), EarlyEnd(time.monotonic()) as early:
        early.limit(SOON_S)
        time.sleep(WAIT_S)


def test_an_alarm_that_python_drops_comes_again(handlers: None) -> None:
    freed = SlowToFree()
    with pytest.raises(RunTimeoutError), EarlyEnd(time.monotonic()) as early:
        early.limit(SOON_S)
        del freed  # the alarm comes in there
        time.sleep(WAIT_S)
        pytest.fail("the alarm got lost")


def test_once_the_turn_begins_no_alarm_comes_again(
    handlers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jpq.cli.early_end.AGAIN_S", WAIT_S)
    freed = SlowToFree()
    with EarlyEnd(time.monotonic()) as early:
        early.limit(SOON_S)
        del freed
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0.0
        early.turn_begins()
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
