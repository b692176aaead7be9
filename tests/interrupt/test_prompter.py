"""Prompter: the terminal is shared with a renderer that may rest too late."""

from __future__ import annotations

import functools
import threading
from typing import Any, List, Optional

import pytest

from jpq.interrupt.prompt import Prompter
from jpq.render.sanitize import sanitize
from jpq.render.worker import Renderer
from jpq.terminal.device import PosixDevice
from tests.support.person import Person

WAIT_S = 15.0


class BusyView:
    """A view that is writing something while a question is asked."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def show(self, event: Any) -> None:
        self.begun.set()
        assert self.may_end.wait(WAIT_S)

    def tick(self) -> Optional[float]:
        return None

    def flush(self) -> List[Any]:
        return []

    def pause(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize("columns, again", [(80, "\rGo on? "), (5, "Go on? \n\rGo on? ")])
def test_a_question_is_shown_again_once_the_renderer_rests(columns: int, again: str) -> None:
    """One of several rows is not mixed with itself."""
    view = BusyView()
    person = Person(("Go on? ", view.may_end.set))
    person.resize(columns)
    with person, Renderer(view, print) as renderer:
        renderer.show("something")  # type: ignore[arg-type]
        assert view.begun.wait(WAIT_S)
        environ = {"TERM": "xterm"}
        prompter = Prompter(renderer.lease_now, sanitize, environ, person.open_terminal)
        with prompter.dialogue(person.act) as dialogue:
            person.then("\rGo on? ", b"y")
            assert dialogue.choose("Go on?", "yn", "n") == "y"
        assert person.done and again in person.seen.replace("\r\n", "\n")


def test_where_it_rests_in_time_a_question_is_shown_once() -> None:
    view = BusyView()
    view.may_end.set()
    person = Person(("Go on? ", b"y"))
    with person, Renderer(view, print) as renderer:
        patient = functools.partial(renderer.lease, WAIT_S)
        prompter = Prompter(patient, sanitize, {"TERM": "xterm"}, person.open_terminal)
        with prompter.dialogue(person.act) as dialogue:
            assert dialogue.choose("Go on?", "yn", "n") == "y"
        person.act()
        assert person.seen.count("Go on?") == 1


def test_what_is_typed_behind_an_answer_does_not_come_before_it() -> None:
    class Device(PosixDevice):
        def set_modes(self, modes: Any) -> None:
            super().set_modes(modes)
            person.type(b"\r")  # as soon as the terminal shows by itself what is typed

    person = Person(("Go on? ", b"y"))
    view = BusyView()
    view.may_end.set()
    with person, Renderer(view, print) as renderer:
        lease = functools.partial(renderer.lease, WAIT_S)
        terminal = functools.partial(person.open_terminal, Device)
        with Prompter(lease, sanitize, {"TERM": "dumb"}, terminal).dialogue(person.act) as dialogue:
            assert dialogue.choose("Go on?", "yn", "n") == "y"
        person.act()
        assert "Go on? y\r\n" in person.seen
