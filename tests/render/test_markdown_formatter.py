"""What an answer looks like on a terminal, and when each piece of it is shown."""

import io

import pytest
from wcwidth import wcswidth

from jpq.render.markdown.formatter import HELD_S, MarkdownFormatter
from jpq.render.markdown.held import HELD_BOUND
from jpq.render.theme import TRUE_COLOURS, Look

PLAIN = Look()
COLOURS = Look(16)
LINKS = Look(16, links=True)


def shown(text, columns=80, look=PLAIN):
    formatter = MarkdownFormatter(look, lambda: columns)
    return formatter.feed(text) + formatter.close()


class Terminal:
    """A formatter whose time is told."""

    def __init__(self, columns=80, look=PLAIN):
        self.now = 0.0
        self.formatter = MarkdownFormatter(look, lambda: columns, clock=lambda: self.now)
        self.feed = self.formatter.feed
        self.close = self.formatter.close

    def wait(self, seconds):
        """What time alone shows."""
        seen = ""
        end = self.now + seconds
        while True:
            due = self.formatter.tick()
            if due is None or self.now + due > end:
                self.now = end
                return seen
            self.now += due
            if self.formatter.tick() == 0.0:
                seen += self.formatter.release()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\nb", "a b\n", id="lines join"),
        pytest.param("a  \nb\\\nc", "a\nb\nc\n", id="hard breaks"),
        pytest.param("a\n\n\n\nb", "a\n\nb\n", id="paragraphs"),
        pytest.param("# A\nb", "# A\n\nb\n", id="heading"),
        pytest.param("A\n=\nb", "A\n" + "\u2550" * 72 + "\n\nb\n", id="underlined heading"),
        pytest.param("**a** *b* ~~c~~ `d`", "a b c `d`\n", id="styles"),
        pytest.param("- a\n- b\n  - c\n- d", "• a\n• b\n  ◦ c\n• d\n", id="dense list"),
        pytest.param("- a\n\n- b", "• a\n\n• b\n", id="loose list"),
        pytest.param("9. a\n1. b", "9. a\n10. b\n", id="numbers count"),
        pytest.param("a\n- b\n\nc", "a\n\n• b\n\nc\n", id="list after text"),
        pytest.param("- \n- a", "•\n• a\n", id="empty item"),
        pytest.param("- [ ] a\n- [x] b", "• ☐ a\n• ☑ b\n", id="tasks"),
        pytest.param("> a\n> > b", "│ a\n│\n│ │ b\n", id="quotes"),
        pytest.param("1. > a\n   > b", "1. │ a b\n", id="quote in item"),
        pytest.param("- a\n\n  b", "• a\n\n  b\n", id="two paragraphs in an item"),
        pytest.param("***\na", "\u2500" * 72 + "\n\na\n", id="rule"),
        pytest.param("![cat](c.png)", "cat (c.png)\n", id="image"),
        pytest.param("[a](http://b)", "a (http://b)\n", id="link"),
        pytest.param("<http://b> [http://c](http://c)", "http://b http://c\n", id="bare links"),
        pytest.param("<a@b.c>", "a@b.c\n", id="mail"),
        pytest.param("a Vec<T> <b>c</b>", "a Vec<T> <b>c</b>\n", id="inline HTML"),
        pytest.param("<div>\n*a*\n</div>", "<div>\n*a*\n</div>\n", id="HTML"),
        pytest.param("a[^1]\n\n[^1]: note", "a[^1]\n\n[^1]: note\n", id="footnote"),
        pytest.param("    x\n\n    y", "```\nx\n\ny\n```\n", id="indented code"),
        pytest.param("a_b_c 2 * 3 * 4 *", "a_b_c 2 * 3 * 4 *\n", id="marks that mean nothing"),
        pytest.param("> " * 50 + "a", None, id="deep"),
        pytest.param("", "", id="nothing"),
        pytest.param("\n\n", "", id="blank lines only"),
        pytest.param("[a]: http://b", "", id="definitions only"),
    ],
)
def test_blocks(text, expected):
    seen = shown(text)
    if expected is None:
        assert all(len(line) <= 80 for line in seen.split("\n"))
    else:
        assert seen == expected


