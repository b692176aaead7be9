"""How a turn ended: one status, one exit code and one error, the same on every channel."""

from __future__ import annotations

import errno
import importlib
from typing import Any, Mapping, Optional, Sequence

from jpq.errors import ErrorKind, ExitCode, JpqError, StreamError, WriteError
from jpq.events.parts import CONTENT_FILTER, LENGTH, PAUSED, REFUSAL
from jpq.events.parts import ERROR as ERROR_REASON
from jpq.events.transcript import ChatResponse
from jpq.events.turn import Error, Result, TurnEvent
from jpq.events.usage import Usage
from jpq.named import NamedTuple

COMPLETE = "complete"
INTERRUPTED = "interrupted"
INCOMPLETE = "incomplete"
LIMITED = "limited"
REFUSED = "refused"
FILTERED = "filtered"
EMPTY = "empty"
ERROR = "error"
DENIED = "denied"

DISCARDED = "Discarded; the conversation is as it was before."
STOPPED_AND_SAVED = "Stopped; what arrived is saved. Go on with: jpq --retry"


class Ending(NamedTuple):
    """``status`` is one of the words above; ``error`` is what the person is told, if anything.

    ``notice`` says why an answer that is complete has no text, else it is empty.
    """

    status: str
    exit_code: int
    error: Optional[JpqError] = None
    notice: str = ""

    @property
    def told(self) -> Optional[Error]:
        """The error as a turn's audience is told it."""
        error = self.error
        return None if error is None else Error(error.word, error.message, error.where, error.hint)


class TurnOutcome(NamedTuple):
    """A whole turn: its ending, the last cycle's finish reason, the sums over its cycles.

    ``signum`` is the signal that ended it, which the process ends by as well. ``extra`` is
    what a program finds in the result besides its usual fields.
    """

    ending: Ending
    finish_reason: Optional[str]
    text: str
    usage: Usage
    model: Optional[str]
    signum: Optional[int] = None
    extra: Mapping[str, Any] = {}

    def closing(self, cost: Optional[float]) -> Sequence[TurnEvent]:
        """What the audience of the turn, which cost this much in USD, is told at its end."""
        error = self.ending.told
        result = Result(
            status=self.ending.status,
            text=self.text,
            finish_reason=self.finish_reason,
            usage=self.usage,
            cost=cost,
            exit_code=self.ending.exit_code,
            error=error,
            extra=self.extra,
        )
        return (result,) if error is None else (error, result)


class StoppedEarly(JpqError):
    """The provider ended the answer, but not because it was whole."""

    word = "stopped_early"
    exit_code = ExitCode.STOPPED_EARLY


def of_response(response: ChatResponse, text: str) -> Ending:
    """The ending of a turn whose last cycle the provider ended itself.

    ``text`` is that cycle's whole answer, with what earlier attempts showed of it.
    """
    why = str(response.details.get("message") or "")
    if response.stop_reason == LENGTH:
        return _early(
            LIMITED,
            "The answer reached the model's output limit and stops here.",
            "Ask it to go on with: jpq -c continue, or raise the limit with -o max_tokens=N.",
        )
    if response.stop_reason == PAUSED:
        return _early(
            LIMITED,
            "The provider paused the answer, and no more cycles are allowed.",
            "Go on with: jpq --retry, or allow more with --max-cycles N.",
        )
    if response.stop_reason == REFUSAL:
        return _early(REFUSED, _with_reason("The model refused to answer", why), "")
    if response.stop_reason == CONTENT_FILTER:
        return _early(
            FILTERED,
            _with_reason("The provider's content filter stopped the answer", why),
            "Try other words, or another model.",
        )
    if response.stop_reason == ERROR_REASON:
        why = why or f"it stopped because of {response.details.get('native', 'an error')}"
        return _early(ERROR, _with_reason("The answer failed", why), "Try again with: jpq --retry")
    if text.strip():
        return Ending(COMPLETE, ExitCode.OK)
    notice = _whole_without_text(response)
    if notice:
        return Ending(COMPLETE, ExitCode.OK, notice=notice)
    reason = why or f"the provider says it stopped because of: {response.stop_reason}"
    if response.reasoning.strip():
        reason = f"there was reasoning but no answer; {reason}"
    return _early(EMPTY, _with_reason("The reply is empty", reason), "Try again with: jpq --retry")


