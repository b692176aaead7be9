"""The renderer thread: order, batches, leases, failures."""

import contextlib
import os
import queue
import threading

import pytest

from jpq.events.turn import Complete, Notice, Result, StreamStart, TextChunk
from jpq.events.usage import Usage
from jpq.render.aside import ViewOptions
from jpq.render.views import make_view
from jpq.render.worker import VIEW, DisplayFailed, Renderer
from jpq.terminal.caps import Caps

WAIT_S = 30.0
MODES = ("rb", "wb")


class Recorder:
    """A view that writes down what it is asked, and waits at ``gate`` before each write."""

    def __init__(self):
        self.calls = []
        self.gate = threading.Event()
        self.gate.set()
        self.wait = None

    def show(self, event):
        if isinstance(event, BaseException):
            raise event
        self.calls.append(event)

    def tick(self):
        if self.wait is not None:
            self.calls.append("tick")
        return self.wait

    def flush(self):
        assert self.gate.wait(WAIT_S)
        self.calls.append("flush")
        return []

    def pause(self):
        self.calls.append("pause")

    def close(self):
        self.calls.append("close")

    @property
    def drawn(self):
        return [call for call in self.calls if call != "flush"]


@pytest.fixture
def pipes():
    """(reader, writer) of stdout and of stderr."""
    with contextlib.ExitStack() as files:
        yield [
            tuple(files.enter_context(os.fdopen(fd, mode)) for fd, mode in zip(os.pipe(), MODES))
            for _ in range(2)
        ]


def test_events_come_in_order_and_all_before_the_end():
    view = Recorder()
    with Renderer(view, print) as renderer:
        for number in range(2000):
            renderer.show(number)
    assert view.drawn == [*range(2000), "close"]
    assert view.calls[-1] == "flush"


def test_what_piles_up_is_one_write():
    view = Recorder()
    view.gate.clear()
    with Renderer(view, print) as renderer:
        for number in range(100):
            renderer.show(number)
        view.gate.set()
    assert len([call for call in view.calls if call == "flush"]) <= 4


def test_flush_is_a_barrier(pipes):
    (out, writer), _ = pipes
    with Renderer(make_view("auto", writer, None, Caps(), ViewOptions()), print) as renderer:
        renderer.show(TextChunk("shown"))
        assert renderer.flush(WAIT_S)
        assert out.read1(100) == b"shown"


def test_flush_gives_up_in_time_and_succeeds_later():
    view = Recorder()
    view.gate.clear()
    with Renderer(view, print) as renderer:
        assert not renderer.flush(0.01)
        view.gate.set()
        assert renderer.flush(WAIT_S)


def test_during_a_lease_nothing_is_drawn_and_later_events_follow():
    view = Recorder()
    with Renderer(view, print) as renderer:
        renderer.show(1)
        with renderer.lease(WAIT_S) as parked:
            assert parked()
            assert view.calls[-3:] == [1, "pause", "flush"] or view.drawn == [1, "pause"]
            renderer.show(2)
            renderer.show(3)
            assert view.drawn == [1, "pause"]
        assert renderer.flush(WAIT_S)
        assert view.drawn == [1, "pause", 2, 3]


def test_a_lease_ends_with_an_error_of_its_holder():
    view = Recorder()
    with Renderer(view, print) as renderer:
        with pytest.raises(KeyboardInterrupt), renderer.lease():
            raise KeyboardInterrupt
        renderer.show(1)
        assert renderer.flush(WAIT_S)
    assert view.drawn == ["pause", 1, "close"]


def test_a_reader_that_does_not_read_does_not_keep_the_menu_away(pipes):
    (out, writer), _ = pipes
    view = make_view("auto", writer, None, Caps(), ViewOptions())
    renderer = Renderer(view, print)
    renderer.show(TextChunk("x" * 1_000_000))
    with renderer.lease(timeout_s=0.05) as parked:
        assert not parked()
    renderer.show(TextChunk("end"))
    read = b""
    while not read.endswith(b"end"):
        read += out.read1(65536)
    assert len(read) == 1_000_003
    assert renderer.close(WAIT_S)


def test_a_closed_stdout_is_posted_once_and_stderr_goes_on(pipes):
    (out, out_writer), (err, err_writer) = pipes
    out.close()
    posted = queue.SimpleQueue()
    view = make_view("auto", out_writer, err_writer, Caps(), ViewOptions())
    with Renderer(view, posted.put) as renderer:
        for piece in ("a", "b"):
            renderer.show(TextChunk(piece))
            assert renderer.flush(WAIT_S)
        renderer.show(Notice("still here"))
        assert renderer.flush(WAIT_S)
    failure = posted.get_nowait()
    assert failure.channel == "stdout"
    assert isinstance(failure.error, BrokenPipeError)
    assert posted.empty()
    assert err.read1(100) == b"jpq: still here\n"


def test_a_fault_in_the_view_is_posted_once_and_the_rest_goes_on():
    posted = queue.SimpleQueue()
    view = Recorder()
    fault = ValueError("a bug")
    with Renderer(view, posted.put) as renderer:
        for event in (1, fault, ValueError("another"), 2):
            renderer.show(event)
    assert view.drawn == [1, 2, "close"]
    assert posted.get_nowait() == DisplayFailed(VIEW, fault)
    assert posted.empty()


def test_a_dead_renderer_says_so_and_hangs_nobody():
    """Whoever flushed until all was written never stopped: what is lost is not waited for."""
    posted = queue.SimpleQueue()
    renderer = Renderer(Recorder(), posted.put)
    renderer.show(SystemExit("dead"))
    failure = posted.get(timeout=WAIT_S)
    assert isinstance(failure.error, SystemExit)
    assert renderer.flush(WAIT_S)
    with renderer.lease(WAIT_S) as parked:
        assert not parked()
    assert renderer.close()


def test_a_tick_that_is_overdue_ends_nothing():
    """No queue waits for less than no time, and the thread died of being asked to."""
    view = Recorder()
    view.wait = -0.001
    with Renderer(view, print) as renderer:
        renderer.show(1)
        assert renderer.flush(WAIT_S)
    assert 1 in view.calls and view.calls[-2:] == ["close", "flush"]


def test_it_ticks_only_while_something_moves():
    view = Recorder()
    ticked = threading.Event()

    def tick():
        view.calls.append("tick")
        ticked.set()
        return view.wait

    view.tick = tick
    with Renderer(view, print) as renderer:
        assert renderer.flush(WAIT_S)
        ticked.clear()
        view.wait = 0.0
        renderer.show(1)
        assert ticked.wait(WAIT_S)
        view.wait = None
        assert renderer.flush(WAIT_S)


def test_closing_twice_is_fine():
    view = Recorder()
    renderer = Renderer(view, print)
    assert renderer.close()
    assert renderer.close()
    assert view.drawn == ["close"]


def test_a_whole_turn_on_pipes(pipes):
    (out, out_writer), (err, err_writer) = pipes
    view = make_view("text", out_writer, err_writer, Caps(), ViewOptions())
    with Renderer(view, print) as renderer:
        for event in (
            StreamStart("m", None),
            *(TextChunk(char) for char in "Hello \ud83d\ude00"),
            Complete("stop"),
            Result("complete", "", "stop", Usage(), None, 0),
        ):
            renderer.show(event)
    assert out.read1(100) == "Hello 😀\n".encode()
    err_writer.close()
    assert err.read1(100) == b""
