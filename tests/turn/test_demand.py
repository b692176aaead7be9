"""What is demanded of an answer: when it is judged, asked for again, stored and told."""

from __future__ import annotations

from typing import Any, List, Optional

from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    AssistantStructured,
    ChatRequest,
    Draft,
    TurnEnd,
)
from jpq.conversation.schema_text import parse_schema
from jpq.conversation.thread import build_thread
from jpq.errors import ErrorKind, StreamError
from jpq.events.parts import (
    LENGTH,
    STOP,
    Finished,
    MessageDelta,
    Metered,
    Part,
    ReasoningDelta,
    Started,
)
from jpq.events.turn import Notice, TurnEvent
from jpq.events.usage import Usage
from jpq.provider.base import ModelRef, ProviderRequest
from jpq.store.memory import MemoryJournal
from jpq.tools.output_check import OutputCheck
from jpq.turn.allowance import TurnLimits
from jpq.turn.cycle import CycleTimes, RetryLimits
from jpq.turn.demand import BlockDemand, Demand, SchemaDemand
from jpq.turn.ending import TurnOutcome
from jpq.turn.inbox import Inbox
from jpq.turn.loop import TurnLoop, TurnSettings
from tests.support.exchange import FakeProvider
from tests.support.menus import Scripted

DONE = Finished(STOP)
CUT = StreamError(ErrorKind.CUT, "Cut.")
GOOD = '{"name": "Ada", "age": 36}'


def text(words: str, index: int = 0) -> Part:
    return Part(index, MessageDelta(words))


def schema_demand(repairs: int = 1) -> SchemaDemand:
    return SchemaDemand(OutputCheck(parse_schema("name, age int")).complaint, repairs)


class Turn:
    """A turn over scripts, one a request."""

    def __init__(
        self,
        demand: Demand,
        *scripts: Any,
        journal: Optional[MemoryJournal] = None,
        max_cycles: int = 5,
        max_attempts: int = 2,
    ) -> None:
        self.provider = FakeProvider(*scripts)
        self.journal = journal or MemoryJournal()
        self.shown: List[TurnEvent] = []
        self._loop = TurnLoop(
            journal=self.journal,
            provider=self.provider,
            model=ModelRef("test", "model-1"),
            make_request=self._request,
            open_round=lambda settle: None,  # type: ignore[arg-type,return-value]
            inbox=Inbox(),
            show=self.shown.append,
            settings=TurnSettings(
                TurnLimits(max_cycles),
                CycleTimes(5.0, None),
                RetryLimits(max_attempts, 0.0, 0.0, 5.0, 60.0),
                demand,
            ),
            menus=Scripted(),
        )

    def _request(self, tools: bool, continues: bool) -> ProviderRequest:
        thread = build_thread(self.journal.stream.entries, continue_last=continues)
        return ProviderRequest("model-1", thread)

    def ask(self) -> TurnOutcome:
        return self._loop.run([Draft(ChatRequest("Who?"))])

    def retry(self) -> TurnOutcome:
        return self._loop.run([])

    @property
    def events(self) -> List[Any]:
        return [entry.event for entry in self.journal.stream.entries]

    @property
    def notices(self) -> List[str]:
        return [event.text for event in self.shown if isinstance(event, Notice)]

    @property
    def sent(self) -> List[List[Any]]:
        """The last request's messages: role and texts."""
        messages = self.provider.requests[-1].thread.messages
        return [[m.role, *(b.text for b in m.blocks)] for m in messages]  # type: ignore[union-attr]


def test_an_answer_that_matches_is_stored_as_its_value() -> None:
    turn = Turn(schema_demand(), [Part(0, ReasoningDelta("Hm.")), text(GOOD, 1), DONE])
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code) == ("complete", 0)
    assert outcome.text == GOOD and outcome.extra == {"structured": {"name": "Ada", "age": 36}}
    assert turn.events[1:3] == [
        AssistantReasoning("Hm."),
        AssistantStructured({"name": "Ada", "age": 36}),
    ]
    assert not turn.notices


def test_a_code_fence_around_it_does_no_harm() -> None:
    turn = Turn(schema_demand(), [text(f"```json\n{GOOD}\n```"), DONE])
    assert turn.ask().ending.exit_code == 0
    assert isinstance(turn.events[1], AssistantStructured)


def test_an_answer_that_does_not_match_is_asked_for_once_more_in_the_same_turn() -> None:
    turn = Turn(schema_demand(), [text('{"name": "Ada"}'), DONE], [text(GOOD), DONE])
    outcome = turn.ask()
    assert outcome.ending.exit_code == 0 and outcome.text == GOOD
    request, first, second, end = turn.events
    assert first == AssistantMessage('{"name": "Ada"}')
    assert second == AssistantStructured({"name": "Ada", "age": 36})
    assert isinstance(end, TurnEnd) and end.status == "complete"
    assert "must contain" in turn.journal.stream.entries[1].metadata["mismatch"]
    assert len(turn.journal.stream.turns()) == 1
    (told,) = turn.notices
    assert told.startswith("The answer does not match the schema: the answer must contain")
    assert told.endswith("Asking again, once.")
    assert [role for role, *_ in turn.sent] == ["user", "assistant", "user"]
    assert "must contain" in turn.sent[-1][1]
    assert not turn.provider.requests[-1].thread.continues


