"""The work that an answer takes grows with its length and with nothing else."""

import sys
import time

import pytest

from jpq.render.markdown.formatter import MarkdownFormatter
from jpq.render.theme import Look

SIZE = 1500

# A head and what is repeated after it.
TEXTS = {
    "words": ("", "word and "),
    "paragraphs": ("", "word *and* `code`\n\n"),
    "list": ("", "- item **bold**\n"),
    "numbers": ("", "1. item\n"),
    "quote": ("", "> line\n"),
    "lazy quote": ("> a\n", "line\n"),
    "table": ("|a|b|\n|-|-|\n", "|c|d|\n"),
    "columns": ("", "|a"),
    "fence": ("```\n", "line\n"),
    "python": ("```python\n", "x = f(1)\n"),
    "one line of code": ("```\n", "x+"),
    "indented code": ("", "    line\n"),
    "blank lines of code": ("    a\n", "\n"),
    "HTML": ("<div>\n", "line\n"),
    "comment": ("<!--", "-"),
    "definitions": ("", "[a]: /u\n"),
    "a label": ("[", "a"),
    "references": ("", "[a][b] "),
    "brackets": ("", "["),
    "addresses": ("[a](", "("),
    "titles": ('[a](b "', "x"),
    "stars": ("", "*a "),
    "stars that close": ("", "**a* b* "),
    "underscores": ("", "_a"),
    "ticks": ("", "` `` ``` "),
    "angles": ("", "<a "),
    "entities": ("", "&a"),
    "backslashes": ("", "\\"),
    "blanks": ("a", " "),
    "blanks at the start": ("", " "),
    "marks of a heading": ("# ", "#"),
    "marks in a heading": ("# a", " #"),
    "quotes in quotes": ("", "> "),
    "dashes": ("", "- - - x\n"),
    "wide": ("", "\u4e2d"),
    "joined": ("", "\U0001f600\u200d"),
    "escapes": ("", "\x1b[31ma"),
}


def calls(text):
    """How many functions are called, Python's and C's, to draw ``text`` in small pieces."""
    count = 0

    def counting(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    formatter = MarkdownFormatter(Look(16), lambda: 80)
    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        for at in range(0, len(text), 3):
            formatter.feed(text[at : at + 3])
        formatter.close()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", TEXTS)
def test_work_is_linear(name):
    head, unit = TEXTS[name]
    calls(head + unit)  # what is loaded on demand
    once, twice = (head + unit * (size // len(unit)) for size in (SIZE, 2 * SIZE))
    assert calls(twice) < 2.5 * calls(once)


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_is_slow(name):
    """What calls do not count: long searches and copies. The bound is coarse."""
    head, unit = TEXTS[name]
    text = head + unit * (30_000 // len(unit))
    formatter = MarkdownFormatter(Look(16), lambda: 80)
    start = time.thread_time()
    for at in range(0, len(text), 16):
        formatter.feed(text[at : at + 16])
    formatter.close()
    assert time.thread_time() - start < 4.0
