"""A pseudo-terminal to type into."""

import os
import pty

import pytest

from jpq.terminal.device import PosixDevice
from jpq.terminal.tty import Terminal


class Typist:
    """The person's side of a pseudo-terminal; ``terminal`` is ours."""

    def __init__(self):
        self.fd, self.side = pty.openpty()
        self.terminal = Terminal(PosixDevice(os.dup(self.side)))

    def type(self, keys):
        os.write(self.fd, keys)

    def sees(self):
        return os.read(self.fd, 4096)

    def hang_up(self):
        os.close(self.fd)
        self.fd = -1

    def close(self):
        self.terminal.close()
        os.close(self.side)
        if self.fd >= 0:
            os.close(self.fd)


@pytest.fixture
def typist():
    typist = Typist()
    yield typist
    typist.close()
