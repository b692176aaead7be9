"""InterruptHandler: what is asked, and what ends a menu. Its keys are pressed in tests/faults."""

from __future__ import annotations

import contextlib
import signal
from typing import Any, Iterator, List, Optional

import pytest

from jpq.interrupt.escalation import END, MENU
from jpq.interrupt.handler import FixedActions, InterruptHandler
from jpq.interrupt.menus import MENUS, Choice, Place, Running, Situation, help_lines, line
from jpq.interrupt.prompt import NobodyAnswers, TerminalStuck
from jpq.interrupt.signals import Interrupt, SignalRouter
from jpq.interrupt.watchdog import Watchdog

PRESS = Interrupt(signal.SIGINT, MENU)
ASK = FixedActions("prompt", "prompt")


class Person:
    """Answers questions with a script; an exception in it is raised instead."""

    def __init__(self, *script: Any) -> None:
        self.asked: List[str] = []
        self.said: List[str] = []
        self._script = list(script)
        self._meanwhile: Any = None

    @contextlib.contextmanager
    def dialogue(self, meanwhile: Any) -> Iterator[Person]:
        self._meanwhile = meanwhile
        yield self

    @contextlib.contextmanager
    def passing(self, question: str, keys: str, otherwise: str) -> Iterator[str]:
        key = self._next(question)
        assert key in keys
        yield str(key)

    def choose(self, question: str, keys: str, otherwise: str) -> str:
        key = str(self._next(question))
        assert key in keys
        return key

    def line(self, question: str) -> Optional[str]:
        answer = self._next(question)
        return None if answer is None else str(answer)

    def say(self, text: str) -> None:
        self.said.append(text)

    def _next(self, question: str) -> Any:
        self.asked.append(question)
        self._meanwhile()
        step = self._script.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step


class Dog(Watchdog):
    def __init__(self) -> None:
        self.started: List[int] = []

    def start(self, signum: int) -> None:
        self.started.append(signum)


def handler(
    person: Optional[Person], actions: FixedActions = ASK, foreground: bool = True
) -> InterruptHandler:
    prompter: Any = person
    return InterruptHandler(prompter, SignalRouter(), Dog(), actions, lambda: foreground)


def over(place: Place, *running: Running, item: Any = None) -> Situation:
    return Situation(place, lambda: item, lambda: running)


@pytest.mark.parametrize("place", Place)
def test_each_key_is_its_choice_and_is_written_in_the_menu(place: Place) -> None:
    for item in MENUS[place]:
        person = Person(item.key)
        running = Running("c1", "Slow")
        assert handler(person).choose(PRESS, over(place, running)).choice is item.choice
        assert person.asked == [line(place)]
        assert f"[{item.key}]" in line(place) and f"  {item.key}  " in help_lines(place)
    assert len({item.key for item in MENUS[place]}) == len(MENUS[place])


def test_help_is_shown_and_the_menu_opens_again() -> None:
    person = Person("?", "c")
    assert handler(person).choose(PRESS, over(Place.STREAMING)).choice is Choice.CONTINUE
    assert person.said == [help_lines(Place.STREAMING)]
    assert len(person.asked) == 2


def test_one_of_several_calls_is_restarted() -> None:
    calls = [Running("c1", "One"), Running("c2", "Two"), Running("c3", "Three")]
    for typed, ids in (("2", ("c2",)), ("a", ("c1", "c2", "c3"))):
        chosen = handler(Person("t", typed)).choose(PRESS, over(Place.TOOLS, *calls))
        assert (chosen.choice, chosen.calls) == (Choice.RESTART, ids)
    for nothing in ("", None):
        chosen = handler(Person("t", nothing, "c")).choose(PRESS, over(Place.TOOLS, *calls))
        assert chosen.choice is Choice.CONTINUE
    chosen = handler(Person("t", "7", "x", "3")).choose(PRESS, over(Place.TOOLS, *calls))
    assert chosen.calls == ("c3",)


@pytest.mark.parametrize(
    "interrupt", [Interrupt(signal.SIGINT, END), Interrupt(signal.SIGTERM, END)]
)
def test_what_asks_for_the_end_opens_no_menu(interrupt: Interrupt) -> None:
    person = Person()
    chosen = handler(person).choose(interrupt, over(Place.STREAMING))
    assert (chosen.choice, chosen.item, person.asked) == (Choice.LEAVE, interrupt, [])


@pytest.mark.parametrize("made", [handler(None), handler(Person(), foreground=False)])
def test_where_nobody_can_be_asked_a_press_ends_it(made: InterruptHandler) -> None:
    assert made.choose(PRESS, over(Place.STREAMING)).item == PRESS


def test_what_comes_first_leaves_the_menu() -> None:
    again = Interrupt(signal.SIGINT, END)
    chosen = handler(Person("c")).choose(PRESS, over(Place.STREAMING, item=again))
    assert (chosen.choice, chosen.item) == (Choice.LEAVE, again)
    line, item = handler(Person("Hello")).ask("?", over(Place.STREAMING, item=again))
    assert (line, item) == (None, again)


@pytest.mark.parametrize(
    ("ends", "signum"),
    [(NobodyAnswers("gone"), signal.SIGHUP), (TerminalStuck("full"), signal.SIGINT)],
)
def test_a_terminal_that_is_gone_is_a_hangup(ends: Exception, signum: int) -> None:
    chosen = handler(Person(ends)).choose(PRESS, over(Place.STREAMING))
    assert (chosen.choice, chosen.item) == (Choice.LEAVE, Interrupt(signum, END))


def test_ctrl_d_at_a_line_goes_back() -> None:
    assert handler(Person(None)).ask("Your reply:", over(Place.STREAMING)) == (None, None)
    assert handler(Person("Hi")).ask("Your reply:", over(Place.STREAMING)) == ("Hi", None)


def test_fixed_actions_ask_nothing_where_the_place_has_them() -> None:
    actions = FixedActions("abort", "restart")
    chosen = handler(Person(), actions).choose(PRESS, over(Place.STREAMING))
    assert (chosen.choice, chosen.fixed) == (Choice.ABORT, True)
    chosen = handler(Person(), actions).choose(PRESS, over(Place.TOOLS, Running("c1", "One")))
    assert (chosen.choice, chosen.calls) == (Choice.RESTART, ("c1",))
    chosen = handler(Person("s"), actions).choose(PRESS, over(Place.BACKOFF))
    assert (chosen.choice, chosen.fixed) == (Choice.STOP, False)


def test_the_watchdog_is_started_by_an_end_only() -> None:
    dog = Dog()
    person: Any = Person("c")
    made = InterruptHandler(person, SignalRouter(), dog, ASK, lambda: True)
    made.choose(PRESS, over(Place.STREAMING))
    assert dog.started == []
    made.choose(Interrupt(signal.SIGTERM, END), over(Place.STREAMING))
    assert dog.started == [signal.SIGTERM]


@pytest.mark.parametrize("key, yes", [("y", True), ("n", False)])
def test_a_question_of_yes_or_no(key: str, yes: bool) -> None:
    person = Person(key)
    assert handler(person).confirm("Go on?", over(Place.BETWEEN)) == (yes, None)
    assert person.asked == ["Go on?"]


def test_where_nobody_can_be_asked_a_question_has_no_answer() -> None:
    for made in (handler(None), handler(Person(), foreground=False)):
        assert made.confirm("Go on?", over(Place.BETWEEN)) == (None, None)
    answer, item = handler(Person(NobodyAnswers("gone"))).confirm("?", over(Place.BETWEEN))
    assert answer is False and isinstance(item, Interrupt)
