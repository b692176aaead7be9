"""docs/rendering.md shows screens as they are, taken with tmux; ``JPQ_TEST_UPDATE_DOCS=1``
takes them anew."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple

import pytest

from tests.support.marked_parts import HOW, marked_part, up_to_date
from tests.support.ptys import ROOT
from tests.support.screen import HAS_TMUX, screen

PAGE, PART = "rendering.md", "screens"
SAMPLE = """\
# Lists and tables

Answers are drawn **as they arrive**, each *word* once. Run `jpq render FILE`, or see
the [manual](https://example.com/manual).

1. Wide text counts two columns: 你好，世界。这是一个测试。
   - emoji too: 🎉 ✅ 👩‍💻
   - [x] done
   - [ ] to do

| Name | 位置 | Mark | Count |
| :--- | :---: | :---: | ---: |
| alpha | 东京 | 🎉 | 12 |
| a much longer name | 北京市 | ✅ | 3400 |

> A quotation is long enough to be wrapped in a narrow terminal.

```python
def greet(name):
    return f"hello {name}"  # code is never wrapped
```

The end.
"""


class Shot(NamedTuple):
    """A screen of the page: its title, its size and what its environment has."""

    title: str
    columns: int
    rows: int
    environ: Dict[str, str]
    styles: bool = False


SHOTS = (
    Shot("12 lines of 40 columns", 40, 12, {}),
    Shot("24 lines of 80 columns", 80, 24, {}),
    Shot("50 lines of 200 columns", 200, 50, {}),
    Shot("`NO_COLOR=1`", 80, 24, {"NO_COLOR": "1"}),
    Shot("`TERM=dumb`", 80, 24, {"TERM": "dumb"}),
    Shot("ASCII only (`LC_ALL=C PYTHONUTF8=0`)", 60, 24, {"LC_ALL": "C", "PYTHONUTF8": "0"}),
    Shot(
        "16 colours (`TERM=xterm`), with `\\e` for the escape character",
        80,
        24,
        {"TERM": "xterm"},
        styles=True,
    ),
)


def taken(shot: Shot, folder: str) -> str:
    """What the screen shows, scrolled up to the beginning."""
    path = os.path.join(folder, "sample.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SAMPLE)
    environ = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": ROOT}
    environ = {**environ, "LANG": "C.UTF-8", "TERM": "xterm-256color", **shot.environ}
    command = [sys.executable, "-m", "jpq", "render", path]
    with screen(command, environ, columns=shot.columns, rows=shot.rows) as shown:
        shown.wait_for("The end.")
        text = shown.text(styles=shot.styles, history=True)
    return text.replace("\x1b", "\\e")


def page_part(shots: List[str]) -> str:
    parts = [f"{shot.title}:\n\n````text\n{text}\n````\n" for shot, text in zip(SHOTS, shots)]
    return "\n" + "\n".join(parts)


@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_the_page_shows_screens_as_they_are(tmp_path: Path) -> None:
    current = page_part([taken(shot, str(tmp_path)) for shot in SHOTS])
    assert up_to_date(PAGE, PART, current) == current, HOW


def test_no_control_sequence_is_in_the_plain_screens() -> None:
    """The part of the page is text: what is not asked for with styles has none."""
    part = marked_part(PAGE, PART)
    blocks = re.findall(r"^([^\n]+):\n\n````text\n(.*?)^````$", part, re.MULTILINE | re.DOTALL)
    assert [title for title, _ in blocks] == [shot.title for shot in SHOTS]
    for (_, text), shot in zip(blocks, SHOTS):
        assert ("\\e[" in text) == shot.styles
