"""Streaming Markdown: what drawing an answer costs, how that grows, and what it does to others."""

from __future__ import annotations

import functools
import importlib
import io
import os
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from markdown_it import MarkdownIt

from bench.compare import Row, median
from bench.process import Failed
from jpq.cli.main import SWITCH_INTERVAL_S
from jpq.render.markdown.formatter import MarkdownFormatter
from jpq.render.theme import TRUE_COLOURS, Look

ROUNDS = 5
SIZE = 100_000  # characters
CHUNK = 4
COLUMNS = 100

RICH_TARGET = 3.0
LIVE_TARGET = 1 / 200
GROWTH_TARGET = 2.2
OUTPUT_TARGET = 2.0
LATENCY_TARGET_MS = 1.0

LIVE_HZ = 10
LIVE_CHUNKS_PER_S = 100
_LIVE_SAMPLES = 5
_STAMPS = 100

_SECTION = """\
## Section {0}

Some **important** words stand in this paragraph, with `code`, a [link](https://example.com/{0})
and *emphasis*; it is as long as paragraphs of answers are, and then it goes on for a while.

1. First, *do* this
   - with `care`
   - and without haste
2. Then do **that**

| option | default | meaning |
|:-------|--------:|---------|
| `a{0}` | {0} | what it is for |
| `b{0}` | none | and what the other one is for |

```python
def function_{0}(argument: int) -> str:
    \"\"\"Say what it does.\"\"\"
    return f"{{argument}} times {0}"  # a comment
```

> A quotation, which is shorter.

"""
_PROSE = "Plain prose is what most of an answer is, and it has hardly a mark in it at all. "
_SENDER = """
import os, time
for _ in range({0}):
    time.sleep(0.01)
    os.write(1, b"%d\\n" % time.monotonic_ns())
"""


def _document(size: int) -> str:
    text, number = "", 0
    while len(text) < size:
        text += _SECTION.format(number)
        number += 1
    return text[:size]


