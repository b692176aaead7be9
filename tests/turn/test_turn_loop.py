"""TurnLoop over a memory journal and a scripted provider: what is shown, kept and returned."""

from __future__ import annotations

import errno
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence

import pytest

from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    ChatRequest,
    ConfigDelta,
    Draft,
    ToolCall,
    ToolResponse,
    TurnEnd,
)
from jpq.conversation.sanitize import NOT_ANSWERED
from jpq.conversation.thread import ThreadOpaque, build_thread
from jpq.errors import ErrorKind, StreamError, WriteError
from jpq.events.parts import (
    ERROR,
    LENGTH,
    PAUSED,
    REFUSAL,
    STOP,
    TOOL_CALLS,
    Finished,
    Flush,
    MessageDelta,
    Metered,
    Opaque,
    Part,
    ReasoningDelta,
    Started,
    StreamEvent,
    ToolCallRequest,
    ToolCallStarted,
)
from jpq.events.turn import (
    Complete,
    Error,
    Notice,
    StreamStart,
    TextChunk,
    TokenUpdate,
    ToolResult,
    ToolUse,
    ToolUseStart,
    TurnEvent,
    Waiting,
)
from jpq.events.usage import Usage
from jpq.interrupt.menus import Choice
from jpq.interrupt.signals import Interrupt
from jpq.provider.base import ModelRef, ProviderRequest
from jpq.render.worker import DisplayFailed
from jpq.store.memory import MemoryJournal
from jpq.tools.coordinator import ToolCoordinator
from jpq.tools.launcher import Launcher
from jpq.tools.permission import Permissions
from jpq.tools.policy import Policy
from jpq.turn.allowance import TurnLimits
from jpq.turn.calls import Settle
from jpq.turn.cycle import CycleTimes, RetryLimits
from jpq.turn.ending import TurnOutcome
from jpq.turn.inbox import Inbox
from jpq.turn.loop import TurnLoop, TurnSettings
from jpq.turn.tool_phase import ToolPhase
from tests.support.exchange import ENDING, SILENCE, FakeProvider
from tests.support.menus import Scripted

MODEL = ModelRef("test", "model-1")
DONE = Finished(STOP)


def text(words: str, index: int = 0) -> Part:
    return Part(index, MessageDelta(words))


def call(id: str, index: int = 0, **arguments: Any) -> Part:
    return Part(index, ToolCallRequest(id, "greet", arguments))


class Turn:
    """A turn over scripts, one a request."""

    def __init__(
        self,
        *scripts: Iterable[Any],
        max_attempts: int = 2,
        max_cycles: int = 5,
        cost: Sequence[Any] = (),
        menus: Optional[Scripted] = None,
        on_show: Optional[Callable[[TurnEvent], None]] = None,
        journal: Optional[MemoryJournal] = None,
    ) -> None:
        self.provider = FakeProvider(*scripts)
        self.journal = journal or MemoryJournal()
        self.inbox = Inbox()
        self.cost = cost
        self.shown: List[TurnEvent] = []
        self._on_show = on_show
        limits = RetryLimits(max_attempts, 0.0, 0.0, 5.0, 60.0)
        self._loop = TurnLoop(
            journal=self.journal,
            provider=self.provider,
            model=MODEL,
            make_request=self._make_request,
            open_round=self._open_round,
            inbox=self.inbox,
            show=self._show,
            settings=TurnSettings(TurnLimits(max_cycles, *cost), CycleTimes(5.0, None), limits),
            menus=menus or Scripted(),
        )

    def ask(self, prompt: str = "Hello") -> TurnOutcome:
        return self._loop.run([Draft(ChatRequest(prompt))])

    def retry(self, *drafts: Draft) -> TurnOutcome:
        return self._loop.run(drafts)

    @property
    def events(self) -> List[Any]:
        return [entry.event for entry in self.journal.stream.entries]

    def _show(self, event: TurnEvent) -> None:
        self.shown.append(event)
        if self._on_show is not None:
            self._on_show(event)

    def _open_round(self, settle: Settle) -> ToolPhase:
        """What answers every call with an error, as there are no tools."""
        launcher = Launcher(
            self.inbox.post, self._show, environ={}, cwd=".", output_folder=None, workers=1
        )
        permissions = Permissions(Policy(), yes=False)
        tools = ToolCoordinator({}, permissions, None, launcher, self._show)
        return ToolPhase(tools, self.inbox, settle, self._show)

    def _make_request(self, tools: bool, continues: bool) -> ProviderRequest:
        thread = build_thread(self.journal.stream.entries, continue_last=continues)
        return ProviderRequest("model-1", thread, tool_choice=None if tools else "none")


