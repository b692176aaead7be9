"""No control sequence survives, however it is cut."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.render.sanitize import SEQUENCE_LIMIT, STRIP, VISUALIZE, Sanitizer, sanitize

FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]",
)

HOSTILE = st.text(
    alphabet=st.one_of(
        st.sampled_from("\x1b\x9b\x9d\x90\x98\x9e\x9f\x9c\x07\x18\x1a\\[]PX^_;?0m hHq\n\t\r\x00"),
        st.sampled_from("\u202e\u2066\u2069\ud83d\ude00\udc00é字"),
        st.characters(),
    ),
    max_size=60,
)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain\n\ttext é 字 😀", "plain\n\ttext é 字 😀"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("a\x9b1;2Hb", "ab"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]52;c;cGF5\x1b\\b", "ab"),
        ("a\x9d8;;http://x\x9cb", "ab"),
        ("a\x1bPq#0;2\x1b\\b\x1b_app\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e", "abcde"),
        ("a\x90dcs\x9cb\x9fapc\x9cc\x9epm\x9cd\x98sos\x9ce", "abcde"),
        ("a\x1bcb\x1b(0c\x1b#8d", "abcd"),
        ("a\x1b\x1b[2Jb", "ab"),
        ("one\r\ntwo\rthree\x08\x07", "one\ntwothree"),
        ("a\x7fb\x85c", "abc"),
        ("ad\u202emin\u2066x\u2069", "adminx"),
        ("\ud83d\ude00 \ud83d \ude00", "😀 \ufffd \ufffd"),
        ("a\x1b]0;never ended\nb", "a\nb"),
        ("a\x1b[12", "a"),
        ("a\x1b", "a"),
        ("a\x1b[\x1b[1mb", "ab"),
        ("a\x1b]0;x\x18b", "ab"),
        ("a\x1b\nb", "a\nb"),
    ],
)
def test_strips(text, clean):
    assert sanitize(text) == clean


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31m\r\n\tb", "a\u241b[31m\u240d\n\tb"),
        ("\x00\x07\x7f\x9b", "\u2400\u2407\u2421<U+009B>"),
        ("\u202ex\u2069", "<U+202E>x<U+2069>"),
        ("\ud83d\ude00\ud83d", "😀\ufffd"),
    ],
)
def test_visualizes(text, shown):
    assert sanitize(text, VISUALIZE) == shown


@pytest.mark.parametrize("opener", ["\x1b]", "\x1b[", "\x9d", "\x1bP", "\x9b", "\x1b"])
def test_a_sequence_without_end_does_not_swallow_the_answer(opener):
    filler = " " if opener == "\x1b" else "0"
    clean = sanitize(opener + filler * (SEQUENCE_LIMIT + 10) + "the rest")
    assert clean.endswith("the rest")
    assert len(clean) < 30


@pytest.mark.parametrize("mode", [STRIP, VISUALIZE])
@given(data=st.data(), text=HOSTILE)
def test_where_the_text_is_cut_makes_no_difference(mode, data, text):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    sanitizer = Sanitizer(mode)
    pieces = [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)])]
    fed = "".join(sanitizer.feed(piece) for piece in pieces) + sanitizer.close()
    assert fed == sanitize(text, mode)


@pytest.mark.parametrize("mode", [STRIP, VISUALIZE])
@given(text=HOSTILE)
def test_nothing_that_drives_a_terminal_comes_out(mode, text):
    assert not FORBIDDEN.search(sanitize(text, mode))


@given(text=st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs", "Cf"))))
def test_ordinary_text_is_untouched(text):
    assert sanitize(text) == text


def test_each_text_begins_afresh_after_close():
    sanitizer = Sanitizer()
    assert sanitizer.feed("a\x1b]0;open") + sanitizer.close() == "a"
    assert sanitizer.feed("b") == "b"


@pytest.mark.parametrize("unit", ["\x1b]", "\x1b[", "\x1b", "\x9b1", "\x1b]0;a", "\x07", "\x1b "])
def test_time_is_linear(unit):
    started = time.process_time()
    sanitize(unit * 100_000)
    assert time.process_time() - started < 2.0
