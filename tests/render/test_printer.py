"""Bytes on real descriptors: partial writes, errors, encodings, shared channels."""

import errno
import io
import os
import threading

import pytest

from jpq.render.printer import Printer, Sink


class Short(io.RawIOBase):
    """A raw file that takes at most three bytes a call, and now and then none."""

    def __init__(self, fd):
        self.taken = []
        self._fd = fd
        self._calls = 0

    def fileno(self):
        return self._fd

    def write(self, data):
        self._calls += 1
        if self._calls % 2 == 0:
            return None
        self.taken.append(bytes(data[:3]))
        return len(self.taken[-1])


@pytest.fixture
def pipe():
    read_fd, write_fd = os.pipe()
    with open(read_fd, "rb", buffering=0) as reader, open(write_fd, "wb") as writer:
        yield reader, writer


def printed(*texts, encoding="utf-8"):
    file = io.BytesIO()
    sink = Sink(file, encoding)
    for text in texts:
        sink.write(text)
        sink.flush()
    return file.getvalue()


def test_a_pair_split_over_two_writes_is_one_character():
    assert printed("a\ud83d", "\ude00b") == "a😀b".encode()


def test_a_half_that_stays_alone_is_replaced():
    assert printed("a\ud83d", "b\ude00", "\n") == "a\ufffdb\ufffd\n".encode()


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("latin-1", b"\xe9 ? ? ?"), ("ascii", b"? ? ? ?"), ("cp1252", b"\xe9 ? ? \x80")],
)
def test_what_the_encoding_lacks_is_replaced(encoding, expected):
    assert printed("é 字 \ud83d", "\ude00 €", encoding=encoding) == expected


def test_a_stateful_encoding_has_one_byte_order_mark():
    assert printed("a", "b", encoding="utf-16").decode("utf-16") == "ab"


def test_partial_writes_and_a_full_descriptor(pipe):
    _, writer = pipe
    short = Short(writer.fileno())  # select finds the pipe writable
    sink = Sink(short)
    sink.write("0123456789")
    assert sink.flush() is None
    assert b"".join(short.taken) == b"0123456789"


def test_a_non_blocking_pipe_gets_every_byte(pipe):
    reader, writer = pipe
    os.set_blocking(writer.fileno(), False)
    text = "x" * 300_000
    read = bytearray()

    def drain():
        while len(read) < len(text):
            read.extend(reader.read(4096))

    thread = threading.Thread(target=drain)
    thread.start()
    sink = Sink(writer)
    sink.write(text)
    error = sink.flush()
    thread.join(60)
    assert error is None
    assert read == text.encode()


def test_a_closed_pipe_is_reported_once_and_the_other_channel_goes_on(pipe):
    reader, writer = pipe
    reader.close()
    err = io.BytesIO()
    printer = Printer(writer, err)
    printer.out.write("lost")
    printer.err.write("kept\n")
    [(channel, error)] = printer.flush()
    assert channel == "stdout"
    assert isinstance(error, BrokenPipeError)
    printer.out.write("dropped")
    printer.err.write("too\n")
    assert printer.flush() == []
    assert err.getvalue() == b"kept\ntoo\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_reported():
    with open("/dev/full", "wb", buffering=0) as full:
        printer = Printer(full, None)
        printer.out.write("lost")
        [(channel, error)] = printer.flush()
        assert error.errno == errno.ENOSPC


def test_an_error_on_stderr_is_nobodys_business(pipe):
    reader, writer = pipe
    reader.close()
    out = io.BytesIO()
    printer = Printer(out, writer)
    printer.err.write("lost")
    printer.out.write("kept")
    assert printer.flush() == []
    assert out.getvalue() == b"kept"


def test_closed_descriptors_take_everything():
    printer = Printer(None, None)
    printer.out.write("a")
    printer.err.write("b")
    assert printer.flush() == []


def test_the_same_pipe_twice_keeps_the_order(pipe):
    reader, writer = pipe
    with open(os.dup(writer.fileno()), "wb") as again:
        printer = Printer(writer, again)
        assert printer.shared
        for sink, text in [(printer.out, "a"), (printer.err, "b"), (printer.out, "c")]:
            sink.write(text)
        printer.flush()
        assert reader.read(10) == b"abc"


@pytest.mark.parametrize(
    ("text", "after_line", "after_blank"),
    [("", "", ""), ("a", "a\n", "a\n\n"), ("a\n", "a\n", "a\n\n"), ("a\n\n", "a\n\n", "a\n\n")],
)
def test_line_ends_are_only_added_where_they_miss(text, after_line, after_blank):
    for method, expected in (("end_line", after_line), ("blank_line", after_blank)):
        file = io.BytesIO()
        sink = Sink(file)
        sink.write(text)
        getattr(sink, method)()
        sink.flush()
        assert file.getvalue().decode() == expected


def test_line_ends_in_pieces_add_up():
    file = io.BytesIO()
    sink = Sink(file)
    for piece in ("a", "\n", "\n"):
        sink.write(piece)
    sink.blank_line()
    sink.flush()
    assert file.getvalue() == b"a\n\n"


def test_a_transient_line_is_gone_before_anything_else():
    file = io.BytesIO()
    sink = Sink(file)
    sink.draw_transient("wait")
    sink.write("text")
    sink.draw_transient("not in the middle of a line")
    sink.flush()
    assert file.getvalue() == b"\r\x1b[Kwait\r\x1b[Ktext"
