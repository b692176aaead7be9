"""The ``jpq`` command: finds the command, runs it, and turns errors into exit codes.

Nothing is imported here before it is known to be needed, because most of the time of a
short command is Python importing modules.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import List, NoReturn, Optional

from jpq import __version__


def main(argv: Optional[List[str]] = None) -> NoReturn:
    """Run ``jpq`` with ``argv`` (default: the process's) and end the process.

    Ends with ``os._exit`` once everything is written and every thread that matters is
    joined: tearing the interpreter down would cost a sixth of a short run, and could wait
    for a reader thread that is still connecting.
    """
    gc.disable()  # nothing that starting up creates is garbage
    arguments = sys.argv[1:] if argv is None else argv
    if arguments == ["--version"]:
        sys.stdout.write(f"jpq {__version__}\n")
        end_process(0)
    from jpq.cli.run import run  # --version must not pay for it

    end_process(run(arguments))


def end_process(code: int) -> NoReturn:
    """Flush what Python still buffers and leave with ``code``."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            pass  # its reader is gone; the code already says how the run ended
    os._exit(code)