def test_ascii_marks():
    text = "- a\n- [x] b\n\n> c\n\n---\n\n| d | e |\n|---|---|\n| f | g |"
    seen = shown(text, look=Look(encoding="ascii"))
    assert seen.isascii()
    assert seen.startswith("* a\n* [x] b\n\n| c\n\n" + "-" * 72 + "\n\nd | e\n--+--\nf | g\n")


def test_signs_that_ascii_lacks():
    seen = shown(
        "\u201cIt\u2019s\u201d \u2014 a \u2192 b\u2026 \u00e9", look=Look(encoding="ascii")
    )
    assert seen == '"It\'s" -- a -> b... ?\n'


def test_styles_are_set_and_reset_within_the_line():
    seen = shown("# T\n\n**a *b*** `c`\n\n> **d\n> e**", look=COLOURS)
    assert seen == (
        "\x1b[1;4;36mT\x1b[0m\n\n"
        "\x1b[1ma \x1b[0m\x1b[1;3mb\x1b[0m \x1b[33mc\x1b[0m\n\n"
        "\x1b[2m│ \x1b[0m\x1b[1md\x1b[0m \x1b[1me\x1b[0m\n"
    )


@pytest.mark.parametrize(
    ("look", "sequence"),
    [
        (Look(16), "\x1b[33m"),
        (Look(16, light=True), "\x1b[35m"),
        (Look(256), "\x1b[38;5;180m"),
        (Look(TRUE_COLOURS), "\x1b[38;2;229;192;123m"),
        (Look(TRUE_COLOURS, light=True), "\x1b[38;2;152;104;1m"),
    ],
)
def test_colours_suit_the_terminal(look, sequence):
    assert shown("`a`", look=look) == f"{sequence}a\x1b[0m\n"


# Links.


def test_a_link_to_click_on():
    seen = shown("see [a *b*](http://x/y) .", look=LINKS)
    begin, end = "\x1b]8;;http://x/y\x1b\\", "\x1b]8;;\x1b\\"
    assert seen == (f"see \x1b[4;36m{begin}a \x1b[0m\x1b[3;4;36mb{end}\x1b[0m .\n")


def test_a_link_over_two_lines_is_one_link_each():
    seen = shown("[aaa bbb](http://x)", columns=4, look=LINKS)
    assert seen.count("\x1b]8;;http://x\x1b\\") == seen.count("\x1b]8;;\x1b\\") == 2


@pytest.mark.parametrize("address", ["/relative", "#part", "ssh://x", "x" * 300])
def test_other_addresses_are_written_out(address):
    assert f" ({address})" in shown(f"[a]({address})", None, LINKS).replace("\x1b[2m", "").replace(
        "\x1b[0m", ""
    )


def test_a_reference_waits_for_its_definition_a_little():
    terminal = Terminal()
    assert terminal.feed("see [it][1] there.\n\nMore.\n\n") == "see"
    assert terminal.feed("[1]: http://x\n") + terminal.close() == " it (http://x) there.\n\nMore.\n"


def test_a_definition_that_comes_late_is_shown():
    terminal = Terminal()
    late = "w " * HELD_BOUND
    seen = terminal.feed(f"[it][1] {late}\n\n[two]\n\n[1]: http://x\n[2]: http://y\n")
    seen += terminal.close()
    assert seen.startswith("[it][1] w w") and "[two]\n" in seen
    assert seen.endswith("\n[1]: http://x\n")


def test_after_a_wait_in_vain_nothing_waits_again():
    terminal = Terminal()
    assert terminal.feed("a[0] ") == "a"
    assert terminal.wait(HELD_S) == "[0]"
    assert terminal.feed("and b[1] too") == " and b[1] too"