def test_a_complete_answer_is_shown_kept_and_ends_with_0() -> None:
    usage = Usage(input_tokens=3, output_tokens=2)
    turn = Turn([Started("served-1", "m1"), text("Hi "), text("there"), Metered(usage), DONE])
    outcome = turn.ask()
    assert outcome.ending.status == "complete"
    assert (outcome.ending.exit_code, outcome.ending.error) == (0, None)
    assert (outcome.text, outcome.usage, outcome.finish_reason) == ("Hi there", usage, STOP)
    assert turn.events == [
        ChatRequest("Hello"),
        AssistantMessage("Hi there"),
        TurnEnd("complete", STOP, {"input_tokens": 3, "output_tokens": 2}, "served-1"),
    ]
    spoken = [event for event in turn.shown if not isinstance(event, (Waiting, TextChunk))]
    assert spoken == [StreamStart("served-1", "m1"), Complete(STOP), TokenUpdate(usage)]
    assert "".join(e.text for e in turn.shown if isinstance(e, TextChunk)) == "Hi there"


def test_everything_is_recorded_before_it_is_shown() -> None:
    recorded: List[StreamEvent] = []

    class Recording(MemoryJournal):
        def record(self, events: Sequence[StreamEvent]) -> None:
            recorded.extend(events)

    def check(event: TurnEvent) -> None:
        if isinstance(event, TextChunk):
            assert any(
                isinstance(e, Part) and e.payload == MessageDelta(event.text) for e in recorded
            )

    turn = Turn([text("one"), text("two", 1), DONE], on_show=check, journal=Recording())
    assert turn.ask().ending.exit_code == 0


def test_message_items_are_numbered_and_a_blank_line_apart() -> None:
    turn = Turn([text("first"), Part(1, ReasoningDelta("hm")), text("second", 2), DONE])
    assert turn.ask().text == "first\n\nsecond"
    indices = [event.index for event in turn.shown if isinstance(event, TextChunk)]
    assert indices == [0, 2]


def test_a_cut_answer_is_gone_on_with_and_nothing_is_shown_twice() -> None:
    cut = StreamError(ErrorKind.CUT, "Cut off.")
    turn = Turn([text("The sky "), cut], [text("is blue."), DONE])
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.text) == ("complete", "The sky is blue.")
    assert [event for event in turn.shown if isinstance(event, TextChunk)] == [
        TextChunk("The sky ", 0),
        TextChunk("is blue.", 0),
    ]
    thread = turn.provider.requests[1].thread
    assert thread.continues
    assert [message.role for message in thread.messages] == ["user", "assistant"]
    partial = turn.journal.stream.entries[1]
    assert (partial.event, partial.metadata["partial"]) == (AssistantMessage("The sky "), True)
    notice = next(event for event in turn.shown if isinstance(event, Notice))
    assert "Cut off." in notice.text
    assert "2 of 2" in notice.text


def test_an_answer_of_which_nothing_was_shown_is_asked_for_again() -> None:
    turn = Turn([StreamError(ErrorKind.OVERLOADED, "Busy.")], [text("Hi"), DONE])
    assert turn.ask().text == "Hi"
    assert turn.provider.requests[0] == turn.provider.requests[1]
    assert [type(event) for event in turn.events] == [ChatRequest, AssistantMessage, TurnEnd]


