"""ConversationLock: one writer a conversation, held by the kernel and dropped with the process."""

from __future__ import annotations

import errno
import os
import sys
import time
from typing import Callable, Optional

from jpq.config.files import lock_now, unlock
from jpq.errors import BadInputError, ConversationBusyError
from jpq.store.files import open_private, write_error
from jpq.store.owner import OwnerFile

_POLL_S = 0.05
_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
# What the kernel says on a file system without locks, such as some network shares.
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class ConversationLock:
    """The lock of the conversation in ``folder``. Main thread only.

    A lock file says nothing by being there: what counts is the kernel's lock on it, so a
    process that was killed leaves nothing to clean up. Tools that jpq starts do not
    inherit the descriptor, and so never hold the lock. On a file system without such
    locks an OwnerFile stands in. ``take`` locks a descriptor without waiting or raises
    OSError.
    """

    def __init__(self, folder: str, take: Optional[Callable[[int], None]] = None) -> None:
        self._path = os.path.join(folder, "lock")
        self._take = take or lock_now
        self._descriptor: Optional[int] = None
        self._owner = OwnerFile(self._path + ".owner")

    def acquire(
        self,
        wait_s: float,
        notify: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the lock, waiting up to ``wait_s`` seconds; ``notify`` is told once of a wait.

        Raises ConversationBusyError when another process keeps it, BadInputError when the
        conversation is gone, and WriteError when the lock file cannot be opened.
        """
        deadline = clock() + wait_s
        waiting = False
        while not self._try():
            left = deadline - clock()
            if left <= 0:
                raise ConversationBusyError(
                    "The conversation is in use by another jpq.",
                    where=self._owner.description() or os.path.dirname(self._path),
                    hint="Wait for it to end, or start a new conversation without -c and -r.",
                )
            if not waiting:
                waiting = True
                notify(f"The conversation is in use by another jpq; waiting up to {wait_s:g} s.")
            sleep(min(_POLL_S, left))

    def release(self) -> None:
        """Give the lock back; harmless when it is not held."""
        if self._owner.held:
            self._owner.release()
        elif self._descriptor is not None:
            unlock(self._descriptor)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _try(self) -> bool:
        try:
            descriptor = open_private(self._path, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:
            folder = os.path.dirname(self._path)
            raise BadInputError("The conversation was removed meanwhile.", where=folder) from None
        except OSError as error:
            raise write_error("lock the conversation", error, self._path) from error
        try:
            taken = self._locked(descriptor)
            # Between our open and our lock, its owner may have removed the conversation.
            held = taken and os.path.samestat(os.fstat(descriptor), os.stat(self._path))
        except FileNotFoundError:
            held = False
        except OSError as error:
            os.close(descriptor)
            if error.errno in _HELD:
                return False
            raise write_error("lock the conversation", error, self._path) from error
        if not held:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def _locked(self, descriptor: int) -> bool:
        try:
            self._take(descriptor)
        except OSError as error:
            if error.errno not in _NO_LOCKS or sys.platform == "win32":
                raise
            return self._owner.take()
        return True
