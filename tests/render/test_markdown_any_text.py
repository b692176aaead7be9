"""Whatever a text is: how it is cut makes no difference, and no control sequence gets through."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpq.render.markdown.formatter import MarkdownFormatter
from jpq.render.theme import TRUE_COLOURS, Look

# What Markdown is made of, so that random texts are full of it.
PARTS = [
    *"*_`~[]()!<>&\\|#+-=:\"'1a. \n\t",
    "\n\n", "  \n", "word ", "a b", "**", "__", "```\n", "~~~", "~~", "> ", "- ", "1. ", "    ",
    "# ", "---\n", "===\n", "| a | b |\n", "|---|:-:|\n", "[a]", "[a]: /u\n", "](/u)", "![", "<b>",
    "<div>\n", "<!-- ", "-->", "<http://a.b>", "&amp;", "&#27;", "&#x202e;", "\u4e2d\u6587",
    "\U0001f600", "e\u0301", "\u200d", "- [ ] ", "[^1]", "```python\n", "'''", "/*",
]  # fmt: skip
HOSTILE = [
    "\x1b", "\x1b[31m", "\x1b[2J", "\x1b]0;t\x07", "\x1b]8;;http://x\x1b\\", "\x1bP", "\x1b\\",
    "\x9b2J", "\x9d0;t\x9c", "\x90", "\x07", "\x08", "\x7f", "\x00", "\r", "\x0b", "\x0c", "\x85",
    "\u202e", "\u2066", "\ud83d", "\udc00", "\x1b(0", "\x1bc", "\x1b[?1049h", "\x1b[8m",
]  # fmt: skip

TEXTS = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)
HOSTILE_TEXTS = st.lists(st.sampled_from(PARTS + HOSTILE), max_size=60).map("".join)
LOOKS = st.builds(
    Look,
    st.sampled_from([0, 16, 256, TRUE_COLOURS]),
    links=st.booleans(),
    encoding=st.sampled_from(["utf-8", "ascii", "cp437"]),
)
COLUMNS = st.sampled_from([None, 1, 4, 12, 40, 80])

# What may leave for the terminal besides text: our styles and our links.
ALLOWED = re.compile(r"\x1b\[[0-9;]+m|\x1b\]8;;[ -~]*\x1b\\")
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def shown(text, cuts, columns, look, sanitize="strip"):
    formatter = MarkdownFormatter(look, lambda: columns, sanitize)
    pieces, start = [], 0
    for cut in [*sorted(cuts), len(text)]:
        pieces.append(formatter.feed(text[start:cut]))
        start = cut
    return "".join([*pieces, formatter.close()])


def assert_harmless(seen):
    for link in re.findall(r"\x1b\]8;;([^\x1b]*)", seen):
        assert not link or link.startswith(("http://", "https://", "mailto:", "ftp://"))
    assert not CONTROLS.search(ALLOWED.sub("", seen))
    assert "\x1b[8m" not in seen  # hidden text


@settings(deadline=None, max_examples=150)
@given(TEXTS, st.lists(st.integers(0, 200), max_size=6), COLUMNS, LOOKS)
def test_cuts_make_no_difference(text, cuts, columns, look):
    whole = shown(text, [], columns, look)
    assert shown(text, [cut for cut in cuts if cut < len(text)], columns, look) == whole
    assert shown(text, range(1, len(text)), columns, look) == whole


@settings(deadline=None, max_examples=150)
@given(HOSTILE_TEXTS, COLUMNS, LOOKS, st.sampled_from(["strip", "visualize"]))
def test_no_control_sequence_but_ours_gets_through(text, columns, look, mode):
    whole = shown(text, [], columns, look, mode)
    assert_harmless(whole)
    assert shown(text, range(1, len(text)), columns, look, mode) == whole


@pytest.mark.parametrize("hidden", HOSTILE + ["&#27;[2J", "&#x9b;2J", "&#8238;"])
@pytest.mark.parametrize(
    "place",
    [
        "a{}b",
        "**a{}b**",
        "`a{}b`",
        "[a{}b](http://x/{}y)",
        "<http://x/{}y>",
        "![a{}](http://x/{})",
        "# a{}b",
        "```{}\na{}b\n```",
        "```python\nx = '{}'\n```",
        "| a{}b |\n|---|\n| {} |\n",
        "<b {}>",
        "<div>\n{}\n",
        "[a]: http://x/{}\n\n[a]",
        "&{}amp;",
        "- {}\n  > {}",
    ],
)
def test_hidden_in_markdown(place, hidden):
    text = place.replace("{}", hidden)
    look = Look(TRUE_COLOURS, links=True)
    whole = shown(text, [], 40, look)
    assert_harmless(whole)
    for cut in range(1, len(text)):
        assert shown(text, [cut], 40, look) == whole


@settings(deadline=None, max_examples=100)
@given(TEXTS, st.lists(st.integers(0, 200), max_size=6))
def test_time_loses_nothing(text, cuts):
    """Whatever is released early: the same letters are shown."""
    formatter = MarkdownFormatter(Look(), lambda: None)
    seen, start = "", 0
    for cut in [*sorted(cut for cut in cuts if cut < len(text)), len(text)]:
        seen += formatter.feed(text[start:cut])
        start = cut
        if formatter.tick() is not None:
            seen += formatter.release()
    seen += formatter.close()
    for letters in "w\u4e2d\U0001f600":
        assert seen.count(letters) >= shown(text, [], None, Look()).count(letters)
