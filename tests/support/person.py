"""A person at a real pseudo-terminal, who answers prompts of the same process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import termios
from typing import Callable, Iterator, Mapping, Optional, Tuple, Union

from jpq.interrupt.prompt import Dialogue, Prompter
from jpq.render.sanitize import sanitize
from jpq.terminal.device import PosixDevice
from jpq.terminal.tty import Terminal

Deed = Union[bytes, Callable[[], object]]


class Person:
    """Does something each time a text is shown: types keys, or whatever a function does.

    ``script`` are the texts to wait for, in order, and what is done then. Use as a context
    manager. ``seen`` is all that was shown.
    """

    def __init__(self, *script: Tuple[str, Deed]) -> None:
        self._script = list(script)
        self._master, self._side = os.openpty()
        self._from = 0
        self.seen = ""

    def __enter__(self) -> Person:
        return self

    def __exit__(self, *exc: object) -> None:
        self.hang_up()

    def hang_up(self) -> None:
        """Close the window."""
        for descriptor in (self._master, self._side):
            if descriptor >= 0:
                os.close(descriptor)
        self._master = self._side = -1

    def resize(self, columns: int) -> None:
        """Make the window this wide."""
        fcntl.ioctl(self._side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def then(self, text: str, deed: Deed) -> None:
        """Go on with the script: wait for ``text`` and do this."""
        self._script.append((text, deed))

    @property
    def done(self) -> bool:
        """Whether everything in the script was done."""
        return not self._script

    def open_terminal(self, device: Callable[[int], PosixDevice] = PosixDevice) -> Terminal:
        """The person's terminal; OSError after ``hang_up``."""
        if self._side < 0:
            raise OSError("hung up")
        return Terminal(device(os.dup(self._side)))

    def type(self, keys: bytes) -> None:
        """Press these keys."""
        os.write(self._master, keys)

    def act(self) -> None:
        """Look at the screen, and do what is due."""
        while self._master >= 0 and select.select([self._master], [], [], 0)[0]:
            self.seen += os.read(self._master, 65536).decode("utf-8", "replace")
        if self._script and self._script[0][0] in self.seen[self._from :]:
            text, deed = self._script.pop(0)
            self._from = self.seen.index(text, self._from) + len(text)
            if isinstance(deed, bytes):
                self.type(deed)
            else:
                deed()


class PersonPrompter(Prompter):
    """A Prompter that asks ``person``; ``leases`` counts how often it took the terminal."""

    def __init__(self, person: Person, environ: Optional[Mapping[str, str]] = None) -> None:
        super().__init__(self._take, sanitize, environ or {}, person.open_terminal)
        self._person = person
        self.leases = 0
        self._held = False

    @contextlib.contextmanager
    def dialogue(self, meanwhile: Callable[[], None]) -> Iterator[Dialogue]:
        def both() -> None:
            self._person.act()
            meanwhile()

        with super().dialogue(both) as dialogue:
            yield dialogue
        self._person.act()

    @contextlib.contextmanager
    def _take(self) -> Iterator[Callable[[], bool]]:
        assert not self._held, "two prompts at once"
        self._held = True
        self.leases += 1
        try:
            yield lambda: True
        finally:
            self._held = False


def editor(folder: str, *commands: str) -> str:
    """The path of an editor that runs shell ``commands`` with the file as ``$1``."""
    path = os.path.join(folder, "editor")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + "\n".join(commands) + "\n")
    os.chmod(path, 0o755)
    return path
