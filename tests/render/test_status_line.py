"""The status line, by a clock of the test's."""

import io

import pytest

from jpq.events.turn import Complete, Notice, ReasoningChunk, StreamStart, TextChunk, Waiting
from jpq.render.aside import Aside, ViewOptions
from jpq.render.chat import ChatView, Verbatim
from jpq.render.printer import Printer, Sink
from jpq.render.status import StatusLine
from jpq.terminal.caps import ChannelCaps

ERASE = "\r\x1b[K"


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def file():
    return io.BytesIO()


def line_on(file, clock, width=30, unicode=False):
    sink = Sink(file)
    return sink, StatusLine(sink, lambda: width, unicode, clock)


def test_it_is_drawn_late_counts_seconds_and_leaves_nothing(file, clock):
    sink, status = line_on(file, clock)
    assert status.tick() is None
    status.start("Waiting for it")
    assert status.tick() == pytest.approx(0.2)
    clock.now += 0.2
    assert status.tick() == pytest.approx(0.1)
    clock.now += 2
    status.relabel("Still")
    status.tick()
    status.stop()
    assert status.tick() is None
    sink.flush()
    frames = file.getvalue().decode().split(ERASE)
    assert frames == ["", "/ Waiting for it 0s", "- Still 2s", ""]


def test_it_counts_down_to_what_begins_later_and_then_up(file, clock):
    view = chat(file, clock)
    played(view, clock, [Waiting("attempt 2 of 4", 2.5)])
    for _ in range(3):
        clock.now += 1
        view.tick()
        view.flush()
    frames = [frame.split("Waiting for ")[1] for frame in file.getvalue().decode().split(ERASE)[1:]]
    assert frames == [
        "attempt 2 of 4 in 2s",
        "attempt 2 of 4 in 1s",
        "attempt 2 of 4 0s",
        "attempt 2 of 4 1s",
    ]


@pytest.mark.parametrize("label", ["x" * 200, "字" * 200, "a\nb\x1b[2J" * 90])
@pytest.mark.parametrize("width", [1, 2, 12, 80])
def test_it_fits_the_width(file, clock, label, width):
    sink, status = line_on(file, clock, width, unicode=True)
    status.start(label)
    clock.now += 1
    status.tick()
    sink.flush()
    [line] = file.getvalue().decode().split(ERASE)[1:]
    assert sum(2 if char >= "\u2e80" else 1 for char in line) < max(width, 1)


def chat(file, clock, **options):
    printer = Printer(file, file)
    caps = ChannelCaps(terminal=True, rewrite=True)
    aside = Aside(printer, caps, ViewOptions(**options), lambda: 60, clock)
    return ChatView(printer, aside, Verbatim(), True)


def played(view, clock, events):
    for event in events:
        view.show(event)
        clock.now += 1
        view.tick()
        view.flush()


def test_it_survives_a_notice_and_ends_with_the_first_word(file, clock):
    view = chat(file, clock)
    played(view, clock, [Waiting("m"), Notice("again"), StreamStart("m", None), TextChunk("a")])
    lines = file.getvalue().decode().split(ERASE)
    assert lines[2] == "jpq: again\n"
    assert lines[-1] == "a"
    assert view.tick() is None


def test_it_comes_back_after_a_pause(file, clock):
    view = chat(file, clock)
    played(view, clock, [Waiting("m")])
    view.pause()
    view.flush()
    assert file.getvalue().decode().endswith(ERASE)
    clock.now += 1
    view.tick()
    view.flush()
    assert file.getvalue().decode().endswith("Waiting for m 2s")


def test_it_never_draws_over_text(file, clock):
    view = chat(file, clock)
    played(view, clock, [TextChunk("half a li"), Waiting("m")])
    assert file.getvalue() == b"half a li"


def test_it_counts_reasoning(file, clock):
    view = chat(file, clock, reasoning="progress")
    played(view, clock, [ReasoningChunk("abc"), ReasoningChunk("de")])
    assert file.getvalue().decode().endswith("Reasoning, 5 characters 2s")
    played(view, clock, [Complete("stop")])
    assert file.getvalue().decode().endswith(ERASE)


def test_hidden_reasoning_does_not_end_the_waiting(file, clock):
    view = chat(file, clock, reasoning="hidden")
    played(view, clock, [Waiting("m"), ReasoningChunk("abc")])
    assert file.getvalue().decode().endswith("Waiting for m 2s")
