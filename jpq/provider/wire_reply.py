"""What the replies of all wire APIs have in common."""

from __future__ import annotations

import zlib
from typing import Any, Mapping, Optional, Set

from jpq.errors import ErrorKind, StreamError
from jpq.events.surrogates import REPLACEMENT, mend

_SHOWN_CHARS = 80  # of what is not JSON, in the message about it


def not_json(data: str, where: str) -> StreamError:
    """The error that ``data``, found in the middle of a stream of JSON, means.

    It may have been part of the answer, which is gone on with as after a lost connection.
    """
    shown = "".join(c if c.isprintable() else REPLACEMENT for c in data[:_SHOWN_CHARS])
    return StreamError(
        ErrorKind.CUT,
        f"The answer was cut off: the server sent something that is not JSON: {shown}",
        where=where,
        hint="What arrived before it is saved. Go on with: jpq --retry",
    )


def no_answer(where: str, api: str) -> StreamError:
    """The error that a whole reply without an answer means; ``api`` says which was expected."""
    return StreamError(
        ErrorKind.MALFORMED,
        "The server's reply holds no answer.",
        where=where,
        hint=f"Check that base_url belongs to {api}.",
    )


def word(value: Mapping[str, Any], key: str) -> str:
    """The string at ``key``, fit to be stored, or ''."""
    found = value.get(key)
    return mend(found) if isinstance(found, str) else ""


def count(value: Mapping[str, Any], key: str) -> Optional[int]:
    """The number of tokens at ``key``, or None where none is reported."""
    found = value.get(key)
    is_count = isinstance(found, int) and not isinstance(found, bool) and found >= 0
    return found if is_count else None


class ReplyCallIds:
    """The ids of the calls of one reply: unique, and the same whenever it is read again."""

    def __init__(self) -> None:
        self._taken: Set[str] = set()

    def of(self, given: str, reply: str) -> str:
        """The id of the next call: the one ``given``, or where there is none, or an earlier
        call has it, one made of ``reply``, which tells this reply from others (id, time)."""
        id, number = given.strip(), len(self._taken)
        stem = f"call_{zlib.crc32(reply.encode()):08x}" if reply else "call"
        while not id or id in self._taken:
            number += 1
            id = f"{stem}_{number}"
        self._taken.add(id)
        return id