def test_after_the_second_mismatch_the_turn_ends_with_65_and_the_text() -> None:
    turn = Turn(schema_demand(), [text("Ada."), DONE], [text("Ada is 36."), DONE])
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code) == ("error", 65)
    assert outcome.ending.error is not None
    assert outcome.ending.error.word == "schema_mismatch"
    assert "it is not JSON" in outcome.ending.error.message
    assert outcome.text == "Ada is 36." and outcome.extra == {"structured": None}
    assert turn.events[1:3] == [AssistantMessage("Ada."), AssistantMessage("Ada is 36.")]


def test_usage_counts_both_rounds() -> None:
    usage = Metered(Usage(input_tokens=3, output_tokens=2))
    turn = Turn(schema_demand(), [text("Ada."), usage, DONE], [text(GOOD), usage, DONE])
    assert turn.ask().usage == Usage(input_tokens=6, output_tokens=4)


def test_a_repair_round_is_no_tool_round_trip() -> None:
    turn = Turn(schema_demand(), [text("Ada."), DONE], [text(GOOD), DONE], max_cycles=0)
    assert turn.ask().ending.exit_code == 0


def test_retry_asks_again_for_an_answer_that_did_not_match() -> None:
    journal = MemoryJournal()
    Turn(schema_demand(0), [text("Ada."), DONE], journal=journal).ask()
    turn = Turn(schema_demand(), [text(GOOD), DONE], journal=journal)
    outcome = turn.retry()
    assert outcome.ending.exit_code == 0
    assert [role for role, *_ in turn.sent] == ["user", "assistant", "user"]
    assert len(journal.stream.turns()) == 1


def test_a_new_question_after_a_mismatch_goes_without_the_complaint() -> None:
    journal = MemoryJournal()
    Turn(schema_demand(0), [text("Ada."), DONE], journal=journal).ask()
    turn = Turn(BlockDemand(""), [text("```\nx\n```"), DONE], journal=journal)
    turn.ask()
    assert turn.sent == [["user", "Who?"], ["assistant", "Ada."], ["user", "Who?"]]


def test_an_answer_that_was_cut_is_judged_whole() -> None:
    turn = Turn(schema_demand(), [text(GOOD[:10]), CUT], [text(GOOD[10:]), DONE])
    outcome = turn.ask()
    assert outcome.ending.exit_code == 0 and outcome.text == GOOD
    blocks = build_thread(turn.journal.stream.entries).messages[-1].blocks
    assert [block.text for block in blocks] == [GOOD]  # type: ignore[union-attr]


def test_an_answer_that_was_cut_in_an_earlier_run_is_judged_whole() -> None:
    journal = MemoryJournal()
    first = Turn(schema_demand(), [text(GOOD[:10]), CUT], journal=journal, max_attempts=1)
    assert first.ask().ending.exit_code == 74
    turn = Turn(schema_demand(), [text(GOOD[10:]), DONE], journal=journal)
    outcome = turn.retry()
    assert outcome.ending.exit_code == 0 and outcome.text == GOOD
    blocks = build_thread(journal.stream.entries).messages[-1].blocks
    assert [block.text for block in blocks] == [GOOD]  # type: ignore[union-attr]


def test_what_is_not_whole_is_not_judged() -> None:
    turn = Turn(schema_demand(), [text('{"name": "A'), Finished(LENGTH)])
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code) == ("limited", 76)
    assert outcome.text == '{"name": "A' and outcome.extra == {"structured": None}
    assert isinstance(turn.events[1], AssistantMessage)


def test_a_demanded_block() -> None:
    answer = "See:\n\n```sh\nls\n```\n\n```python\nprint(1)\n```\n"
    outcome = Turn(BlockDemand(""), [text(answer), DONE]).ask()
    assert (outcome.ending.exit_code, outcome.extra) == (0, {"extracted": "ls\n"})
    outcome = Turn(BlockDemand("python"), [text(answer), DONE]).ask()
    assert outcome.extra == {"extracted": "print(1)\n"}


def test_a_demanded_block_that_is_not_there() -> None:
    turn = Turn(BlockDemand("rust"), [Started("served"), text("```sh\nls\n```"), DONE])
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code) == ("complete", 65)
    assert outcome.ending.error is not None and "rust" in outcome.ending.error.message
    assert len(turn.provider.requests) == 1 and outcome.extra == {"extracted": None}
