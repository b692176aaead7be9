"""What the model is told about a call that did not simply run: each case in its own words.

docs/tools.md lists these texts; a test holds it to them.
"""

from __future__ import annotations

from jpq.interrupt.cancel import TIMED_OUT

# Results that are no errors: nothing went wrong, the person or the settings decided.
DENIED = "Not run: the user said no{reason}."
DENIED_BY_RULE = "Not run: it is forbidden by {rule}."
SKIPPED = "Not run: this tool is set to be skipped. Go on without its result."
EDITED = "Run with arguments that the user edited: {arguments}\n\n{output}"
RESTARTED = (
    "Started anew by the user after {seconds:.1f} s; this is what the new run gave.\n\n{output}"
)
RESULT_WITHHELD = "It ran, but the user did not deliver its result{reason}."
RESULT_EDITED = "The user edited this result.\n\n{output}"
RESULT_SKIPPED = "It ran. Its result is set not to be delivered."

# Errors. It need not be the user who cancels: the terminal may be gone, or the time over.
CANCELLED = "Cancelled after {seconds:.1f} s{ending}. {so_far}"
TIMED_OUT_TEXT = "Timed out after {seconds:.1f} s{ending}. {so_far}"
CRASHED = "The tool crashed: {error}"
NOT_DELIVERED = "Cancelled: it ran, but its result was not delivered."
NOT_SHOWN = "It ran, but its result needs the user's consent, and nobody can be asked any more."
NOT_STARTED = "Cancelled before it was started."
NOT_ALLOWED = (
    "Not run: {asked} needs the user's permission, and this run cannot ask for it. "
    "No call of this message was run."
)
NO_SUCH_TOOL = "Not run: there is no tool named {name!r}. Tools that exist: {known}."
BAD_JSON = "Not run: the arguments are not a JSON object: {raw}"
BAD_ARGUMENTS = "Not run: {complaint}. Call it again with arguments that match."
REPEATED = (
    "Not run: this same call was made {count} times already in this turn. "
    "Use the results you have, or try something else."
)

# What these texts may add to an output that is as long as it may be.
ROOM_BYTES = 1024

_STILL_RUNNING = ", but it did not stop and may still be running"


def stopped(reason: str, seconds: float, output: str, *, still_running: bool) -> str:
    """The text for a run that was cancelled or took too long."""
    text = TIMED_OUT_TEXT if reason == TIMED_OUT else CANCELLED
    so_far = f"Its output so far:\n{output}" if output.strip() else "It had no output yet."
    ending = _STILL_RUNNING if still_running else ""
    return text.format(seconds=seconds, ending=ending, so_far=so_far)


def with_reason(text: str, reason: str) -> str:
    """``text`` with what the person gave as a reason, if anything."""
    return text.format(reason=f": {reason.strip()}" if reason.strip() else "")
