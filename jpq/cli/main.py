"""The ``jpq`` command as a process: how it starts and ends. What it does is in ``jpq.cli.run``.

Nothing is imported here before it is known to be needed, because most of the time of a
short command is Python importing modules.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import List, NoReturn, Optional

from jpq import __version__

# At the default of 5 ms a busy thread keeps a reader waiting for that long after its data
# has arrived (measured: 5.2 ms at the default, 0.6 ms at this value).
SWITCH_INTERVAL_S = 0.0005
# As in jpq.errors, which --version does not load.
_BROKEN_PIPE = 141
_CANNOT_WRITE = 74
_PREFIX = "jpq: "


def main(argv: Optional[List[str]] = None) -> NoReturn:
    """Run ``jpq`` with ``argv`` (default: the process's) and end the process.

    Ends with ``os._exit`` once everything is written and every thread that matters is
    joined: tearing the interpreter down would cost a sixth of a short run, and could wait
    for a reader thread that is still connecting.
    """
    try:
        gc.disable()  # nothing that starting up creates is garbage
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        _occupy_closed_descriptors()
        _make_blocking()
        arguments = sys.argv[1:] if argv is None else argv
        if arguments == ["--version"]:
            end_process(0, f"jpq {__version__}\n")
        from jpq.cli.run import run  # --version must not pay for it

        end_process(run(arguments))
    except BaseException as end:  # before run looks, once it has told, or while that is written
        if not isinstance(end, KeyboardInterrupt) and not hasattr(end, "signum"):
            raise
        from jpq.interrupt.signals import end_by_signal, signal_behind  # only needed here

        end_by_signal(signal_behind(end))


def end_process(code: int, last_words: str = "") -> NoReturn:
    """Write ``last_words`` and what Python still buffers; leave with ``code``, or with the
    code of why that failed."""
    try:
        if sys.stdout is not None:
            sys.stdout.write(last_words)
            sys.stdout.flush()
    except BrokenPipeError:
        code = code or _BROKEN_PIPE
    except OSError as error:
        if code == 0:
            code = _CANNOT_WRITE
            _tell(f"{_PREFIX}Cannot write to stdout: {error.strerror}.\n")
    _tell("")
    os._exit(code)


def _occupy_closed_descriptors() -> None:
    """Put the null device where stdin, stdout or stderr is closed.

    Otherwise the next file that is opened gets that number, and whatever writes to stderr
    at a low level writes into a conversation.
    """
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is None:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _make_blocking() -> None:
    """Let reads and writes of stdin, stdout and stderr wait, whatever a parent made of them.

    Python takes a pipe that is empty for the moment for one at its end, and forgets what a
    full one did not take.
    """
    if not hasattr(os, "set_blocking"):
        return  # Windows, before Python 3.12
    for descriptor in range(3):
        try:
            os.set_blocking(descriptor, True)
        except OSError:
            pass  # some systems cannot do that for every kind of file


def _tell(text: str) -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
    except OSError:
        pass  # nobody is left to be told
