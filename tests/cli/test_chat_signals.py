"""What Ctrl+C means while no turn of a chat runs. Real signals, to this process."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import Any, Iterator, Optional

import pytest

from jpq.cli.chat.signals import Pressed, PromptSignals
from jpq.interrupt.escalation import MENU
from jpq.interrupt.signals import Interrupt, Signalled, SignalRouter


class Editor:
    """A line that is being typed."""

    waits = False

    def typed(self) -> Optional[str]:
        return "half"


@pytest.fixture
def editor() -> Any:
    return Editor()


@pytest.fixture
def router() -> Iterator[SignalRouter]:
    with SignalRouter() as router:
        yield router


@contextlib.contextmanager
def listening(router: SignalRouter, editor: Any) -> Iterator[PromptSignals]:
    signals = PromptSignals(router, editor)
    with router.scope(signals.notify):
        yield signals


def press(signum: int = signal.SIGINT) -> None:
    signal.raise_signal(signum)


def test_presses_at_the_prompt_clear_it_and_never_end_anything(
    router: SignalRouter, editor: Any
) -> None:
    with listening(router, editor) as signals:
        for _ in range(9):
            with pytest.raises(Pressed) as raised, signals.prompt():
                editor.waits = True
                press()
            assert raised.value.typed == "half"
            editor.waits = False
            press()  # before the next prompt
        with signals.prompt():
            pass
        assert signals.take_early() is None


def test_a_press_that_python_drops_comes_again(editor: Any) -> None:
    class Freed:
        def __del__(self) -> None:
            press()

    editor.waits = True
    with contextlib.ExitStack() as opened:
        router = opened.enter_context(SignalRouter())
        signals = opened.enter_context(listening(router, editor))
        with pytest.raises(Pressed), signals.prompt():
            Freed()
            threading.Event().wait(15)


def test_what_clears_up_behind_a_press_is_not_interrupted(
    router: SignalRouter, editor: Any
) -> None:
    editor.waits = True
    with listening(router, editor) as signals, pytest.raises(Pressed), signals.prompt():
        try:
            press()
        finally:
            press()


def test_a_press_behind_the_message_is_for_the_turn(router: SignalRouter, editor: Any) -> None:
    with listening(router, editor) as signals:
        with signals.prompt():
            pass
        press()
        assert signals.take_early() == Interrupt(signal.SIGINT, MENU)
        assert signals.take_early() is None
        with pytest.raises(KeyboardInterrupt):
            press()  # the second one in two seconds


def test_a_command_that_works_is_broken_off(router: SignalRouter, editor: Any) -> None:
    with listening(router, editor) as signals:
        with pytest.raises(Pressed) as raised, signals.command():
            press()
        assert raised.value.typed is None
        with signals.prompt():
            press()  # nobody waits, and nothing works


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_end_it(name: str, router: SignalRouter, editor: Any) -> None:
    signum = getattr(signal, name)
    editor.waits = True
    raising = pytest.raises(Signalled)
    with listening(router, editor) as signals, raising as raised, signals.prompt():
        press(signum)
    assert raised.value.signum == signum
