"""TurnLoop and the menus: what each choice leaves in the conversation, without a terminal."""

from __future__ import annotations

import threading
import time
from typing import Any, Iterator, List, Tuple

import pytest

from jpq.conversation.event import AssistantMessage, ChatRequest, ToolResponse, TurnEnd
from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import STOP, TOOL_CALLS, Finished, MessageDelta, Part, ToolCallRequest
from jpq.events.turn import Notice, TextChunk, TurnEvent
from jpq.interrupt.menus import Choice, Place, Situation
from jpq.interrupt.signals import Interrupt
from jpq.store.memory import MemoryJournal
from jpq.turn.ending import TurnOutcome
from jpq.turn.inbox import StopAsked
from tests.support.exchange import SILENCE, WAIT_S
from tests.support.menus import Scripted
from tests.turn.test_turn_loop import Turn

PRESS = Interrupt(2, 1)
DONE = Finished(STOP)


def text(words: str) -> Part:
    return Part(0, MessageDelta(words))


def pressed(turn_of: List[Turn], item: Any = PRESS) -> Any:
    """Presses when the first text is shown."""

    def on_show(event: TurnEvent) -> None:
        if isinstance(event, TextChunk) and len(turn_of) == 1:
            turn_of.append(turn_of[0])
            turn_of[0].inbox.post(item)

    return on_show


def shown_text(turn: Turn) -> str:
    return "".join(event.text for event in turn.shown if isinstance(event, TextChunk))


def run(*scripts: Any, menus: Scripted, item: Any = PRESS, **more: Any) -> Tuple[Turn, TurnOutcome]:
    turns: List[Turn] = []
    turn = Turn(*scripts, menus=menus, on_show=pressed(turns, item), **more)
    turns.append(turn)
    return turn, turn.ask()


def test_stop_saves_and_ends_with_0() -> None:
    turn, outcome = run([text("so far"), SILENCE], menus=Scripted(Choice.STOP))
    assert (outcome.ending.exit_code, outcome.signum) == (0, None)
    assert turn.events[1:] == [
        AssistantMessage("so far"),
        TurnEnd("interrupted", "interrupted", {}, "model-1"),
    ]


def test_cancelling_a_session_is_stop() -> None:
    turn, outcome = run([text("so far"), SILENCE], menus=Scripted(), item=StopAsked())
    assert (outcome.ending.exit_code, outcome.signum) == (0, None)
    assert turn.events[-1].status == "interrupted"


def test_a_reply_is_a_turn_of_its_own() -> None:
    menus = Scripted(Choice.REPLY, words=("", "  ", "Shorter"))
    turn, outcome = run([text("so far"), SILENCE], [text("Short."), DONE], menus=menus)
    assert outcome.ending.exit_code == 0
    assert outcome.text == "Short."
    assert turn.events[1:] == [
        AssistantMessage("so far"),
        TurnEnd("interrupted", "interrupted", {}, "model-1"),
        ChatRequest("Shorter"),
        AssistantMessage("Short."),
        TurnEnd("complete", STOP, {}, "model-1"),
    ]
    assert not [event for event in turn.shown if isinstance(event, Notice)]


def test_from_the_reply_one_can_go_back_to_the_menu() -> None:
    menus = Scripted(Choice.REPLY, Choice.STOP, words=(None,))
    turn, outcome = run([text("so far"), SILENCE], menus=menus)
    assert outcome.ending.exit_code == 0
    assert len(menus.opened) == 2 and len(turn.provider.requests) == 1


def test_abort_of_a_reply_takes_back_the_reply_only() -> None:
    presses: List[TurnEvent] = []

    def on_show(event: TurnEvent) -> None:
        if isinstance(event, TextChunk):
            presses.append(event)
            turn.inbox.post(PRESS)

    menus = Scripted(Choice.REPLY, Choice.ABORT, words=("Shorter",))
    turn = Turn([text("one"), SILENCE], [text("two"), SILENCE], menus=menus, on_show=on_show)
    assert turn.ask().ending.exit_code == 130
    assert [type(event) for event in turn.events] == [ChatRequest, AssistantMessage, TurnEnd]