@pytest.mark.parametrize(
    "kind,status,code",
    [
        (ErrorKind.CUT, "incomplete", 74),
        (ErrorKind.STALLED, "incomplete", 74),
        (ErrorKind.OVERLOADED, "error", 75),
        (ErrorKind.RESET, "error", 69),
        (ErrorKind.AUTH, "error", 77),
        (ErrorKind.CONTENT_FILTER, "filtered", 76),
    ],
)
def test_what_cannot_be_mended_keeps_the_partial_and_its_own_code(
    kind: ErrorKind, status: str, code: int
) -> None:
    turn = Turn([text("so far"), StreamError(kind, "Why.")], max_attempts=1)
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code) == (status, code)
    assert outcome.ending.error is not None
    assert (outcome.text, turn.events[1]) == ("so far", AssistantMessage("so far"))
    assert turn.events[-1].status == status


@pytest.mark.parametrize(
    "kind, hint, told",
    [
        (ErrorKind.CUT, "", "Go on with: jpq --retry"),
        (ErrorKind.OVERLOADED, "Try again later.", "Try again later. Then: jpq --retry"),
        (ErrorKind.STALLED, "Or: jpq --retry", "Or: jpq --retry"),
        (ErrorKind.AUTH, "Check the key.", "Check the key."),
    ],
)
def test_giving_up_tells_how_to_try_again_where_that_may_help(
    kind: ErrorKind, hint: str, told: str
) -> None:
    for id, wanted in (("a1", told), (None, hint)):  # nothing is kept of a turn that is not saved
        journal = MemoryJournal()
        journal.id = id
        turn = Turn([StreamError(kind, "No.", hint=hint)], max_attempts=1, journal=journal)
        error = turn.ask().ending.error
        assert error is not None and error.hint == wanted


@pytest.mark.parametrize(
    "script,status,finish",
    [
        ([text("cut short"), Finished(LENGTH)], "limited", LENGTH),
        ([text("I won't."), Finished(REFUSAL)], "refused", REFUSAL),
        ([Finished("content_filter", {"message": "hate"})], "filtered", "content_filter"),
        ([text("so"), Finished("error", {"native": "OTHER"})], "error", "error"),
        ([text("  \n"), DONE], "empty", STOP),
        ([DONE], "empty", STOP),
        ([Part(0, ReasoningDelta("thinking")), DONE], "empty", STOP),
    ],
)
def test_an_ending_that_is_not_a_whole_answer_says_so(
    script: Sequence[Any], status: str, finish: str
) -> None:
    turn = Turn(script)
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code) == (status, 76)
    assert outcome.finish_reason == finish
    assert outcome.ending.error is not None


@pytest.mark.parametrize(
    "empty",
    [[DONE], [text("  \n"), DONE], [Part(0, ReasoningDelta("thinking")), DONE]],
)
def test_an_empty_answer_is_asked_for_again_once_and_said(empty: Sequence[Any]) -> None:
    turn = Turn(empty, [text("Hi"), DONE], max_cycles=0)
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code) == ("complete", 0)
    assert outcome.text == "Hi"
    (notice,) = [event.text for event in turn.shown if isinstance(event, Notice)]
    assert notice.startswith("The reply is empty: ") and notice.endswith("Asking again, once.")
    first, second = turn.provider.requests
    assert first.thread == second.thread, "nothing of it is sent back"
    assert [event for event in turn.events if isinstance(event, AssistantMessage)] == [
        AssistantMessage("Hi")
    ]


def test_an_answer_that_failed_before_it_said_anything_is_asked_for_again_once() -> None:
    failed = [Finished(ERROR, {"native": "MALFORMED_FUNCTION_CALL"})]
    outcome = Turn(failed, [text("Hi"), DONE], max_cycles=0).ask()
    assert (outcome.ending.status, outcome.text) == ("complete", "Hi")
    turn = Turn(failed)
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code) == ("error", 76)
    assert len(turn.provider.requests) == 2
    said = Turn([text("Hm"), *failed])
    assert said.ask().ending.status == "error"
    assert len(said.provider.requests) == 1