# Code.


CODE = "\tdef f():\n\n\t\treturn '''a\n  b''' # \u4e2d\n" + "x" * 500 + "\n}  \n"


@pytest.mark.parametrize(
    "language", ["", "python", "c", "html", "console", "php", "no-such", "diff"]
)
@pytest.mark.parametrize("columns", [None, 20])
def test_code_is_exact_and_never_wrapped(language, columns):
    seen = shown(f"```{language}\n{CODE}```\nafter", columns)
    assert seen == f"```{language}\n{CODE}```\n\nafter\n"
    coloured = shown(f"```{language}\n{CODE}```", columns, COLOURS)
    assert without_styles(coloured) == f"```{language}\n{CODE}```\n"


def without_styles(text):
    parts = text.split("\x1b[")
    return parts[0] + "".join(part.partition("m")[2] for part in parts[1:])


def test_code_is_coloured_by_its_language():
    seen = shown("```python\nif x:  # y\n```", look=COLOURS)
    assert "\x1b[35mif\x1b[0m x:  \x1b[3;2m# y\x1b[0m\n" in seen


def test_a_string_over_lines_keeps_its_colour():
    seen = shown('```python\na = """b\nif\n"""\n```', look=COLOURS)
    assert "\x1b[32mif\x1b[0m\n" in seen


def test_code_in_a_list_is_indented_with_it():
    assert shown("- a\n  ```\n  b\n\n    c\n  ```\n- d") == "• a\n  ```\n  b\n\n    c\n  ```\n• d\n"


def test_a_fence_within_a_longer_fence():
    text = "````\n```\n~~~\n````\n*a*"
    assert shown(text) == "````\n```\n~~~\n````\n\na\n"


def test_code_comes_line_by_line():
    terminal = Terminal()
    terminal.feed("```\n")
    assert terminal.feed("one\ntwo") == "one\n"
    assert terminal.feed("\n``") == "two\n"
    assert terminal.feed("`\n") == "```\n"


def test_a_slow_line_of_code_is_shown_before_its_end():
    terminal = Terminal()
    terminal.feed("```\n")
    assert terminal.feed("one ") == ""
    assert terminal.wait(HELD_S) == "one "
    assert terminal.feed("two") == ""
    assert terminal.wait(HELD_S) == "two"
    assert terminal.feed("\n```\n") == "\n```\n"


# Tables.


TABLE = """\
| Name | \u4f4d\u7f6e | n |
|:-----|:---:|--:|
| a\u00e9 | \u4e2d\u6587 | 1 |
| **bb** | \U0001f600 | 1000 |
| `c\\|d` |
"""


def test_columns_are_aligned_whatever_is_in_them():
    lines = shown(TABLE).rstrip("\n").split("\n")
    assert lines == [
        "Name  │ 位置 │    n",
        "──────┼──────┼─────",
        "aé    │ 中文 │    1",
        "bb    │  😀  │ 1000",
        "`c|d` │      │     ",
    ]
    assert len({wcswidth(line) for line in lines}) == 1


def test_cells_wrap_in_a_narrow_terminal():
    text = "| a | b |\n|---|---|\n| x | one two three four |\n"
    assert shown(text, 20) == (
        "a │ b\n"
        "──┼─────────────────\n"
        "x │ one two three\n"
        "  │ four\n"
    )  # fmt: skip


def test_a_table_too_wide_for_the_terminal_is_a_list():
    text = "| a | b | c |\n|---|---|---|\n| long word | other | third |\n"
    assert shown(text, 12) == "a: long word\nb: other\nc: third\n───\n"
    assert shown(text, 8) == "a: long\nword\nb: other\nc: third\n───\n"


