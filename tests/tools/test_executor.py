"""The life of a call, as its table has it."""

from __future__ import annotations

from typing import List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.conversation.attachment import Attachment
from jpq.conversation.event import ToolCall
from jpq.interrupt.cancel import TIMED_OUT
from jpq.tools.definition import STOPPED, ToolOutput
from jpq.tools.executor import (
    ENDED,
    LIFECYCLE,
    Delivery,
    State,
    Step,
    ToolExecutor,
    ToolFinished,
)
from tests.support.tools import tool

TOOL = tool("echo", lambda invocation, cancel, progress: "")


def executor() -> ToolExecutor:
    return ToolExecutor(ToolCall("1", "echo", {}), TOOL)


def running() -> ToolExecutor:
    begun = executor()
    begun.begin({}, edited=False)
    return begun


def finished(output: object = None, **fields: object) -> ToolFinished:
    given = ToolOutput(output) if isinstance(output, str) else output
    return ToolFinished("1", 1, 2.0, given, **fields)  # type: ignore[arg-type]


@given(st.lists(st.sampled_from(list(Step)), max_size=12))
def test_a_call_makes_only_the_steps_of_the_table_and_stays_ended(steps: List[Step]) -> None:
    call = executor()
    for step in steps:
        before = call.state
        if (before, step) in LIFECYCLE:
            call.step(step)
            assert call.state is LIFECYCLE[before, step]
        else:
            with pytest.raises(AssertionError):
                call.step(step)
            assert call.state is before


def test_every_state_can_be_reached_and_can_end() -> None:
    reached = {State.PENDING}
    while True:
        more = {to for (state, _), to in LIFECYCLE.items() if state in reached} - reached
        if not more:
            break
        reached |= more
    assert reached == set(State)
    for state in set(State) - set(ENDED):
        assert LIFECYCLE[state, Step.STOP] is State.CANCELLED
    assert not [state for state, _ in LIFECYCLE if state in ENDED]


def test_each_ending_has_a_text_of_its_own() -> None:
    texts = []

    def told(call: ToolExecutor, end: ToolFinished) -> None:
        answer = call.finish(end, "unattended", can_ask=True)
        assert answer is not None
        texts.append(answer.content)

    told(running(), finished("done"))
    told(running(), finished(None, crash="ValueError: no"))
    cancelled = running()
    cancelled.token.cancel()
    told(cancelled, finished(ToolOutput("so far", True, ended=STOPPED)))
    late = running()
    late.token.cancel(TIMED_OUT)
    told(late, finished(ToolOutput("so far", True, ended=STOPPED)))
    deaf = running()
    deaf.token.cancel()
    told(deaf, finished(None, so_far="half"))
    unlucky = running()
    unlucky.token.cancel()
    told(unlucky, finished(None, started=False))
    edited = executor()
    edited.begin({"a": 1}, edited=True)
    told(edited, finished("done"))
    again = running()
    again.begin_again(3.0)
    told(again, finished("done"))
    texts.append(executor().stop().content)
    texts.append(executor().refuse("Not run: the user said no.", is_error=False).content)
    assert len(set(texts)) == len(texts) - 1  # not started is not started
    assert texts[2].startswith("Cancelled after 2.0 s. Its output so far:\nso far")
    assert texts[3].startswith("Timed out after 2.0 s. ")
    assert "may still be running" in texts[4] and "half" in texts[4]


def test_a_run_that_ended_by_itself_is_told_as_it_was_even_if_it_was_cancelled_meanwhile() -> None:
    call = running()
    call.token.cancel()
    answer = call.finish(finished("done"), "unattended", can_ask=True)
    assert answer is not None and answer.content == "done" and call.state is State.COMPLETED


def test_a_result_waits_for_the_person() -> None:
    call = running()
    assert call.finish(finished("secret"), "ask", can_ask=True) is None
    assert call.state is State.AWAITING_DELIVERY and call.result == "secret"
    assert call.deliver(Delivery("secret")).content == "secret"
    alone = running()
    answer = alone.finish(finished("secret"), "edit", can_ask=False)
    assert answer is not None and "secret" not in answer.content


PICTURES = tuple(Attachment(name, "image/png", "AAAA") for name in ("a.png", "b.png"))


def test_what_goes_with_a_result_is_delivered_with_it() -> None:
    call = running()
    given = ToolOutput("[a.png] [b.png]", attachments=PICTURES)
    answer = call.finish(finished(given), "unattended", can_ask=True)
    assert answer is not None and answer.attachments == PICTURES


def test_only_what_the_person_left_in_a_result_goes_with_it() -> None:
    call = running()
    call.finish(finished(ToolOutput("[a.png] [b.png]", attachments=PICTURES)), "edit", True)
    assert call.deliver(Delivery("just [b.png]", edited=True)).attachments == PICTURES[1:]
    call = running()
    call.finish(finished(ToolOutput("[a.png] [b.png]", attachments=PICTURES)), "ask", True)
    assert call.deliver(Delivery(None)).attachments == ()
