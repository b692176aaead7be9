"""The turn's table: it moves as listed, refuses the rest, and always pairs calls."""

from __future__ import annotations

from typing import List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.turn.coordinator import (
    ENDED,
    NOT_FINISHED,
    TRANSITIONS,
    Act,
    Answer,
    Phase,
    Trigger,
    TurnCoordinator,
)


def words(of: type) -> List[str]:
    """All that ``of`` (Phase, Trigger) lists."""
    return [word for name, word in vars(of).items() if name.isupper()]


def at(phase: str, below: str = Phase.STREAMING) -> TurnCoordinator:
    """A coordinator that was walked to ``phase``, interrupted above ``below``."""
    coordinator = TurnCoordinator()
    if phase is Phase.IDLE:
        return coordinator
    coordinator.handle(Trigger.START)
    if phase in (Phase.EXECUTING, Phase.CONTINUING) or below is Phase.EXECUTING:
        coordinator.handle(Trigger.FINISHED)
        coordinator.evaluate(("a",))
    if phase is Phase.EVALUATING:
        coordinator.handle(Trigger.FINISHED)
    if phase is Phase.CONTINUING:
        coordinator.answer(Answer("a", "done"))
    if phase in (Phase.INTERRUPTED, Phase.REPLYING, Phase.ABORTED):
        coordinator.handle(Trigger.INTERRUPT)
    if phase is Phase.REPLYING:
        coordinator.handle(Trigger.REPLY)
    if phase is Phase.ABORTED:
        coordinator.handle(Trigger.ABORT)
    if phase is Phase.COMPLETE:
        coordinator.handle(Trigger.FAILED)
    assert coordinator.phase is phase
    return coordinator


@pytest.mark.parametrize("phase", words(Phase))
@pytest.mark.parametrize("trigger", words(Trigger))
def test_a_pair_in_the_table_moves_and_any_other_changes_nothing(phase: str, trigger: str) -> None:
    move = TRANSITIONS.get((phase, trigger))
    below = (move and move.only) or Phase.STREAMING
    coordinator = at(phase, below)
    if move is None:
        with pytest.raises(AssertionError):
            coordinator.handle(trigger)
        assert coordinator.phase is phase
    else:
        assert coordinator.handle(trigger) == move.acts
        assert coordinator.phase is (move.to or below)


@pytest.mark.parametrize("trigger", [Trigger.RESPOND, Trigger.RESTART])
def test_what_concerns_calls_is_refused_above_a_stream(trigger: str) -> None:
    coordinator = at(Phase.INTERRUPTED, Phase.STREAMING)
    with pytest.raises(AssertionError):
        coordinator.handle(trigger)


def test_an_ended_turn_takes_nothing_more() -> None:
    assert not any(phase in ENDED for phase, _ in TRANSITIONS)


def test_every_phase_can_be_reached() -> None:
    reached = {Phase.IDLE} | {move.to for move in TRANSITIONS.values() if move.to}
    assert reached == set(words(Phase))


@given(st.data())
def test_any_walk_ends_and_every_call_has_one_answer_in_request_order(
    data: st.DataObject,
) -> None:
    coordinator = TurnCoordinator()
    calls: List[str] = []
    committed: List[str] = []
    made = 0
    for _ in range(data.draw(st.integers(0, 40))):
        if coordinator.ended:
            break
        if coordinator.phase is Phase.EVALUATING:
            count = data.draw(st.integers(0, 3))
            calls = [f"call-{made + n}" for n in range(count)]
            made += count
            committed = []
            coordinator.evaluate(tuple(calls))
            continue
        if coordinator.phase is Phase.EXECUTING and data.draw(st.booleans()):
            id = data.draw(st.sampled_from([*calls, "never asked for"]))
            acts = coordinator.answer(Answer(id, f"result of {id}"))
        else:
            possible = [
                t
                for t in words(Trigger)
                if coordinator.may(t) and t not in (Trigger.ANSWERED, Trigger.ALL_ANSWERED)
            ]
            if not possible:
                continue
            acts = coordinator.handle(data.draw(st.sampled_from(possible)))
        if Act.COMMIT_RESPONSES in acts:
            committed += [answer.id for answer in coordinator.take_answers()]
        assert committed in ([], calls)
    while not coordinator.ended:
        _lead_to_the_end(coordinator)


def _lead_to_the_end(coordinator: TurnCoordinator) -> None:
    if coordinator.phase is Phase.EVALUATING:
        coordinator.evaluate(())
    elif coordinator.phase is Phase.EXECUTING:
        for id in coordinator.waiting_for:
            coordinator.answer(Answer(id, ""))
    else:
        ways = {
            Phase.IDLE: Trigger.START,
            Phase.STREAMING: Trigger.FAILED,
            Phase.CONTINUING: Trigger.NEXT_CYCLE,
            Phase.INTERRUPTED: Trigger.STOP,
            Phase.REPLYING: Trigger.INTERRUPT,
        }
        coordinator.handle(ways[coordinator.phase])


@pytest.mark.parametrize("trigger", [Trigger.CONTINUE, Trigger.RESTART])
def test_the_last_answer_may_come_behind_a_menu(trigger: str) -> None:
    coordinator = TurnCoordinator()
    coordinator.handle(Trigger.START)
    coordinator.handle(Trigger.FINISHED)
    coordinator.evaluate(("a",))
    coordinator.handle(Trigger.INTERRUPT)
    assert coordinator.answer(Answer("a", "done")) == ()
    assert coordinator.handle(trigger) == (Act.COMMIT_RESPONSES,)
    assert coordinator.phase is Phase.CONTINUING


def test_a_call_that_was_not_finished_is_answered_as_interrupted() -> None:
    coordinator = TurnCoordinator()
    coordinator.handle(Trigger.START)
    coordinator.handle(Trigger.FINISHED)
    coordinator.evaluate(("a", "b"))
    coordinator.answer(Answer("b", "late but first"))
    coordinator.handle(Trigger.INTERRUPT)
    coordinator.handle(Trigger.STOP)
    answers = coordinator.take_answers()
    assert answers == [Answer("a", NOT_FINISHED, True), Answer("b", "late but first")]
    assert coordinator.take_answers() == []


def test_an_answer_nobody_waits_for_is_dropped() -> None:
    coordinator = TurnCoordinator()
    coordinator.handle(Trigger.START)
    coordinator.handle(Trigger.FINISHED)
    coordinator.evaluate(("a", "b"))
    coordinator.answer(Answer("a", "first"))
    assert coordinator.answer(Answer("a", "again")) == ()
    assert coordinator.waiting_for == ("b",)