def test_a_table_in_a_locale_that_lacks_its_letters():
    lines = shown(TABLE, look=Look(encoding="ascii")).rstrip("\n").split("\n")
    assert lines[0] == "Name  | ?? |    n"
    assert len(set(map(len, lines))) == 1


def test_rows_after_the_first_ones_come_at_once():
    terminal = Terminal()
    assert terminal.feed("| a | b |\n|---|---|\n" + "| x | y |\n" * 11) == ""
    assert terminal.feed("| x | y |\n").count("\n") == 14
    assert terminal.feed("| y | z |\n") == "y │ z\n"


def test_a_table_waits_no_longer_than_its_time():
    terminal = Terminal()
    assert terminal.feed("| a | b |\n|---|---|\n| x | y |\n") == ""
    assert terminal.wait(HELD_S) == "a │ b\n──┼──\nx │ y\n"
    assert terminal.feed("| z | w |\n") == "z │ w\n"


def test_bars_without_a_table():
    assert shown("| a | b |\nc") == "| a | b | c\n"
    assert shown("a | b\nc | d") == "a | b c | d\n"


# Lines.


PROSE = "The quick brown fox jumps over the lazy dog, again and again. " * 20


@pytest.mark.parametrize("columns", [8, 20, 40, 80, 200])
def test_lines_fit_and_no_word_is_lost(columns):
    lines = shown(PROSE, columns).rstrip("\n").split("\n")
    assert max(map(len, lines)) <= columns
    assert " ".join(lines).split() == PROSE.split()
    assert all(len(a) + 1 + len(b.split()[0]) > columns for a, b in zip(lines, lines[1:]))


def test_wrap_off_leaves_the_lines_to_the_terminal():
    assert shown(PROSE, None) == PROSE.strip() + "\n"


def test_wide_characters_count_two_and_lines_end_between_them():
    lines = shown("\u4e2d\u6587\u5b57\u7b26\u3002" * 10, 11).rstrip("\n").split("\n")
    assert max(map(wcswidth, lines)) <= 12  # a full stop may hang
    assert not any(line.startswith("\u3002") for line in lines)


def test_a_word_longer_than_the_line_is_not_broken():
    url = "https://example.com/" + "x" * 60
    assert shown(f"see {url} there", 30) == f"see\n{url}\nthere\n"


def test_a_resize_counts_from_the_next_line():
    columns = [20]
    formatter = MarkdownFormatter(PLAIN, lambda: columns[0])
    seen = formatter.feed("one two three four five ")
    columns[0] = 10
    seen += formatter.feed("six seven eight nine") + formatter.close()
    assert seen == "one two three four\nfive six seven eight\nnine\n"


# When things are shown.


def test_plain_text_is_shown_at_once():
    terminal = Terminal()
    for char in "Hello":
        assert terminal.feed(char) == char
    assert terminal.feed(" ") == ""
    assert terminal.feed("y") == " y"


def test_near_the_edge_a_word_waits_for_its_end():
    terminal = Terminal(columns=20)
    assert terminal.feed("aaaa bbbb ccc") == "aaaa bbbb"
    assert terminal.feed("c ") == " cccc"
    assert terminal.feed("ddddd") == ""
    assert terminal.feed("d") == "\ndddddd"
    assert terminal.feed("d e") == "d"
    assert terminal.wait(HELD_S) == " e"


@pytest.mark.parametrize(
    ("held", "decides", "then"),
    [
        ("**bol", "d** ", "bold"),
        ("`co", "de` ", "`code`"),
        ("[li", "nk](/u)", "link (/u)"),
        ("&am", "p;", "&"),
        ("*", " ", "*"),
        ("<b", "> ", "<b>"),
        ("a\\", "* ", "*"),
        ("!", "x ", "!x"),
        ("~~", "x~~ ", "x"),
    ],
)
def test_what_may_mean_something_waits_until_it_is_decided(held, decides, then):
    terminal = Terminal()
    assert terminal.feed("so ") == "so"
    terminal.feed(held)
    assert terminal.feed(decides).lstrip().startswith(then)