def test_an_answer_that_stays_empty_is_reported_after_the_second_time() -> None:
    turn = Turn([DONE])
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code) == ("empty", 76)
    assert len(turn.provider.requests) == 2


def test_an_empty_answer_is_not_asked_for_again_without_retries() -> None:
    turn = Turn([DONE], max_attempts=1)
    assert turn.ask().ending.status == "empty"
    assert len(turn.provider.requests) == 1
    assert not any(isinstance(event, Notice) for event in turn.shown)


def test_an_empty_answer_to_tool_results_is_asked_for_again_with_them() -> None:
    turn = Turn([call("a"), Finished(TOOL_CALLS)], [DONE], [text("Hi"), DONE], [DONE], max_cycles=1)
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.text) == ("complete", "Hi")
    assert turn.provider.requests[1].thread == turn.provider.requests[2].thread


def test_a_stop_sequence_without_text_is_complete() -> None:
    turn = Turn([Finished(STOP, {"stop_sequence": "###"})])
    assert turn.ask().ending.exit_code == 0
    (notice,) = [event.text for event in turn.shown if isinstance(event, Notice)]
    assert notice == "The answer has no text: the stop sequence '###' came first."


@pytest.mark.parametrize("thoughts", [[], [Part(1, ReasoningDelta("A fox."))]])
def test_a_picture_without_text_is_complete_and_paid_for_once(thoughts: List[Any]) -> None:
    picture = {"type": "image_generation_call", "id": "ig_1", "result": "iVBORw0K"}
    turn = Turn([Part(0, Opaque(picture)), Flush(0), *thoughts, DONE])
    ended = turn.ask().ending
    assert (ended.status, ended.exit_code, len(turn.provider.requests)) == ("complete", 0, 1)
    (notice,) = [event.text for event in turn.shown if isinstance(event, Notice)]
    assert notice.endswith("only what jpq keeps but cannot show: image_generation_call.")
    assert AssistantOpaque(picture) in turn.events


def test_blank_text_is_not_kept() -> None:
    turn = Turn([text(" \n"), Part(1, ReasoningDelta("why")), text("Hi", 2), DONE])
    turn.ask()
    assert turn.events[1:3] == [AssistantReasoning("why"), AssistantMessage("Hi")]


def test_a_call_of_an_unknown_tool_is_answered_and_the_turn_goes_on() -> None:
    turn = Turn(
        [ToolCallStarted(0, "c1", "greet"), call("c1"), call("c2", 1), Finished(TOOL_CALLS)],
        [text("Sorry."), DONE],
    )
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.text) == ("complete", "Sorry.")
    results = [event for event in turn.events if isinstance(event, ToolResponse)]
    assert [(result.id, result.is_error) for result in results] == [("c1", True), ("c2", True)]
    assert "no tool named 'greet'" in results[0].content
    order = [type(e) for e in turn.shown if not isinstance(e, (Waiting, TextChunk))]
    assert order == [
        StreamStart,
        ToolUseStart,
        ToolUse,
        ToolUse,
        ToolResult,
        ToolResult,
        Complete,
        TokenUpdate,
        StreamStart,
        Complete,
        TokenUpdate,
    ]
    sent = turn.provider.requests[1].thread
    assert [message.role for message in sent.messages] == ["user", "assistant", "user"]


def test_no_call_of_an_answer_that_was_cut_by_a_limit_is_run() -> None:
    turn = Turn([call("c1"), Finished(LENGTH)], [text("Shorter."), DONE])
    assert turn.ask().text == "Shorter."
    result = next(event for event in turn.events if isinstance(event, ToolResponse))
    assert "length" in result.content
    assert result.is_error


