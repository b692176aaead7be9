"""A person who talks with ``jpq chat`` on a real terminal."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import termios
from typing import Any, Iterator, List, Mapping, Optional, Sequence

from tests.support.ptys import Child, environment, jpq
from tests.support.server import Server

PROMPT = b"You:"
# Any control sequence that sets a colour or another look.
LOOK = re.compile(rb"\x1b\[[0-9;]*m")
# What runs jpq where this Python has no readline.
WITHOUT_READLINE = (
    sys.executable,
    "-c",
    "import sys; sys.modules['readline'] = None; from jpq.cli.main import main; main()",
)


class Desk:
    """A home and a workspace in ``folder``. Not for two chats at the same time."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.environ = {**environment(os.path.join(folder, "home")), "ENV": ""}
        self.environ.pop("NO_COLOR", None)
        self.work = os.path.join(folder, "work")
        for each in (self.work, os.path.join(folder, "home")):
            os.makedirs(each, exist_ok=True)

    def argv(self, server: Server, *options: str, program: Sequence[str] = ()) -> List[str]:
        """The command that talks with the model of ``server``."""
        url = f"providers.custom.base_url={server.url}"
        chat = ["chat", "-m", "custom/test", "--retries", "0", "--set", url, *options]
        return [*program, *chat] if program else jpq(*chat)

    @contextlib.contextmanager
    def chat(
        self,
        server: Server,
        *options: str,
        program: Sequence[str] = (),
        changes: Optional[Mapping[str, str]] = None,
    ) -> Iterator[Child]:
        """A chat on a terminal, at its first prompt."""
        environ = {**self.environ, **(changes or {})}
        argv = self.argv(server, *options, program=program)
        with Child(argv, environ, self.work, terminal=True) as child:
            child.wait_for(PROMPT)
            yield child


def say(child: Child, text: str, until: bytes = PROMPT) -> bytes:
    """Type a line and wait for ``until``, the next prompt; what was shown from then on."""
    return press(child, text.encode() + b"\r", until)


def press(child: Child, keys: bytes, until: bytes = PROMPT) -> bytes:
    """Type ``keys`` and wait until something is shown; all that was since."""
    while child.read(0.0):
        pass
    del child.output[:]
    child.type(keys)
    child.wait_for(until)
    return bytes(child.output)


def answered(child: Child, keys: bytes, answer: bytes) -> bytes:
    """Type ``keys`` and wait for ``answer`` and the prompt behind it; what stands between."""
    press(child, keys, answer)
    return prompt_behind(child, answer)


def prompt_behind(child: Child, shown: bytes) -> bytes:
    """Wait for what is ``shown`` and the prompt behind it; what stands between."""
    child.wait_for(shown)
    del child.output[: child.output.index(shown) + len(shown)]
    child.wait_for(PROMPT)
    return bytes(child.output)


def leave(child: Child) -> int:
    """Press Ctrl+D on an empty line; the exit code."""
    child.type(b"\x04")
    return child.end()


def fresh_modes() -> List[Any]:
    """The modes of a terminal that nobody has changed."""
    master, side = os.openpty()
    try:
        return termios.tcgetattr(master)
    finally:
        os.close(master)
        os.close(side)