def _whole_without_text(response: ChatResponse) -> str:
    """Why an answer may have no text and be whole, else an empty text."""
    stop = response.details.get("stop_sequence")
    if stop is not None:
        return f"The answer has no text: the stop sequence {stop!r} came first."
    names = importlib.import_module("jpq.provider.unshown").unshown(response.blocks)
    if names:
        return f"The answer has no text, only what jpq keeps but cannot show: {', '.join(names)}."
    return ""


def of_error(error: JpqError) -> Ending:
    """The ending of a turn that failed."""
    status = ERROR
    if isinstance(error, StreamError):
        if error.kind in (ErrorKind.CUT, ErrorKind.STALLED):
            status = INCOMPLETE
        elif error.kind is ErrorKind.CONTENT_FILTER:
            status = FILTERED
    elif error.exit_code == ExitCode.TIMEOUT:
        status = INCOMPLETE
    return Ending(status, int(error.exit_code), error)


def of_failure(error: JpqError, saved: bool) -> Ending:
    """The ending of a turn whose last attempt failed. Where another one may help later, and
    the turn is ``saved``, the person is told how to make it."""
    if saved and isinstance(error, StreamError) and error.retryable and "--retry" not in error.hint:
        error.hint = f"{error.hint} Then: jpq --retry" if error.hint else "Go on with: jpq --retry"
    return of_error(error)


def of_denied(error: JpqError) -> Ending:
    """The ending of a turn whose calls could not be allowed."""
    return Ending(DENIED, int(error.exit_code), error)


def of_cycle_limit(max_cycles: int) -> Ending:
    """The ending of a turn that wanted more cycles than it may have."""
    return _early(
        LIMITED,
        f"Stopped after {max_cycles} tool round trips (request.max_cycles).",
        "Go on with: jpq --retry, or allow more with --max-cycles N.",
    )


def of_cost_limit(max_cost: float, cost: float) -> Ending:
    """The ending of a turn that has cost what it may, in USD."""
    return _early(
        LIMITED,
        f"Stopped after {cost:.4g} USD (request.max_cost_usd is {max_cost:g}).",
        "Go on with: jpq --retry, or allow more with --max-cost USD.",
    )


def of_signal(signum: int) -> Ending:
    """The ending of a turn that a signal stopped; what arrived is saved."""
    return Ending(INTERRUPTED, 128 + signum)


def of_choice(saved: bool) -> Ending:
    """The ending of a turn that the person chose to end in a menu."""
    return Ending(INTERRUPTED, int(ExitCode.OK if saved else ExitCode.INTERRUPT))


def or_whole(ending: Ending) -> Ending:
    """``ending`` where the answer was whole, and only the end of its stream was waited for.

    Whoever stopped that took nothing from the answer, though a signal still ends the process.
    """
    if ending.status == INTERRUPTED:
        return ending._replace(status=COMPLETE)
    return Ending(COMPLETE, ExitCode.OK) if ending.exit_code == ExitCode.TIMEOUT else ending


def was_stopped(ending: Ending) -> bool:
    """Whether a person or a signal ended the turn, and it was saved. A reader of stdout that
    went away is neither, and told nothing."""
    return ending.status == INTERRUPTED and ending.exit_code != ExitCode.BROKEN_PIPE


def of_display(error: BaseException) -> Ending:
    """The ending of a turn that cannot be shown; a reader that went away is told nothing.

    Raises ``error`` where it is a fault in the drawing, which must not pass unseen.
    """
    if not isinstance(error, OSError):
        raise error
    if error.errno == errno.EPIPE:
        return Ending(INTERRUPTED, int(ExitCode.BROKEN_PIPE))
    reason = error.strerror or str(error)
    where = error.filename or "stdout"
    return of_error(WriteError(f"The answer could not be written to {where}: {reason}."))


def _early(status: str, message: str, hint: str) -> Ending:
    return Ending(status, int(ExitCode.STOPPED_EARLY), StoppedEarly(message, hint=hint))


def _with_reason(message: str, reason: str) -> str:
    return f"{message}: {reason}" if reason else f"{message}."