def test_a_call_of_a_stream_that_broke_is_kept_as_not_run() -> None:
    broken = [text("Wait. "), call("c1", 1), ToolCallStarted(2, "c2", "greet")]
    turn = Turn([*broken, StreamError(ErrorKind.CUT, "Cut.")], max_attempts=1)
    turn.ask()
    assert turn.events[1:4] == [
        AssistantMessage("Wait. "),
        ToolCall("c1", "greet", {}),
        ToolResponse("c1", "Not run: the answer was cut off before it was complete.", True),
    ]


def test_the_last_cycle_allowed_may_only_answer() -> None:
    turn = Turn([call("c1"), Finished(TOOL_CALLS)], max_cycles=2)
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code) == ("limited", 76)
    assert [r.tool_choice for r in turn.provider.requests] == [None, None, "none"]
    calls = [event for event in turn.events if isinstance(event, ToolCall)]
    results = [event for event in turn.events if isinstance(event, ToolResponse)]
    assert len(calls) == len(results) == 3


def test_an_answer_that_the_provider_paused_is_sent_back_and_goes_on() -> None:
    turn = Turn([text("First, "), Finished(PAUSED)], [text("then."), DONE])
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.text) == ("complete", "First, then.")
    assert turn.provider.requests[1].thread.continues


def test_a_pause_before_anything_was_said_keeps_what_the_provider_does() -> None:
    search = Part(0, Opaque({"type": "server_tool_use", "id": "s1"}))
    turn = Turn([search, Flush(0), Finished(PAUSED)], [text("Found."), DONE])
    assert turn.ask().text == "Found."
    thread = turn.provider.requests[1].thread
    assert thread.continues and isinstance(thread.messages[-1].blocks[-1], ThreadOpaque)


def test_a_provider_that_pauses_for_ever_is_stopped_by_the_limit() -> None:
    turn = Turn([text("more "), Finished(PAUSED)], max_cycles=2)
    assert turn.ask().ending.status == "limited"
    assert len(turn.provider.requests) == 3


def test_usage_is_summed_over_cycles_and_absent_stays_absent() -> None:
    turn = Turn(
        [call("c1"), Metered(Usage(input_tokens=5, output_tokens=1)), Finished(TOOL_CALLS)],
        [text("Done."), Metered(Usage(input_tokens=8)), DONE],
    )
    assert turn.ask().usage == Usage(input_tokens=13, output_tokens=1)


def test_a_signal_keeps_what_arrived_and_ends_by_that_signal() -> None:
    def press(event: TurnEvent) -> None:
        if isinstance(event, TextChunk):
            turn.inbox.post(Interrupt(2, 1))

    turn = Turn([text("so far"), SILENCE], on_show=press)
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code, outcome.signum) == (
        "interrupted",
        130,
        2,
    )
    assert turn.events[1] == AssistantMessage("so far")
    assert turn.events[-1].status == "interrupted"


def pressed_after(
    turn: Callable[[], Turn], *events: Any, then: Sequence[Any] = ()
) -> Iterator[Any]:
    """A script after whose events SIGTERM comes; ``then`` comes when the exchange is aborted."""
    yield from events
    turn().inbox.post(Interrupt(15, 1))
    yield SILENCE
    yield from then


@pytest.mark.parametrize(
    "events, then", [([DONE], []), ([ENDING], [DONE, StreamError(ErrorKind.CUT, "")])]
)
def test_a_signal_after_the_provider_ended_the_answer_takes_nothing_from_it(
    events: List[Any], then: List[Any]
) -> None:
    """Only the end of the stream was waited for; there is nothing to retry."""
    turn = Turn(pressed_after(lambda: turn, text("Hello"), *events, then=then))
    outcome = turn.ask()
    assert (outcome.ending.status, outcome.ending.exit_code) == ("complete", 143)
    assert outcome.signum == 15
    assert turn.events[1:] == [
        AssistantMessage("Hello"),
        TurnEnd("complete", STOP, {}, "model-1"),
    ]
    assert not [event for event in turn.shown if isinstance(event, Notice)]