def test_a_mark_without_a_partner_is_text_after_so_many_characters():
    terminal = Terminal()
    seen = terminal.feed("see ") + terminal.feed("*args ")
    assert seen == "see"
    for _ in range(HELD_BOUND // 5 + 1):
        seen += terminal.feed("word ")
    assert seen.startswith("see *args word")


def test_a_mark_without_a_partner_is_text_after_so_much_time():
    terminal = Terminal()
    assert terminal.feed("see *args and") == "see"
    assert terminal.wait(HELD_S - 0.01) == ""
    assert terminal.wait(0.01) == " *args and"
    assert terminal.formatter.tick() is None


@pytest.mark.parametrize(
    "text", ["- ", "1", "```py", "[a]: ", "| a |", "#", "***", "> ", "*", "a "]
)
def test_what_time_cannot_tell_is_not_asked_again_and_again(text):
    terminal = Terminal()
    terminal.feed(text)
    terminal.wait(HELD_S)
    assert terminal.formatter.tick() is None
    terminal.feed("x")
    terminal.wait(HELD_S)
    assert terminal.formatter.tick() is None


def test_little_is_held_in_a_slow_answer():
    """50 characters a second: half of the letters are shown at once, none is late."""
    text = "Slow answers are made of **words** and `code`, of *this* and [that](/x). " * 12
    delays = sorted(measure_delays(text))
    assert len(delays) > 500
    assert delays[len(delays) // 2] < 0.060
    assert delays[-1] <= 2 * HELD_S


def measure_delays(text):
    """Seconds from the arrival of each letter to its display."""
    terminal = Terminal(columns=80)
    delays, waiting = [], []
    for char in text:
        terminal.now += 0.02
        if char.isalnum():
            waiting.append((char, terminal.now))
        for shown_char in terminal.feed(char) + terminal.wait(0):
            if waiting and shown_char == waiting[0][0]:
                delays.append(terminal.now - waiting.pop(0)[1])
    return delays


def test_others_may_write_within_a_line():
    terminal = Terminal(look=COLOURS)
    assert terminal.feed("# Title goes") == "\x1b[1;4;36mTitle goes"
    assert terminal.formatter.suspend() == "\x1b[0m"
    terminal.formatter.line_ended()
    assert terminal.feed(" on") == "\x1b[1;4;36mon"
    assert terminal.close() == "\x1b[0m\n"


def test_a_line_that_others_ended_is_not_ended_twice():
    terminal = Terminal()
    terminal.feed("text")
    terminal.formatter.suspend()
    terminal.formatter.line_ended()
    assert terminal.close() == ""


def test_visualize_shows_what_is_taken_out():
    formatter = MarkdownFormatter(PLAIN, lambda: 80, "visualize")
    assert formatter.feed("a\x1b[2J") + formatter.close() == "a\u241b[2J\n"


def test_long_lines_that_tell_only_at_their_end_do_not_wait_for_it():
    for start in ("|", "<", "```", "[a]:", "-" * 10):
        terminal = Terminal(columns=None)
        seen = ""
        for _ in range(3000):
            seen += terminal.feed(start[-1] + "x")
        assert len(seen) > 1000, start
        assert len(seen + terminal.close()) >= 6000


def test_output_is_not_much_longer_than_the_text():
    text = PROSE + "\n\n"
    assert len(shown(text * 10, 80, Look(TRUE_COLOURS)).encode()) <= 2 * len(text * 10)


def test_a_stream_can_be_written_piece_by_piece():
    out = io.StringIO()
    formatter = MarkdownFormatter(PLAIN, lambda: 80)
    for piece in ("# He", "llo\n\nwor", "ld"):
        out.write(formatter.feed(piece))
    out.write(formatter.close())
    assert out.getvalue() == "# Hello\n\nworld\n"
