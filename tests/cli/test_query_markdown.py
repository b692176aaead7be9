"""An answer in Markdown, on a terminal and on a pipe."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any, Dict, List

import pytest

from tests.support import programs, ptys
from tests.support.server import Server, answer

TEXT = "# Title\n\nSome **bold** words, `code` and a [link](http://x).\n\n```python\nif x:\n```\n"


def on_terminal(folder: Any, *options: str, text: str = TEXT, **variables: str) -> str:
    """What is seen on a terminal that is all three channels, without the spinner."""
    inherited = {"PATH": os.environ["PATH"], "NO_PROXY": "*"}
    environ = {**ptys.environment(str(folder), inherited), **variables}
    with Server(answer(text)) as server:
        argv = ptys.jpq(*programs.model_at(server), "-q", *options, "hi")
        with ptys.Child(argv, environ, str(folder), terminal=True) as child:
            child.wait_for(b"\n")
            assert child.end() == 0
    return re.sub(r"\r\x1b\[K[^\n]*?(?=\r\x1b\[K)|\r\x1b\[K", "", child.output.decode()).replace(
        "\r\n", "\n"
    )


def test_a_terminal_has_it_drawn(tmp_path: Any) -> None:
    assert on_terminal(tmp_path) == (
        "\x1b[1;4;36mTitle\x1b[0m\n\n"
        "Some \x1b[1mbold\x1b[0m words, \x1b[33mcode\x1b[0m and a "
        "\x1b[4;36mlink\x1b[0m\x1b[2m (http://x)\x1b[0m.\n\n"
        "\x1b[2m```python\x1b[0m\n\x1b[35mif\x1b[0m x:\n\x1b[2m```\x1b[0m\n"
    )


@pytest.mark.parametrize(
    ("variables", "colours"),
    [
        ({"TERM": "xterm-256color"}, "\x1b[38;5;180m"),
        ({"COLORTERM": "truecolor"}, "\x1b[38;2;229;192;123m"),
        ({"COLORTERM": "truecolor", "COLORFGBG": "0;15"}, "\x1b[38;2;152;104;1m"),
        ({"NO_COLOR": "1"}, None),
        ({"TERM": "dumb"}, None),
    ],
)
def test_colours(tmp_path: Any, variables: Dict[str, str], colours: str) -> None:
    seen = on_terminal(tmp_path, **variables)
    assert (colours in seen) if colours else ("\x1b" not in seen)


def test_a_dumb_terminal_has_the_text_itself(tmp_path: Any) -> None:
    assert on_terminal(tmp_path, TERM="dumb") == TEXT


def test_no_colour_still_has_it_laid_out(tmp_path: Any) -> None:
    seen = on_terminal(tmp_path, NO_COLOR="1")
    assert seen.startswith("# Title\n\nSome bold words, `code` and a link (http://x).\n")


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (("--wrap", "10"), ["aaa bbb", "ccc ddd", "eee"]),
        (("--wrap", "off"), ["aaa bbb ccc ddd eee"]),
        (("--wrap", "auto"), ["aaa bbb ccc", "ddd eee"]),
    ],
)
def test_wrap(tmp_path: Any, options: List[str], lines: List[str]) -> None:
    seen = on_terminal(tmp_path, *options, text="aaa bbb ccc ddd eee", COLUMNS="12")
    assert seen.split("\n") == [*lines, ""]


@pytest.mark.parametrize("wrap", ["0", "wide", "-3"])
def test_a_wrong_wrap(wrap: str) -> None:
    programs.jpq("--wrap=" + wrap, "hi").failed_with(2, "wrap")


def test_typing_at_leisure(tmp_path: Any) -> None:
    seen = on_terminal(tmp_path, "--set", "style.typewriter_ms=2")
    assert seen == on_terminal(tmp_path)


def test_a_pipe_has_it_byte_for_byte_and_loads_no_parser(tmp_path: Any) -> None:
    with Server(answer(TEXT)) as server:
        ran = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "jpq", *programs.model_at(server), "hi"],
            env=programs.environment(JPQ_HOME=str(tmp_path)),
            cwd=programs.ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=programs.WAIT_S,
        )
    assert ran.stdout.decode() == TEXT
    loaded = {line.rpartition(b"|")[2].strip() for line in ran.stderr.split(b"\n")}
    assert b"jpq.render.chat" in loaded
    assert not loaded & {b"markdown_it", b"pygments", b"wcwidth", b"jpq.render.markdown.formatter"}