def _repeated(unit: str, size: int, head: str = "") -> str:
    return (head + unit * (size // len(unit) + 1))[:size]


_TEXTS: Dict[str, Callable[[int], str]] = {
    "a document": _document,
    "prose": lambda size: _repeated(_PROSE * 6 + "\n\n", size),
    "one paragraph": lambda size: _repeated(_PROSE, size),
    "one fence": lambda size: _repeated("x = f(1)  # and so on\n", size, "```python\n"),
    "one list": lambda size: _repeated("- an item with **bold** words and `code`\n", size),
    "one table": lambda size: _repeated("| a cell | **two** | 3 |\n", size, "|a|b|c|\n|-|-|-|\n"),
}


def measure(environ: Dict[str, str], count: int = ROUNDS) -> List[Row]:
    """CPU time, growth, output and the latency it adds, in this process."""
    document = _document(SIZE)
    ours = _best(lambda: _stream(document), count)
    rows = [_parser(document, ours, count), *_rich(document, ours, count)]
    rows += [_growth(name, text, count) for name, text in _TEXTS.items()]
    prose = _TEXTS["prose"](SIZE)
    written = len(_stream(prose).encode()) / len(prose)
    rows.append(
        Row(
            "bytes written for a byte of prose",
            f"{written:.2f}",
            "",
            "",
            f"{OUTPUT_TARGET}",
            written <= OUTPUT_TARGET,
        )
    )
    return [*rows, _latency(document, environ)]


def _stream(text: str) -> str:
    """What is drawn of ``text``, which comes in small chunks."""
    formatter = MarkdownFormatter(Look(TRUE_COLOURS), lambda: COLUMNS)
    pieces = [formatter.feed(text[at : at + CHUNK]) for at in range(0, len(text), CHUNK)]
    return "".join(pieces) + formatter.close()


def _best(work: Callable[[], Any], count: int) -> float:
    """The least CPU time of ``count`` runs, in seconds: others can only add to it."""
    work()
    costs = []
    for _ in range(count):
        start = time.thread_time()
        work()
        costs.append(time.thread_time() - start)
    return min(costs)


def _parser(document: str, ours: float, count: int) -> Row:
    parser = MarkdownIt("commonmark").enable("table")
    theirs = _best(lambda: parser.parse(document), count)
    return Row(
        f"draw {SIZE // 1000} kB in {CHUNK}-character chunks, CPU",
        f"{ours:.2f} s",
        f"markdown-it-py, parsing it once {theirs:.3f} s",
        f"x{ours / theirs:.1f}",
        "",
        True,
    )


def _rich(document: str, ours: float, count: int) -> List[Row]:
    """Against rich, where that is installed: one pass, and Live at 10 Hz of 100 chunks a second.

    Live draws all that there is at each refresh; that is summed up from a few prefixes.
    """
    try:
        console = importlib.import_module("rich.console")
        markdown = importlib.import_module("rich.markdown")
    except ImportError:
        return []

    def draw(text: str) -> None:
        terminal = console.Console(
            file=io.StringIO(), force_terminal=True, width=COLUMNS, color_system="truecolor"
        )
        terminal.print(markdown.Markdown(text))

    once = _best(lambda: draw(document), count)
    refreshes = len(document) / CHUNK / LIVE_CHUNKS_PER_S * LIVE_HZ
    prefixes = [document[: len(document) * n // _LIVE_SAMPLES] for n in range(1, _LIVE_SAMPLES)]
    live = (
        refreshes
        * sum(_best(functools.partial(draw, text), 1) for text in prefixes)
        / len(prefixes)
    )
    what = f"draw {SIZE // 1000} kB in {CHUNK}-character chunks, CPU"
    return [
        Row(
            what,
            f"{ours:.2f} s",
            f"rich.Markdown, the whole once {once:.2f} s",
            f"x{ours / once:.2f}",
            f"x{RICH_TARGET}",
            ours / once <= RICH_TARGET,
        ),
        Row(
            what,
            f"{ours:.2f} s",
            f"rich Live(Markdown) at {LIVE_HZ} Hz about {live:.0f} s",
            f"x{ours / live:.4f}",
            f"x{LIVE_TARGET}",
            ours / live <= LIVE_TARGET,
        ),
    ]


def _growth(name: str, text: Callable[[int], str], count: int) -> Row:
    one = _best(lambda: _stream(text(SIZE)), count)
    two = _best(lambda: _stream(text(2 * SIZE)), count)
    return Row(
        f"{name}, {2 * SIZE // 1000} kB, CPU",
        f"{two:.2f} s",
        f"the half of it {one:.2f} s",
        f"x{two / one:.2f}",
        f"x{GROWTH_TARGET}",
        two / one <= GROWTH_TARGET,
    )


class _Reader(threading.Thread):
    """Reads stamps from another process; ``late`` says how late each is in hand, in ms."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(name="bench-reader")
        self._descriptor = descriptor
        self.late: List[float] = []

    def run(self) -> None:
        """Read to the end."""
        while True:
            data = os.read(self._descriptor, 4096)
            now = time.monotonic_ns()
            if not data:
                return
            self.late += [(now - int(line)) / 1e6 for line in data.split()]


def _latency(document: str, environ: Dict[str, str]) -> Row:
    """How late another thread reads while this one draws without a pause."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)  # as a turn does
    try:
        idle = _reads(None, environ)
        busy = _reads(document, environ)
    finally:
        sys.setswitchinterval(interval)
    added = median(busy) - median(idle)
    return Row(
        "latency that drawing adds to a reading thread",
        f"{added:.2f} ms",
        f"idle {median(idle):.2f} ms",
        "",
        f"{LATENCY_TARGET_MS} ms",
        added <= LATENCY_TARGET_MS,
    )


def _reads(document: Optional[str], environ: Dict[str, str]) -> List[float]:
    argv = [sys.executable, "-c", _SENDER.format(_STAMPS)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=environ) as sender:
        assert sender.stdout is not None
        reader = _Reader(sender.stdout.fileno())
        reader.start()
        while document is not None and reader.is_alive():
            _stream(document[: SIZE // 10])
        reader.join()
    if len(reader.late) != _STAMPS:
        raise Failed(f"{len(reader.late)} of {_STAMPS} stamps came")
    return reader.late
