"""How long a character takes from its arrival to the terminal, at the speed of a slow model.

The real program on a real terminal: a paragraph is typed into ``jpq render`` letter by letter,
and each visible character on the terminal is held against the one that was sent.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from typing import Dict, List, Tuple

from bench.compare import Row, median, percentile
from bench.process import Failed, jpq

CHARACTERS_A_SECOND = 50
TARGET_MS = 60.0
BOUND_MS = 2000.0  # the longest that docs/rendering.md says text may be held
TEXTS = {
    "prose": "Plain words come one after another, as people read them, and lines are wrapped. " * 3,
    "marks": "Some **bold words**, a bit of `code` and *others* come in between plain ones. " * 3,
}
_ESCAPES = re.compile(rb"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b\x07]*(?:\x07|\x1b\\)|\s")


def measure(environ: Dict[str, str], count: int = 1) -> List[Row]:
    """A row a text: the median delay, and the longest."""
    return [_row(name, TEXTS[name], environ) for name in TEXTS]


def _row(name: str, text: str, environ: Dict[str, str]) -> Row:
    sent, shown = _watched(text, environ)
    # The nth visible character was sent with the nth that is no mark: of plain prose, with itself.
    letters = [when for character, when in zip(text, sent) if character not in _MARKS]
    if len(shown) < len(letters):
        raise Failed(f"{len(shown)} of {len(letters)} characters were shown")
    delays = [max(0.0, late - early) * 1000 for early, late in zip(letters, shown)]
    middle, most = median(delays), max(delays)
    return Row(
        f"delay at {CHARACTERS_A_SECOND} characters a second, {name}",
        f"{middle:.0f} ms, 90% {percentile(delays, 0.9):.0f} ms, at most {most:.0f} ms",
        "",
        "",
        f"{TARGET_MS:.0f} ms, at most {BOUND_MS:.0f} ms",
        middle < TARGET_MS and most <= BOUND_MS,
    )


_MARKS = " *`"


def _watched(text: str, environ: Dict[str, str]) -> Tuple[List[float], List[float]]:
    """When each character of ``text`` was sent, and when each visible one was shown."""
    master, side = os.openpty()
    process = subprocess.Popen(
        jpq("render", "--wrap", "60").argv,
        stdin=subprocess.PIPE,
        stdout=side,
        stderr=subprocess.DEVNULL,
        env={**environ, "TERM": "xterm-256color"},
    )
    shown: List[float] = []
    reader = threading.Thread(target=_read, args=(master, shown), name="bench-terminal")
    reader.start()
    assert process.stdin is not None
    time.sleep(1.0)  # it has started by then, which is no part of what is measured
    sent = []
    for character in text:
        sent.append(time.monotonic())
        os.write(process.stdin.fileno(), character.encode())
        time.sleep(1 / CHARACTERS_A_SECOND)
    process.stdin.close()
    process.wait()
    os.close(side)
    reader.join()
    os.close(master)
    return sent, shown


def _read(terminal: int, shown: List[float]) -> None:
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # EIO: the other end is closed
            return
        shown += [time.monotonic()] * len(_ESCAPES.sub(b"", data))
