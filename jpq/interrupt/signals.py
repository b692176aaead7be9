"""SignalRouter: hands each signal to whoever listens at the moment.

turn ─scope─▶ router ◀─signal
menu ─scope─▶    │
                 └─▶ the topmost scope that takes it, else an exception on the main thread
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from _thread import start_new_thread
from typing import Any, Callable, Dict, Iterator, List, NoReturn, Optional, Tuple

from jpq.interrupt.escalation import AT_ONCE, END, Escalation
from jpq.named import NamedTuple
from jpq.terminal.modes import put_modes_back

# By name because Windows lacks some and has its own Ctrl+Break.
_KEYS = ("SIGINT", "SIGBREAK")
_ENDING = ("SIGTERM", "SIGHUP")

# How long Python may take to have freed an object.
AGAIN_S = 0.005


class Interrupt(NamedTuple):
    """A signal arrived: its number, and what it asks for (``escalation.MENU`` or ``END``)."""

    signum: int
    press: int


class Signalled(BaseException):
    """The signal ``signum`` asks for the end; raised wherever the main thread is, like
    KeyboardInterrupt."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


Notify = Callable[[Interrupt], object]


class SignalRouter:
    """The one handler of SIGINT, SIGTERM and SIGHUP; a context manager. Main thread only,
    because Python installs handlers there.

    Scopes are a stack. ``notify`` of the topmost one is called inside the handler, so it may
    do no more than one ``SimpleQueue.put`` (``Inbox.post``), or raise; False declines. A
    signal that no scope takes is raised: KeyboardInterrupt or Signalled. Once the end was
    asked for, a press ends the process at once.

    One scope serves all phases of a turn, as it is the main thread that takes the message, and
    knows by then which phase it interrupts. SIGQUIT and SIGTSTP are left to the system, which
    obeys them even where Python hangs, but while ``jpq.terminal.modes`` has the terminal's modes
    to put back first. SIGWINCH needs nobody: the width is asked each time.
    """

    def __init__(
        self, post: Optional[Notify] = None, escalation: Optional[Escalation] = None
    ) -> None:
        self.escalation = escalation or Escalation()
        self.prompt_follows = False  # a chat goes on when a turn was stopped
        self._scopes: List[Notify] = [] if post is None else [post]
        self._previous: Dict[int, Any] = {}
        self._is_over = False
        self._raised: Optional[Tuple[BaseException, Callable[[], object]]] = None
        self._again: Dict[int, Interrupt] = {}
        self._hook: Any = None

    def __enter__(self) -> SignalRouter:
        for name in _KEYS + _ENDING:
            signum = getattr(signal, name, None)
            # A signal that the parent ignores (nohup, a background job) stays ignored.
            if signum is not None and signal.getsignal(signum) is not signal.SIG_IGN:
                self._previous[signum] = signal.signal(signum, self._handle)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._send_again
        return self

    def __exit__(self, *exc: object) -> None:
        sys.unraisablehook = self._hook
        for signum, handler in self._previous.items():
            signal.signal(signum, handler)
        self._previous.clear()

    @contextlib.contextmanager
    def scope(self, notify: Notify) -> Iterator[None]:
        """Have ``notify`` take signals until the end of the ``with``."""
        self._scopes.append(notify)
        try:
            yield
        finally:
            self._scopes.remove(notify)

    @contextlib.contextmanager
    def menu(self) -> Iterator[None]:
        """While a menu is open, every press asks for the end."""
        self.escalation.in_menu = True
        try:
            yield
        finally:
            self.escalation.in_menu = False

    def listen(self, notify: Notify) -> None:
        """From now on ``notify`` takes what no scope takes, and nothing is raised any more."""
        self._scopes.insert(0, notify)

    def stop_listening(self) -> None:
        """From now on a signal ends the process at once, also after the end of the ``with``,
        unless a scope that is opened later takes it."""
        self._is_over = True
        self._previous.clear()
        self._scopes.clear()

    def _handle(self, signum: int, frame: Optional[object]) -> None:
        if self._is_over:
            self._end_late(signum)
            return
        interrupt = self._again.pop(signum, None) or self._counted(signum)
        try:
            self._hand_on(interrupt)
        except BaseException as error:
            self.surely(error, lambda: self._send(interrupt))

    def surely(self, error: BaseException, again: Callable[[], object]) -> NoReturn:
        """Raise ``error``, for a signal handler; ``again`` has the signal come once more, should
        Python drop what is raised because it is freeing an object."""
        self._raised = error, again
        raise error

    def _end_late(self, signum: int) -> None:
        if not any(notify(Interrupt(signum, END)) is not False for notify in self._scopes):
            end_by_signal(signum)

    def _counted(self, signum: int) -> Interrupt:
        if not is_key(signum):
            self.escalation.end()
            return Interrupt(signum, END)
        press = self.escalation.press()
        if press == AT_ONCE:
            put_modes_back()
            end_by_signal(signum)
        return Interrupt(signum, press)

    def _hand_on(self, interrupt: Interrupt) -> None:
        for notify in reversed(self._scopes):
            if notify(interrupt) is not False:
                return
        self.escalation.end()
        raise (
            KeyboardInterrupt if interrupt.signum == signal.SIGINT else Signalled(interrupt.signum)
        )

    def _send_again(self, unraisable: Any) -> None:
        """Python drops what is raised while it frees an object; a signal must not get lost."""
        if self._raised is None or unraisable.exc_value is not self._raised[0]:
            self._hook(unraisable)
            return
        again, self._raised = self._raised[1], None
        again()

    def _send(self, interrupt: Interrupt) -> None:
        self._again[interrupt.signum] = interrupt
        start_new_thread(_send_later, (interrupt.signum,))  # takes no lock, as one may be held


def is_key(signum: int) -> bool:
    """Whether the person sends it by a key, and is asked what it means."""
    return signum in _numbers(_KEYS)


def signal_behind(end: BaseException) -> int:
    """The number of the signal that the router raised ``end`` for, or Python itself."""
    return int(getattr(end, "signum", signal.SIGINT))


def end_by_signal(signum: int) -> NoReturn:
    """End the process as if it had never handled ``signum``, so that its parent sees it."""
    if sys.platform != "win32":  # os.kill there ends with the bare number as exit code
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)
    os._exit(128 + signum)  # elsewhere only reached when the signal is blocked


def _send_later(signum: int) -> None:
    time.sleep(AGAIN_S)
    if sys.platform == "win32":  # os.kill there ends the process
        signal.raise_signal(signum)
    else:
        os.kill(os.getpid(), signum)  # this wakes the main thread, too


def _numbers(names: Any) -> List[int]:
    return [getattr(signal, name) for name in names if hasattr(signal, name)]
