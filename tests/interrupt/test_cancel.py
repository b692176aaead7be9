"""CancelToken: reasons, callbacks, children."""

from __future__ import annotations

import threading
from typing import List

from jpq.interrupt.cancel import CANCELLED, TIMED_OUT, CancelToken


def test_the_first_reason_stays() -> None:
    token = CancelToken()
    assert not token.cancelled and token.reason is None and not token.wait(0)
    token.cancel(TIMED_OUT)
    token.cancel()
    assert token.cancelled and token.reason == TIMED_OUT and token.wait(0)


def test_callbacks_are_called_once_and_only_while_they_are_wanted() -> None:
    token = CancelToken()
    called: List[str] = []
    with token.calling(lambda: called.append("gone")):
        pass
    with token.calling(lambda: called.append("there")):
        token.cancel()
        token.cancel()
    with token.calling(lambda: called.append("late")):
        pass
    assert called == ["there", "late"]


def test_children_are_cancelled_with_their_parent_and_not_the_other_way_round() -> None:
    parent = CancelToken()
    one, other = parent.child(), parent.child()
    one.cancel()
    assert not parent.cancelled and not other.cancelled
    parent.cancel(TIMED_OUT)
    assert (one.reason, other.reason, parent.child().reason) == (CANCELLED, TIMED_OUT, TIMED_OUT)


def test_a_sleeper_wakes_up() -> None:
    token = CancelToken()
    woken = threading.Event()
    sleeper = threading.Thread(target=lambda: token.wait(10) and woken.set())
    sleeper.start()
    token.cancel()
    sleeper.join(5)
    assert woken.is_set()
