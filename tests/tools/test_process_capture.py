"""What is kept of a child's output, and that nothing in it can harm or exceed its bounds."""

from __future__ import annotations

import os
from typing import Any, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.tools.capture import Capture, ProgressText

MARK_ROOM = 64  # what the line that tells of the missing middle may take


def captured(data: bytes, max_bytes: int = 100, path: Any = None, piece: int = 7) -> Any:
    capture = Capture(max_bytes, path)
    for start in range(0, len(data), piece):
        capture.add(data[start : start + piece])
    return capture.result()


def test_what_fits_is_all_there_and_no_file_is_made(tmp_path: Any) -> None:
    path = str(tmp_path / "full")
    assert captured(b"hello\n", path=path) == ("hello\n", None)
    assert not os.path.exists(path)


def test_head_and_tail_are_kept_and_the_whole_is_in_the_file(tmp_path: Any) -> None:
    path = str(tmp_path / "full")
    data = b"".join(b"line %d\n" % number for number in range(1000))
    text, full = captured(data, path=path)
    assert text.startswith("line 0\nline 1\n") and text.endswith("line 998\nline 999\n")
    assert f"[... {len(data) - 100} bytes left out ...]" in text
    assert full == path
    with open(path, "rb") as file:
        assert file.read() == data
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_the_file_has_an_end_too(tmp_path: Any) -> None:
    path = str(tmp_path / "full")
    capture = Capture(10, path, max_file_bytes=50)
    for _ in range(20):
        capture.add(b"0123456789")
    assert capture.result().full_output == path
    assert os.path.getsize(path) == 50


def test_a_file_that_cannot_be_written_costs_only_itself(tmp_path: Any) -> None:
    text, full = captured(b"x" * 1000, path=str(tmp_path / "missing" / "full"))
    assert full is None and text.startswith("x" * 50)


def test_characters_are_not_cut_in_two() -> None:
    text, _ = captured("äöü€😀".encode() * 100)
    assert "\ufffd" not in text


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert captured(b"caf\xe9 and more text\n").text == "caf\ufffd and more text\n"
    assert captured(b"\xe9\xe8").text == "\ufffd\ufffd"


def test_binary_output_is_told_and_kept(tmp_path: Any) -> None:
    path = str(tmp_path / "full")
    data = bytes(range(256)) * 40
    text, full = captured(data, path=path)
    begins = data[:16].hex()
    assert text == f"[binary output of 10240 bytes, which begins with {begins}]"
    with open(path, "rb") as file:
        assert file.read() == data
    short = captured(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1", path=path)
    assert short.text.startswith("[binary output of") and short.full_output == path


@pytest.mark.parametrize(
    "data,text",
    [
        (b"\x1b[31mred\x1b[0m and \x1b]0;title\x07plain", "red and plain"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b" 10%\r 20%\rdone\n", " 10%\n 20%\ndone\n"),
        (b"one name\0another name\0", "one name\nanother name\n"),
        ("\u202egnp.exe".encode(), "gnp.exe"),
        (b"", ""),
    ],
)
def test_what_would_drive_a_terminal_is_taken_out(data: bytes, text: str) -> None:
    assert captured(data).text == text


@given(st.binary(max_size=400), st.integers(2, 64), st.integers(1, 64))
def test_the_text_never_exceeds_its_bounds(data: bytes, max_bytes: int, piece: int) -> None:
    text, full = captured(data, max_bytes, piece=piece)
    assert full is None
    if not text.startswith("[binary output of"):
        assert len(text.encode()) <= 3 * max_bytes + MARK_ROOM
    assert "\x1b" not in text and "\r" not in text
    assert text == captured(data, max_bytes, piece=len(data) or 1).text


def test_progress_is_text_however_it_was_cut_and_has_a_limit() -> None:
    now = [0.0]
    shown: List[str] = []
    progress = ProgressText(shown.append, lambda: now[0])
    for byte in "€ \x1b[1mbold".encode():
        progress.add(bytes((byte,)))
    assert "".join(shown) == "€ bold"
    for _ in range(10):
        progress.add(b"x" * 10_000)
    assert len("".join(shown)) < 40_000
    now[0] = 1.0
    progress.add(b"later")
    assert shown[-1].endswith("later")
