"""TurnCoordinator: decides what happens next in a turn.

All transitions of a turn are in TRANSITIONS. The coordinator does no I/O, has no clock and
knows no thread: ``handle`` takes a message and returns the actions that ``TurnLoop``
performs. A message that the table does not list for the current phase is a bug and raises
AssertionError without changing anything.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from jpq.named import NamedTuple


# These three hold plain words: an Enum's members are hashed by code in Python, for each batch of
# events, and making three Enums took a question 4 million instructions.
class Phase:
    """Where a turn is."""

    IDLE = "idle"
    STREAMING = "streaming"
    EVALUATING = "evaluating"
    EXECUTING = "executing"
    CONTINUING = "continuing"
    INTERRUPTED = "interrupted"
    REPLYING = "replying"
    COMPLETE = "complete"
    ABORTED = "aborted"


class Trigger:
    """What can happen to a turn."""

    START = "start"
    RECEIVED = "received"
    FINISHED = "finished"
    RETRY = "retry"
    FAILED = "failed"
    CALLS = "calls pending"
    NO_CALLS = "no calls pending"
    PAUSED = "the provider paused"
    EMPTY = "the answer is empty"
    UNFIT = "the answer is not as demanded"
    ANSWERED = "a call answered"
    ALL_ANSWERED = "all answered"
    NEXT_CYCLE = "next cycle"
    LIMIT = "limit reached"
    INTERRUPT = "interrupt"
    CONTINUE = "continue"
    STOP = "stop"
    ABORT = "abort"
    REPLY = "reply"
    REPLIED = "reply given"
    RESPOND = "respond"
    RESTART = "restart"


class Act:
    """What the loop is asked to do."""

    SEND = "send the request"
    SHOW = "show it and keep it"
    COMMIT_CYCLE = "commit the cycle"
    KEEP_PARTIAL = "commit what was shown"
    RUN_TOOLS = "run the calls"
    COMMIT_RESPONSES = "commit the responses in request order"
    OPEN_MENU = "open the menu"
    CANCEL = "cancel what runs"
    RESTART_TOOLS = "cancel the calls and run them again"
    ASK_REPLY = "ask for the reply"
    NEW_REQUEST = "add the reply as a new request"
    ROLL_BACK = "restore the conversation as it was"
    END_TURN = "commit the turn's end"


class Move(NamedTuple):
    """Where a trigger leads and what is done on the way.

    ``to`` None means back to the phase that was interrupted; ``only`` names that phase
    where the move makes sense above one phase alone.
    """

    to: Optional[str]
    acts: Tuple[str, ...] = ()
    only: Optional[str] = None


_P, _T, _A = Phase, Trigger, Act

TRANSITIONS: Dict[Tuple[str, str], Move] = {
    (_P.IDLE, _T.START): Move(_P.STREAMING, (_A.SEND,)),
    (_P.STREAMING, _T.RECEIVED): Move(_P.STREAMING, (_A.SHOW,)),
    (_P.STREAMING, _T.FINISHED): Move(_P.EVALUATING, (_A.COMMIT_CYCLE,)),
    (_P.STREAMING, _T.RETRY): Move(_P.STREAMING, (_A.KEEP_PARTIAL,)),
    (_P.STREAMING, _T.FAILED): Move(_P.COMPLETE, (_A.KEEP_PARTIAL, _A.END_TURN)),
    (_P.STREAMING, _T.INTERRUPT): Move(_P.INTERRUPTED, (_A.OPEN_MENU,)),
    (_P.EVALUATING, _T.NO_CALLS): Move(_P.COMPLETE, (_A.END_TURN,)),
    (_P.EVALUATING, _T.PAUSED): Move(_P.STREAMING, (_A.SEND,)),
    (_P.EVALUATING, _T.EMPTY): Move(_P.STREAMING, (_A.SEND,)),
    (_P.EVALUATING, _T.UNFIT): Move(_P.STREAMING, (_A.SEND,)),
    (_P.EVALUATING, _T.CALLS): Move(_P.EXECUTING, (_A.RUN_TOOLS,)),
    (_P.EXECUTING, _T.ANSWERED): Move(_P.EXECUTING),
    (_P.EXECUTING, _T.ALL_ANSWERED): Move(_P.CONTINUING, (_A.COMMIT_RESPONSES,)),
    (_P.EXECUTING, _T.INTERRUPT): Move(_P.INTERRUPTED, (_A.OPEN_MENU,)),
    (_P.CONTINUING, _T.NEXT_CYCLE): Move(_P.STREAMING, (_A.SEND,)),
    (_P.CONTINUING, _T.LIMIT): Move(_P.COMPLETE, (_A.END_TURN,)),
    (_P.CONTINUING, _T.INTERRUPT): Move(_P.INTERRUPTED, (_A.OPEN_MENU,)),
    (_P.INTERRUPTED, _T.RECEIVED): Move(_P.INTERRUPTED, (_A.SHOW,), only=_P.STREAMING),
    (_P.INTERRUPTED, _T.CONTINUE): Move(None),
    (_P.INTERRUPTED, _T.STOP): Move(
        _P.COMPLETE, (_A.CANCEL, _A.KEEP_PARTIAL, _A.COMMIT_RESPONSES, _A.END_TURN)
    ),
    (_P.INTERRUPTED, _T.ABORT): Move(_P.ABORTED, (_A.CANCEL, _A.ROLL_BACK)),
    (_P.INTERRUPTED, _T.REPLY): Move(_P.REPLYING, (_A.ASK_REPLY,)),
    (_P.INTERRUPTED, _T.RESPOND): Move(
        _P.CONTINUING, (_A.CANCEL, _A.COMMIT_RESPONSES), only=_P.EXECUTING
    ),
    (_P.INTERRUPTED, _T.RESTART): Move(_P.EXECUTING, (_A.RESTART_TOOLS,), only=_P.EXECUTING),
    (_P.REPLYING, _T.RECEIVED): Move(_P.REPLYING, (_A.SHOW,), only=_P.STREAMING),
    (_P.REPLYING, _T.REPLIED): Move(
        _P.STREAMING,
        (
            _A.CANCEL,
            _A.KEEP_PARTIAL,
            _A.COMMIT_RESPONSES,
            _A.END_TURN,
            _A.NEW_REQUEST,
            _A.SEND,
        ),
    ),
    (_P.REPLYING, _T.INTERRUPT): Move(_P.INTERRUPTED, (_A.OPEN_MENU,)),
}

ENDED = (Phase.COMPLETE, Phase.ABORTED)


class Answer(NamedTuple):
    """What the model is told about the call ``id``."""

    id: str
    content: str
    is_error: bool = False


NOT_FINISHED = "Interrupted by the user before this call was finished. It may have run in part."


class TurnCoordinator:
    """One turn's phase and the calls that still need their one answer. Main thread.

    The interrupted phase is remembered, so that *continue* goes back to it.
    """

    def __init__(self) -> None:
        self.phase = Phase.IDLE
        self._below = Phase.IDLE
        self._calls: Tuple[str, ...] = ()
        self._answers: Dict[str, Answer] = {}

    @property
    def ended(self) -> bool:
        """Whether the turn is over."""
        return self.phase in ENDED

    @property
    def waiting_for(self) -> Tuple[str, ...]:
        """Ids of the calls that have no answer yet, in request order."""
        return tuple(id for id in self._calls if id not in self._answers)

    def may(self, trigger: str) -> bool:
        """Whether ``trigger`` can happen now."""
        move = TRANSITIONS.get((self.phase, trigger))
        return move is not None and move.only in (None, self._below)

    def handle(self, trigger: str) -> Tuple[str, ...]:
        """Move, and return what to do, in order."""
        assert self.may(trigger), f"{trigger} cannot happen while {self.phase}"
        move = TRANSITIONS[self.phase, trigger]
        if trigger is Trigger.INTERRUPT and self.phase is not Phase.REPLYING:
            self._below = self.phase
        self.phase = self._below if move.to is None else move.to
        all_answered = bool(self._calls) and not self.waiting_for
        goes_on = trigger in (Trigger.CONTINUE, Trigger.RESTART)
        if goes_on and self.phase is Phase.EXECUTING and all_answered:
            return self.handle(Trigger.ALL_ANSWERED)  # the last answer came behind the menu
        return move.acts

    def evaluate(self, calls: Tuple[str, ...]) -> Tuple[str, ...]:
        """Decide after a finished cycle that asked for ``calls``."""
        self._calls, self._answers = calls, {}
        return self.handle(Trigger.CALLS if calls else Trigger.NO_CALLS)

    def answer(self, answer: Answer) -> Tuple[str, ...]:
        """Take the answer to a call; one that is not waited for is dropped."""
        if answer.id not in self.waiting_for:
            return ()
        self._answers[answer.id] = answer
        if self.phase is not Phase.EXECUTING:
            return ()  # a menu is open above it, or it ends while its calls are cancelled
        if self.waiting_for:
            return self.handle(Trigger.ANSWERED)
        return self.handle(Trigger.ALL_ANSWERED)

    def take_answers(self) -> List[Answer]:
        """Exactly one answer for each call, in request order; a call that was not finished
        is answered as interrupted. Empty when there is nothing to answer."""
        answers = [self._answers.get(id, Answer(id, NOT_FINISHED, True)) for id in self._calls]
        self._calls, self._answers = (), {}
        return answers
