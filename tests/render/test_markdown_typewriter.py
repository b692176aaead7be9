"""Text letter by letter, and what it costs when it is first needed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.render.chat import PREPARE_S, Late, Verbatim
from jpq.render.markdown.formatter import MarkdownFormatter
from jpq.render.markdown.typewriter import LAG_S, Typewriter
from jpq.render.theme import Look


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def typist(delay_s=0.01, look=None):
    clock = Clock()
    formatter = MarkdownFormatter(look or Look(), lambda: 80, clock=clock)
    return Typewriter(formatter, delay_s, clock), clock


def test_letters_come_one_by_one():
    typewriter, clock = typist()
    seen = [typewriter.feed("abcd")]
    for _ in range(3):
        wait = typewriter.tick()
        assert 0 < wait <= 0.01
        clock.now += wait + 1e-6
        assert typewriter.tick() == 0.0
        seen.append(typewriter.release())
    assert seen == ["a", "b", "c", "d"]
    assert typewriter.tick() is None


def test_a_burst_is_caught_up_with():
    typewriter, clock = typist()
    seen = typewriter.feed("x" * 1000 + "y")
    assert len(seen) >= 1000 - LAG_S / 0.01
    clock.now += LAG_S + 0.1
    assert seen + typewriter.release() == "x" * 1000 + "y"


def test_a_control_sequence_is_never_cut():
    typewriter, clock = typist(look=Look(16, links=True))
    pieces = [typewriter.feed("[ab](http://x) **c** d\n\n")]
    while typewriter.tick() is not None:
        clock.now += 0.011
        pieces.append(typewriter.release())
    pieces.append(typewriter.close())
    for piece in pieces:
        assert piece.count("\x1b]8;;") == piece.count("\x1b\\")
        assert not piece.endswith("\x1b")
    whole, _ = typist(look=Look(16, links=True))
    assert "".join(pieces) == whole.feed("[ab](http://x) **c** d\n\n") + whole.close()


@given(st.lists(st.tuples(st.text("ab*`# \n", max_size=8), st.floats(0, 2)), max_size=8))
def test_nothing_is_lost(steps):
    typewriter, clock = typist()
    seen = ""
    for text, pause in steps:
        seen += typewriter.feed(text)
        clock.now += pause
    seen += typewriter.close()
    whole = MarkdownFormatter(Look(), lambda: 80)
    assert seen == whole.feed("".join(text for text, _ in steps)) + whole.close()


def test_others_get_the_terminal_at_once():
    typewriter, _ = typist()
    assert typewriter.feed("one two") + typewriter.suspend() == "one two"
    typewriter.line_ended()
    assert typewriter.tick() is None
    assert typewriter.feed(" three") + typewriter.close() == "three\n"


def test_what_the_other_holds_is_released_in_time():
    typewriter, clock = typist()
    assert typewriter.feed("*a") == ""
    clock.now += typewriter.tick()
    assert typewriter.release() + typewriter.close() == "*a\n"


class Made:
    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1
        return Verbatim()


def test_a_late_formatter_is_made_by_the_first_text():
    made = Made()
    late = Late(made, Clock())
    assert (late.tick(), late.close(), late.release(), late.suspend()) == (None, "", "", "")
    late.line_ended()
    assert made.count == 0
    assert late.feed("a") + late.feed("b") == "ab"
    assert made.count == 1


def test_a_late_formatter_is_made_while_a_request_waits():
    made, clock = Made(), Clock()
    late = Late(made, clock)
    late.expect()
    assert late.tick() == pytest.approx(PREPARE_S)
    assert made.count == 0
    clock.now += PREPARE_S
    late.expect()
    assert late.tick() is None
    assert made.count == 1
    late.expect()
    assert late.tick() is None and late.feed("a") == "a" and made.count == 1


def test_a_late_formatter_is_not_made_as_soon_as_a_prompt_ends():
    made, clock = Made(), Clock()
    late = Late(made, clock)
    late.expect()
    clock.now += 60
    assert late.tick() == pytest.approx(PREPARE_S)
    assert made.count == 0
    clock.now += PREPARE_S
    assert late.tick() is None
    assert made.count == 1