def test_what_arrives_behind_the_menu_is_kept() -> None:
    def behind(situation: Situation) -> None:
        deadline = time.monotonic() + WAIT_S
        while "d" not in shown_text(turns[0]) and time.monotonic() < deadline:
            assert situation.behind() is None

    turns: List[Turn] = []
    menus = Scripted(Choice.STOP, before=behind)
    script = [text("a "), text("b "), text("c "), text("d"), SILENCE]
    turns.append(Turn(script, menus=menus, on_show=pressed(turns)))
    turns[0].ask()
    assert turns[0].events[1] == AssistantMessage("a b c d")


def test_going_on_with_a_stream_that_died_needs_no_retry() -> None:
    dies = threading.Event()

    def stream() -> Iterator[Any]:
        yield text("so ")
        assert dies.wait(WAIT_S)
        yield StreamError(ErrorKind.CUT, "Cut off.")

    def until_it_died(situation: Situation) -> None:
        dies.set()
        for thread in threading.enumerate():
            if thread.name.startswith("jpq-read"):
                thread.join(WAIT_S)
        situation.behind()

    turns: List[Turn] = []
    menus = Scripted(Choice.CONTINUE, before=until_it_died)
    turns.append(
        Turn(
            stream(),
            [text("far"), DONE],
            menus=menus,
            max_attempts=1,
            on_show=pressed(turns),
        )
    )
    outcome = turns[0].ask()
    assert (outcome.ending.exit_code, outcome.text) == (0, "so far")
    assert turns[0].provider.requests[1].thread.continues


def test_while_waiting_to_retry() -> None:
    menus = Scripted(Choice.NOW)
    busy = StreamError(ErrorKind.OVERLOADED, "Busy.", retry_after=4.0)

    def on_show(event: TurnEvent) -> None:
        if isinstance(event, Notice):
            turn.inbox.post(PRESS)

    turn = Turn([busy], [text("Hi"), DONE], menus=menus, on_show=on_show)
    assert turn.ask().text == "Hi"
    assert [each.place for each in menus.opened] == [Place.BACKOFF]


@pytest.mark.parametrize("choice", [Choice.CONTINUE, Choice.STOP, Choice.REPLY])
def test_between_two_phases(choice: Choice) -> None:
    """The press comes while the answers of the calls are written."""

    class Pressing(MemoryJournal):
        def commit(self, drafts: Any) -> Any:
            if any(isinstance(draft.event, ToolResponse) for draft in drafts):
                turn.inbox.post(PRESS)
            return super().commit(drafts)

    menus = Scripted(choice, words=("And?",))
    call = Part(0, ToolCallRequest("c1", "greet", {}))
    turn = Turn([call, Finished(TOOL_CALLS)], [text("Hi"), DONE], menus=menus, journal=Pressing())
    outcome = turn.ask()
    assert [each.place for each in menus.opened] == [Place.BETWEEN]
    assert outcome.ending.exit_code == 0
    statuses = [event.status for event in turn.events if isinstance(event, TurnEnd)]
    assert (
        statuses
        == {
            Choice.CONTINUE: ["complete"],
            Choice.STOP: ["interrupted"],
            Choice.REPLY: ["interrupted", "complete"],
        }[choice]
    )
    assert len(turn.provider.requests) == (1 if choice is Choice.STOP else 2)
    assert [e.id for e in turn.events if isinstance(e, ToolResponse)] == ["c1"]


def test_a_fixed_choice_that_is_not_answered_goes_on() -> None:
    class Fixed(Scripted):
        def choose(self, interrupt: Interrupt, situation: Situation) -> Any:
            return super().choose(interrupt, situation)._replace(fixed=True)

    turn, outcome = run([text("so far"), DONE], menus=Fixed(Choice.REPLY, words=(None,)))
    assert outcome.ending.status == "complete"
