"""Lines from a terminal whose own driver edits them."""

from __future__ import annotations

import contextlib
import os
import termios
from typing import Any, Iterator

import pytest

from jpq.terminal.device import PosixDevice
from jpq.terminal.line_editor import write_all
from jpq.terminal.plain_editor import PlainEditor
from tests.support.pressing import wait_until
from tests.support.ptys import readable_bytes


class Pty:
    """A terminal without echo, so that only what the editor shows comes out of it."""

    def __init__(self) -> None:
        self.master, self.side = os.openpty()
        modes = termios.tcgetattr(self.side)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(self.side, termios.TCSANOW, modes)

    def editor(self, smart: bool = True) -> PlainEditor:
        return PlainEditor(PosixDevice(os.dup(self.side)), smart)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def type_ahead(self, lines: str) -> None:
        """Type whole lines, and wait until they can be read."""
        self.type(lines)
        wait_until(lambda: readable_bytes(self.side) >= len(lines))

    def shows(self, text: str) -> bool:
        """Whether just ``text`` comes out of it."""
        seen = ""
        while len(seen.encode()) < len(text.encode()):
            seen += os.read(self.master, 65536).decode()
        return seen == text

    def close(self) -> None:
        os.close(self.side)
        os.close(self.master)


@pytest.fixture
def pty() -> Iterator[Pty]:
    made = Pty()
    yield made
    made.close()


def test_lines_that_were_typed_ahead_stay_apart(pty: Pty) -> None:
    editor = pty.editor()
    pty.type_ahead("one\ntwo\n")
    assert [editor.read("You: "), editor.read("You: ")] == ["one", "two"]
    assert pty.shows(2 * "\x1b[?2004hYou: \x1b[?2004l")
    editor.close()


def test_a_marked_paste_is_one_line_also_when_typed_ahead(pty: Pty) -> None:
    editor = pty.editor()
    pty.type_ahead("look: \x1b[200~a\n\nb\x1b[201~ end\nnext\n")
    assert editor.read("> ") == "look: a\n\nb end"
    assert editor.read("> ") == "next"
    assert pty.shows(2 * "\x1b[?2004h> \x1b[?2004l")
    editor.close()


def test_a_dumb_terminal_is_asked_for_nothing(pty: Pty) -> None:
    editor = pty.editor(smart=False)
    pty.type("one\n")
    assert editor.read("> ") == "one"
    assert pty.shows("> ")
    editor.close()


def test_ctrl_d_ends_a_line_and_an_empty_one_ends_the_input(pty: Pty) -> None:
    editor = pty.editor(smart=False)
    pty.type("half\x04\x04")
    assert editor.read("> ") == "half"
    pty.type("\x04")
    assert editor.read("> ") is None
    assert pty.shows("> > \r\n")
    assert editor.columns() == 80
    editor.close()


def test_a_terminal_that_is_gone_has_no_more_lines() -> None:
    pty = Pty()
    editor = pty.editor(smart=False)
    pty.close()
    with contextlib.suppress(OSError):  # the prompt cannot be shown
        assert editor.read("") is None
    editor.close()


def test_keys_that_mean_nothing_here_are_no_text(pty: Pty) -> None:
    editor = pty.editor()
    pty.type("a\x1b[Ab\x1bOHc\x1b[3~d\x1b[31me\n")
    assert editor.read("> ") == "abcd\x1b[31me"
    editor.close()


def test_bytes_that_are_no_text_are_replaced(pty: Pty) -> None:
    editor = pty.editor(smart=False)
    os.write(pty.master, b"caf\xc3\xa9 \xff\n")
    assert editor.read("") == "caf\u00e9 \ufffd"
    editor.close()


def test_a_press_that_is_raised_leaves_the_terminal_as_it_was(pty: Pty) -> None:
    class Device(PosixDevice):
        def wait(self, timeout_s: float) -> bool:
            if timeout_s:
                assert editor.waits
                raise KeyboardInterrupt
            return super().wait(timeout_s)

    editor: Any = PlainEditor(Device(os.dup(pty.side)), True)
    with pytest.raises(KeyboardInterrupt):
        editor.read("> ")
    assert not editor.waits and editor.typed() is None
    assert pty.shows("\x1b[?2004h> \x1b[?2004l")
    editor.close()


def test_a_press_that_answers_the_prompt_at_once_is_not_too_early(pty: Pty) -> None:
    class Device(PosixDevice):
        def write(self, data: bytes) -> None:
            super().write(data)
            if data == b"> ":
                assert editor.waits
                raise KeyboardInterrupt

    editor: Any = PlainEditor(Device(os.dup(pty.side)), True)
    with pytest.raises(KeyboardInterrupt):
        editor.read("> ")
    assert not editor.waits
    assert pty.shows("\x1b[?2004h> \x1b[?2004l")
    editor.close()


def test_a_long_text_waits_for_a_terminal_that_is_held(pty: Pty) -> None:
    times = []

    class Device(PosixDevice):
        def write(self, data: bytes) -> None:
            times.append(data)
            if len(times) % 2:
                raise TimeoutError
            super().write(data)

    device = Device(os.dup(pty.side))
    write_all(device, "x" * 600)
    assert pty.shows("x" * 600)
    device.close()
