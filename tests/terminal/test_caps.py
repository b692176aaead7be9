"""What a channel can do, from the environment alone."""

import fcntl
import io
import pty
import struct
import termios

import pytest

from jpq.terminal.caps import ChannelCaps, ChannelFacts, find_caps, observe, terminal_width

TTY = ChannelFacts(True)
PIPE = ChannelFacts(False)


@pytest.mark.parametrize(
    ("environ", "stdout", "format", "pretty"),
    [
        ({"TERM": "xterm"}, TTY, "auto", True),
        ({}, TTY, "auto", True),
        ({"NO_COLOR": "1"}, TTY, "auto", True),
        ({"TERM": "dumb"}, TTY, "auto", False),
        ({"TERM": "xterm"}, PIPE, "auto", False),
        ({"TERM": "xterm", "FORCE_COLOR": "1"}, PIPE, "auto", False),
        ({"TERM": "xterm"}, TTY, "text", False),
        ({"TERM": "xterm"}, TTY, "jsonl", False),
    ],
)
def test_pretty(environ, stdout, format, pretty):
    assert find_caps(environ, stdout, TTY, format).pretty is pretty


@pytest.mark.parametrize(
    ("environ", "facts", "color", "colour"),
    [
        ({}, TTY, "auto", True),
        ({}, PIPE, "auto", False),
        ({"NO_COLOR": "1"}, TTY, "auto", False),
        ({"NO_COLOR": ""}, TTY, "auto", True),
        ({"TERM": "dumb"}, TTY, "auto", False),
        ({"FORCE_COLOR": "1"}, PIPE, "auto", True),
        ({"CLICOLOR_FORCE": "1"}, PIPE, "auto", True),
        ({"FORCE_COLOR": "0"}, PIPE, "auto", False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, TTY, "auto", False),
        ({"NO_COLOR": "1"}, PIPE, "always", True),
        ({"FORCE_COLOR": "1"}, TTY, "never", False),
        ({}, ChannelFacts(True, obeys_escapes=False), "auto", False),
    ],
)
def test_colour(environ, facts, color, colour):
    assert find_caps(environ, PIPE, facts, color=color).stderr.colour is colour


@pytest.mark.parametrize(
    ("environ", "facts", "rewrite"),
    [
        ({}, TTY, True),
        ({"NO_COLOR": "1"}, TTY, True),
        ({"ACCESSIBLE": "1"}, TTY, False),
        ({"ACCESSIBLE": "0"}, TTY, True),
        ({"TERM": "dumb"}, TTY, False),
        ({"FORCE_COLOR": "1"}, PIPE, False),
        ({}, ChannelFacts(True, obeys_escapes=False), False),
    ],
)
def test_a_line_is_rewritten_only_where_that_works(environ, facts, rewrite):
    assert find_caps(environ, PIPE, facts).stderr.rewrite is rewrite


def test_unicode_follows_the_encoding():
    assert ChannelCaps(encoding="utf-8").unicode
    assert not ChannelCaps(encoding="iso8859-1").unicode


def test_observe():
    main, side = pty.openpty()
    with open(main, "rb", buffering=0), open(side, "wb", buffering=0) as terminal:
        assert observe(terminal, "UTF8") == ChannelFacts(True, "utf-8")
    assert observe(terminal, "latin-1") == ChannelFacts(False, "iso8859-1")
    assert observe(None, None) == ChannelFacts(False, "utf-8")
    assert observe(io.BytesIO(), "no-such-encoding") == ChannelFacts(False, "utf-8")


def test_width_is_that_of_the_window_now():
    main, side = pty.openpty()
    with open(main, "rb", buffering=0), open(side, "wb", buffering=0) as terminal:
        caps = find_caps({}, PIPE, observe(terminal, "utf-8")).stderr
        assert terminal_width(caps, terminal) == 80  # a new pseudo-terminal says 0
        _resize(side, 123)
        assert terminal_width(caps, terminal) == 123
        insisted = find_caps({"COLUMNS": "50"}, PIPE, TTY).stderr
        assert terminal_width(insisted, terminal) == 50
    assert terminal_width(caps, terminal) == 80
    assert terminal_width(caps, None) == 80


@pytest.mark.parametrize("value", ["", "0", "-3", "wide", "²", "9" * 5000])
def test_a_useless_columns_is_ignored(value):
    assert find_caps({"COLUMNS": value}, TTY, TTY).stdout.columns is None


def _resize(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
