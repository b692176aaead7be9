"""The controlling terminal, on real pseudo-terminals."""

import os
import pty
import subprocess
import sys
import termios

import pytest

from jpq.terminal.tty import interactive
from tests.support.pressing import wait_until
from tests.support.ptys import readable_bytes

WAIT_S = 30.0
KEYS = b"y\xc3\xa9\x1b[A\x1bOPn\n\x1b"
INTERACTIVE = """
import os, sys
from jpq.terminal.tty import Terminal, interactive
print(interactive(os.environ, "no" in sys.argv), flush=True)
if "ask" in sys.argv:
    with Terminal.open() as terminal:
        terminal.write("name? ")
        print(terminal.read_line(), flush=True)
"""


def test_lines(typist):
    typist.type("one\n\ntwö\n".encode())
    assert [typist.terminal.read_line() for _ in range(3)] == ["one", "", "twö"]


def test_end_of_input(typist):
    typist.type(b"half\x04\x04\x04")
    assert typist.terminal.read_line() == "half"
    assert typist.terminal.read_line() is None


def test_bytes_that_are_not_utf_8(typist):
    typist.type(b"a\xffb\n")
    assert typist.terminal.read_line() == "a\ufffdb"


def test_a_terminal_that_hung_up_is_the_end_of_input(typist):
    typist.hang_up()
    assert typist.terminal.read_line() is None
    with pytest.raises(OSError):
        typist.terminal.write("anyone?")


def test_keys_come_one_by_one_without_echo(typist):
    before = termios.tcgetattr(typist.side)
    with typist.terminal.saved_modes():
        _without_lines(typist.side)
        typist.type(KEYS)
        keys = [typist.terminal.read_key() for _ in range(7)]
    assert keys == ["y", "é", "\x1b[A", "\x1bOP", "n", "\n", "\x1b"]
    assert termios.tcgetattr(typist.side) == before


def test_typed_ahead_input_is_dropped(typist):
    typist.type(b"y\nsecond\n")
    assert typist.terminal.read_line() == "y"
    typist.type(b"n\n")
    wait_until(lambda: readable_bytes(typist.side) == len(b"second\nn\n"))
    typist.terminal.drop_typed_ahead()
    typist.type(b"real\n")
    assert typist.terminal.read_line() == "real"


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_modes_are_restored_whatever_happens(typist, failure):
    before = termios.tcgetattr(typist.side)
    with pytest.raises(failure), typist.terminal.saved_modes():
        _without_lines(typist.side)
        assert termios.tcgetattr(typist.side) != before
        raise failure
    assert termios.tcgetattr(typist.side) == before


def test_modes_of_a_terminal_that_is_gone_restore_quietly(typist):
    with typist.terminal.saved_modes():
        typist.hang_up()
    typist.terminal.drop_typed_ahead()


def test_without_a_controlling_terminal_nobody_is_asked():
    assert _run_apart([]) == "False\n"


def test_open_without_a_controlling_terminal_is_an_oserror():
    script = "from jpq.terminal.tty import Terminal\ntry: Terminal.open()\nexcept OSError: print(1)"
    result = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True, check=True
    )
    assert result.stdout == b"1\n"


@pytest.mark.parametrize(
    ("arguments", "environ", "expected"),
    [
        ([], {}, "True"),
        (["no"], {}, "False"),
        ([], {"CI": "true"}, "False"),
        ([], {"CI": ""}, "True"),
        (["ask"], {}, "True\nAnn"),
    ],
)
def test_the_controlling_terminal_is_used_though_all_else_is_pipes(arguments, environ, expected):
    fd, side = pty.openpty()
    name = os.ttyname(side)
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, sys\nos.close(os.open(sys.argv[1], os.O_RDWR))" + INTERACTIVE,
            name,
            *arguments,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,  # its first terminal becomes the controlling one
        env={**os.environ, **environ},
    )
    with child:
        if "ask" in arguments:
            seen = b""
            while b"name? " not in seen:
                seen += os.read(fd, 100)
            os.write(fd, b"Ann\n")
        assert child.communicate(timeout=WAIT_S)[0].decode() == expected + "\n"
    os.close(side)
    os.close(fd)


def test_interactive_can_be_forbidden_without_looking():
    assert not interactive({}, non_interactive=True)
    assert not interactive({"CI": "TRUE"}, non_interactive=False)


def _without_lines(fd):
    modes = termios.tcgetattr(fd)
    modes[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(fd, termios.TCSANOW, modes)


def _run_apart(arguments):
    result = subprocess.run(
        [sys.executable, "-c", INTERACTIVE, *arguments],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        check=True,
        text=True,
    )
    return result.stdout
