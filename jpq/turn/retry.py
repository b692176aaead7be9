"""When a failed attempt is made again, and after how long. Loaded at the first failure,
because tenacity is not needed before."""

from __future__ import annotations

from typing import Callable, Optional

import tenacity

from jpq.errors import StreamError
from jpq.named import NamedTuple
from jpq.turn.cycle import RetryLimits


class Retry(NamedTuple):
    """An attempt that is about to be made again."""

    error: StreamError
    attempt: int
    max_attempts: int
    wait_s: float


def attempt_again(
    attempt: Callable[[], None],
    first_failure: StreamError,
    *,
    limits: RetryLimits,
    seconds_waited: Callable[[], float],
    is_barren: Callable[[], bool],
    before_wait: Callable[[Retry], None],
    wait: Callable[[float], None],
) -> None:
    """Call ``attempt`` until it succeeds, after it failed once with ``first_failure``.

    ``seconds_waited`` are the turn's waits so far, which no partial success resets, and
    ``is_barren`` says that further attempts bring nothing. Raises the last failure once a
    retry cannot help or a limit is reached; whatever else ``attempt``, ``before_wait`` or
    ``wait`` raise passes through.
    """
    failed_already: Optional[StreamError] = first_failure

    def attempt_or_first_failure() -> None:
        # tenacity counts attempts itself, so the one that was made without it is replayed.
        nonlocal failed_already
        if failed_already is not None:
            error, failed_already = failed_already, None
            raise error
        attempt()

    def gives_up(state: tenacity.RetryCallState) -> bool:
        return (
            state.attempt_number >= limits.max_attempts
            or is_barren()
            or state.upcoming_sleep > _longest_wait(_failure(state), limits)
            or seconds_waited() + state.upcoming_sleep > limits.total_retry_s
        )

    def tell(state: tenacity.RetryCallState) -> None:
        next_attempt = state.attempt_number + 1
        before_wait(Retry(_failure(state), next_attempt, limits.max_attempts, state.upcoming_sleep))

    # Half of each wait is fixed and half is random, so that clients that failed together
    # do not come back together.
    half, half_cap = limits.backoff_base_s / 2, limits.backoff_cap_s / 2
    backoff = tenacity.wait_exponential(half, half_cap) + tenacity.wait_random_exponential(
        half, half_cap
    )

    def wait_s(state: tenacity.RetryCallState) -> float:
        asked = _failure(state).retry_after
        return backoff(state) if asked is None else asked

    tenacity.Retrying(
        retry=tenacity.retry_if_exception(_can_succeed),
        stop=gives_up,
        wait=wait_s,
        before_sleep=tell,
        sleep=wait,
        reraise=True,
    )(attempt_or_first_failure)


def _can_succeed(error: BaseException) -> bool:
    return isinstance(error, StreamError) and error.retryable


def _failure(state: tenacity.RetryCallState) -> StreamError:
    assert state.outcome is not None
    error = state.outcome.exception()
    assert isinstance(error, StreamError)
    return error


def _longest_wait(error: StreamError, limits: RetryLimits) -> float:
    return limits.backoff_cap_s if error.retry_after is None else limits.retry_after_max_s