@pytest.mark.parametrize("events", [[], [Finished(LENGTH)], [Finished(PAUSED)]])
def test_a_signal_before_the_answer_is_whole_leaves_something_to_retry(events: List[Any]) -> None:
    turn = Turn(pressed_after(lambda: turn, text("Hello"), *events))
    assert turn.ask().ending.status == "interrupted"
    assert turn.events[-1].status == "interrupted"


def test_abort_leaves_the_conversation_as_it_was() -> None:
    def press(event: TurnEvent) -> None:
        if isinstance(event, TextChunk):
            turn.inbox.post(Interrupt(2, 1))

    turn = Turn([text("so far"), SILENCE], on_show=press, menus=Scripted(Choice.ABORT))
    turn.ask()
    assert turn.events == []


def test_going_on_after_a_press_changes_nothing() -> None:
    def press(event: TurnEvent) -> None:
        if event == TextChunk("so ", 0):
            turn.inbox.post(Interrupt(2, 1))

    turn = Turn([text("so "), text("far", 1), DONE], on_show=press, menus=Scripted(Choice.CONTINUE))
    assert turn.ask().ending.exit_code == 0


def test_a_reader_of_stdout_that_left_ends_the_turn_silently() -> None:
    def hang_up(event: TurnEvent) -> None:
        if isinstance(event, TextChunk):
            turn.inbox.post(DisplayFailed("stdout", BrokenPipeError(errno.EPIPE, "gone")))

    turn = Turn([text("so far"), SILENCE], on_show=hang_up)
    outcome = turn.ask()
    assert (outcome.ending.exit_code, outcome.ending.error) == (141, None)
    assert turn.events[1] == AssistantMessage("so far")


def test_a_full_disk_under_stdout_is_an_error() -> None:
    def fill(event: TurnEvent) -> None:
        if isinstance(event, TextChunk):
            turn.inbox.post(DisplayFailed("stdout", OSError(errno.ENOSPC, "No space left")))

    turn = Turn([text("so far"), SILENCE], on_show=fill)
    outcome = turn.ask()
    assert outcome.ending.exit_code == 74
    assert outcome.ending.error is not None
    assert "No space left" in outcome.ending.error.message


def test_a_journal_that_fails_is_told_once_and_the_answer_is_shown() -> None:
    class Full(MemoryJournal):
        """Takes the request, and then nothing more."""

        def record(self, events: Sequence[StreamEvent]) -> None:
            raise WriteError("Cannot save the answer: No space left on device.")

        discard_inflight = record  # type: ignore[assignment]

    turn = Turn([text("Hi "), text("there", 1), DONE], journal=Full())
    outcome = turn.ask()
    assert (outcome.text, outcome.ending.exit_code) == ("Hi \n\nthere", 74)
    errors = [event for event in turn.shown if isinstance(event, Error)]
    assert len(errors) == 1
    assert "No space left" in errors[0].message


def test_retrying_an_interrupted_turn_goes_on_with_it() -> None:
    journal = MemoryJournal()
    first = Turn(
        [text("The sky "), StreamError(ErrorKind.CUT, "")], max_attempts=1, journal=journal
    )
    first.ask("Why?")
    again = Turn([text("is blue."), DONE], journal=journal)
    outcome = again.retry()
    assert outcome.ending.exit_code == 0
    assert again.provider.requests[0].thread.continues
    thread = build_thread(journal.stream.entries)
    assert thread.messages[-1].blocks[0].text == "The sky is blue."  # type: ignore[union-attr]


def test_retrying_an_answer_that_only_lacked_its_end_is_no_empty_answer() -> None:
    journal = MemoryJournal()
    cut = [text("The sky is blue."), StreamError(ErrorKind.CUT, "")]
    Turn(cut, max_attempts=1, journal=journal).ask("Why?")
    again = Turn([DONE], journal=journal)
    outcome = again.retry()
    assert (outcome.ending.status, outcome.ending.exit_code) == ("complete", 0)
    assert len(again.provider.requests) == 1


