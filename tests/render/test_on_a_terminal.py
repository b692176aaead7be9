"""The renderer on a real pseudo-terminal, read back as a person would see it."""

import os
import pty
import queue
import re
import threading

import pytest

from jpq.events.turn import (
    Complete,
    Notice,
    ReasoningChunk,
    Result,
    StreamStart,
    TextChunk,
    ToolResult,
    ToolUse,
    Waiting,
)
from jpq.events.usage import Usage
from jpq.render.aside import ViewOptions
from jpq.render.views import make_view
from jpq.render.worker import Renderer
from jpq.terminal.caps import find_caps, observe

WAIT_S = 30.0
RESULT = Result("complete", "", "stop", Usage(), None, 0)


class Screen:
    """The other end of a pseudo-terminal whose two files are stdout and stderr."""

    def __init__(self):
        self.fd, side = pty.openpty()
        self.out = os.fdopen(side, "wb")
        self.err = os.fdopen(os.dup(side), "wb")
        self.bytes = bytearray()
        self._grew = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        while True:
            try:
                data = os.read(self.fd, 4096)
            except OSError:  # EIO: our side is closed
                return
            with self._grew:
                self.bytes += data
                self._grew.notify_all()

    def wait_for(self, text):
        with self._grew:
            pattern = re.compile(text.encode())
            assert self._grew.wait_for(lambda: pattern.search(self.bytes), WAIT_S), self.bytes

    def close(self):
        """What is seen in the end."""
        self.out.close()
        self.err.close()
        self._reader.join()
        os.close(self.fd)
        return self.seen()

    def seen(self):
        """The screen: colours gone, and lines as the erasures left them."""
        text = re.sub(r"\x1b\[\d*m", "", self.bytes.decode()).replace("\r\n", "\n")
        return "\n".join(line.split("\r\x1b[K")[-1] for line in text.split("\n"))


@pytest.fixture
def screen():
    screen = Screen()
    yield screen
    if not screen.out.closed:
        screen.close()


def renderer_on(screen, environ, post=print):
    facts = observe(screen.out, "utf-8"), observe(screen.err, "utf-8")
    caps = find_caps(environ, *facts)
    return Renderer(make_view("auto", screen.out, screen.err, caps, ViewOptions()), post)


def test_a_whole_turn(screen):
    with renderer_on(screen, {"TERM": "xterm"}) as renderer:
        renderer.show(Waiting("p/m"))
        screen.wait_for(r"Waiting for p/m \d+s")
        for event in (
            StreamStart("m", None),
            ReasoningChunk("Let me "),
            ReasoningChunk("think."),
            TextChunk("I'll lo"),
            TextChunk("ok."),
            ToolUse("c", "look", {"at": "it"}),
            ToolResult("c", "look", "seen\x1b[2J", False),
            Complete("tool_calls"),
            StreamStart("m", None),
            TextChunk("Half \x1b]0;title\x07"),
            Notice("cut; asking again"),
            StreamStart("m", None),
            TextChunk("and half."),
            Complete("stop"),
            RESULT,
        ):
            renderer.show(event)
    assert screen.close().split("\n") == [
        "m",
        "Let me think.",
        "",
        "I'll look.",
        '→ look(at="it")',
        "← look",
        "  seen",
        "",
        "Half",
        "jpq: cut; asking again",
        "and half.",
        "",
    ]


def test_the_spinner_is_gone_during_a_lease_and_comes_back(screen):
    with renderer_on(screen, {"TERM": "xterm"}) as renderer:
        renderer.show(Waiting("p/m"))
        screen.wait_for("Waiting")
        with renderer.lease(WAIT_S):
            screen.out.raw.write(b"menu\n")
            screen.wait_for("menu\r\n")
            assert screen.seen() == "menu\n"
            renderer.show(Waiting("the second"))
        screen.wait_for("the second")
        renderer.show(TextChunk("a"))
    assert screen.close() == "menu\na\n"


@pytest.mark.parametrize("environ", [{"TERM": "dumb"}, {"ACCESSIBLE": "1", "NO_COLOR": "1"}])
def test_words_where_a_line_must_not_be_rewritten(screen, environ):
    with renderer_on(screen, environ) as renderer:
        renderer.show(Waiting("p/m"))
        screen.wait_for("jpq: waiting for p/m")
        renderer.show(ReasoningChunk("hm"))
        renderer.show(TextChunk("a"))
    assert screen.close() == "jpq: waiting for p/m\nhm\n\na\n"
    assert b"\x1b" not in screen.bytes


def test_a_terminal_that_hung_up_is_a_failed_display():
    posted = queue.SimpleQueue()
    fd, side = pty.openpty()
    with os.fdopen(side, "wb") as out:
        caps = find_caps({}, observe(out, "utf-8"), observe(out, "utf-8"))
        with Renderer(make_view("auto", out, out, caps, ViewOptions()), posted.put) as renderer:
            os.close(fd)
            renderer.show(TextChunk("anyone?"))
            assert renderer.flush(WAIT_S)
    failure = posted.get_nowait()
    assert failure.channel == "stdout"
    assert isinstance(failure.error, OSError)