def test_a_call_that_was_lost_is_answered_and_never_run_again() -> None:
    """Its process was killed while it ran; the model may ask for it again."""
    journal = MemoryJournal()
    journal.commit([Draft(ChatRequest("Hello")), Draft(ToolCall("a", "greet", {}))])
    turn = Turn([call("a"), Finished(TOOL_CALLS)], [text("Hi"), DONE], journal=journal)
    assert turn.retry().ending.exit_code == 0
    answers = [event for event in turn.events if isinstance(event, ToolResponse)]
    assert [answer.content == NOT_ANSWERED for answer in answers] == [True, False]
    assert [type(event) for event in turn.events] == [
        *(ChatRequest, ToolCall, ToolResponse, ToolCall, ToolResponse, AssistantMessage, TurnEnd)
    ]


def test_it_is_gone_on_with_under_other_options_too() -> None:
    """A change of options was taken for a question, and the answer began anew."""
    journal = MemoryJournal()
    cut = [text("The sky "), StreamError(ErrorKind.CUT, "")]
    Turn(cut, max_attempts=1, journal=journal).ask("Why?")
    again = Turn([text("is blue."), DONE], journal=journal)
    again.retry(Draft(ConfigDelta({"options.max_tokens": 9})))
    assert again.provider.requests[0].thread.continues


def test_retrying_a_turn_that_never_began_asks_again() -> None:
    journal = MemoryJournal()
    Turn([StreamError(ErrorKind.AUTH, "Wrong key.")], journal=journal).ask("Why?")
    again = Turn([text("Because."), DONE], journal=journal)
    assert again.retry().text == "Because."
    requests = [event for event in again.events if isinstance(event, ChatRequest)]
    assert requests == [ChatRequest("Why?")]


def numbered(n: int) -> List[Any]:
    return [call(f"c{n}", n=n), Finished(TOOL_CALLS)]


def test_at_the_limit_of_cycles_a_yes_gives_as_many_again() -> None:
    menus = Scripted(confirms=(True,))
    turn = Turn(numbered(1), numbered(2), [text("Hi"), DONE], max_cycles=1, menus=menus)
    outcome = turn.ask()
    assert outcome.text == "Hi" and len(menus.confirmed) == 2
    assert "1 tool round trips so far" in menus.confirmed[0] and "1 more" in menus.confirmed[0]
    choices = [request.tool_choice for request in turn.provider.requests]
    assert choices == [None, None, "none"]


def test_at_the_limit_of_cycles_a_no_ends_the_turn() -> None:
    menus = Scripted(confirms=(False,))
    turn = Turn(numbered(1), max_cycles=1, menus=menus)
    ending = turn.ask().ending
    assert (ending.status, ending.exit_code) == ("limited", 76)
    assert len(turn.provider.requests) == 1


def a_dollar_a_token(usage: Usage, model: Optional[str]) -> Optional[float]:
    return usage.input_tokens


def paid(tokens: int) -> List[Any]:
    return [call("c1"), Metered(Usage(input_tokens=tokens)), Finished(TOOL_CALLS)]


def test_a_turn_that_has_cost_what_it_may_sends_nothing_more() -> None:
    turn = Turn(paid(5), paid(5), cost=(10.0, a_dollar_a_token))
    ending = turn.ask().ending
    assert (ending.status, ending.exit_code) == ("limited", 76)
    assert ending.error is not None and "10 USD" in ending.error.message
    assert len(turn.provider.requests) == 2
    paused = Turn([text("a"), Metered(Usage(input_tokens=11)), Finished(PAUSED)], cost=turn.cost)
    assert paused.ask().ending.exit_code == 76


def test_a_price_that_is_not_known_is_told_once_and_stops_nothing() -> None:
    turn = Turn(numbered(1), numbered(2), [text("Hi"), DONE], cost=(0.01, a_dollar_a_token))
    assert turn.ask().ending.status == "complete"
    told = [event.text for event in turn.shown if isinstance(event, Notice)]
    assert [("price" in line, "--max-cost" in line) for line in told] == [(True, True)]
