"""The prompt: words, stdin, or what the person types."""

from __future__ import annotations

import os
import threading
from typing import Any, BinaryIO, Iterator, List, Optional, Tuple

import pytest

from jpq.cli import prompt_text
from jpq.cli.prompt_text import gather_prompt
from jpq.errors import BadInputError, UsageError

WAIT_S = 10.0


class Pipe:
    """A pipe as stdin; ``told`` is what the person was told."""

    def __init__(self) -> None:
        read, self._write = os.pipe()
        self.stdin: BinaryIO = os.fdopen(read, "rb")
        self.told: List[str] = []

    def write(self, data: bytes) -> None:
        os.write(self._write, data)

    def end(self) -> None:
        if self._write >= 0:
            os.close(self._write)
            self._write = -1

    def close(self) -> None:
        self.end()
        self.stdin.close()

    def gather(self, *words: str, wait_s: float = WAIT_S, tell_after_s: float = WAIT_S) -> str:
        return gather(self.stdin, *words, told=self.told, wait_s=wait_s, tell_after_s=tell_after_s)


def gather(
    stdin: Optional[BinaryIO], *words: str, told: Optional[List[str]] = None, **options: Any
) -> str:
    given = {"wait_s": WAIT_S, "environ": {}, "interactive": False, **options}
    return gather_prompt(words, stdin, tell=([] if told is None else told).append, **given)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.close()


def test_words_alone() -> None:
    assert gather(None, "why", "is", "it?") == "why is it?"


def test_words_then_stdin_as_a_block_of_its_own(pipe: Pipe) -> None:
    pipe.write(b"diff\n")
    pipe.end()
    assert pipe.gather("explain") == "explain\n\ndiff"
    assert pipe.told == []


def test_stdin_alone(pipe: Pipe) -> None:
    pipe.write(b"\nwhy?\n\n")
    pipe.end()
    assert pipe.gather() == "why?"


@pytest.mark.parametrize("wait_s", [0.0, 0.02])
def test_a_pipe_that_stays_silent_is_left_alone(pipe: Pipe, wait_s: float) -> None:
    assert pipe.gather("why?", wait_s=wait_s) == "why?"
    assert len(pipe.told) == 1
    assert f"in {wait_s:g} s" in pipe.told[0] and " - " in pipe.told[0]


def test_a_pipe_that_has_begun_is_read_to_its_end_however_long_that_takes(pipe: Pipe) -> None:
    """The wait is over long before the second piece comes."""
    waiting = threading.Event()
    pipe.write(b"one ")

    def go_on() -> None:
        assert waiting.wait(WAIT_S)
        pipe.write(b"two")
        pipe.end()

    class Told(List[str]):
        def append(self, line: str) -> None:
            super().append(line)
            waiting.set()

    pipe.told = Told()
    writer = threading.Thread(target=go_on)
    writer.start()
    assert pipe.gather("sum:", wait_s=0.01, tell_after_s=0.02) == "sum:\n\none two"
    writer.join()
    assert len(pipe.told) == 1 and "Waiting for stdin" in pipe.told[0]


def test_it_is_said_once_what_is_waited_for(pipe: Pipe) -> None:
    pipe.gather("why?", wait_s=0.03, tell_after_s=0.01)
    assert [line.split()[0] for line in pipe.told] == ["Waiting", "Nothing"]


@pytest.mark.parametrize("words", [("-",), ("sum:", "-"), ()])
def test_a_dash_or_no_words_wait_without_limit(pipe: Pipe, words: Tuple[str, ...]) -> None:
    """What lets the writer begin is that the reader has said that it waits."""
    waiting = threading.Event()

    class Told(List[str]):
        def append(self, line: str) -> None:
            super().append(line)
            waiting.set()

    def write() -> None:
        assert waiting.wait(WAIT_S)
        pipe.write(b"late")
        pipe.end()

    pipe.told = Told()
    writer = threading.Thread(target=write)
    writer.start()
    prompt = pipe.gather(*words, wait_s=0.0, tell_after_s=0.01)
    writer.join()
    assert prompt == ("sum:\n\nlate" if "sum:" in words else "late")


def test_a_closed_stdin_and_the_null_device_are_fine() -> None:
    told: List[str] = []
    assert gather(None, "why?", told=told) == "why?"
    with open(os.devnull, "rb") as null:
        assert gather(null, "why?", told=told) == "why?"
        assert gather(null, "why?", "-", told=told) == "why?"
    assert told == []


def test_a_regular_file(tmp_path: Any) -> None:
    (tmp_path / "file").write_bytes(b"text")
    with open(tmp_path / "file", "rb") as file:
        assert gather(file, "what:") == "what:\n\ntext"


def test_bytes_that_are_no_utf8_are_replaced_and_told_once(pipe: Pipe) -> None:
    pipe.write(b"a\xff\xfe\x00b\xc3")
    pipe.end()
    assert pipe.gather() == "a\ufffd\ufffd\0b\ufffd"
    assert len(pipe.told) == 1 and "UTF-8" in pipe.told[0]


def test_a_character_cut_by_two_reads_is_whole(pipe: Pipe) -> None:
    text = "é" * 40_000  # longer than a read and than the pipe
    writer = threading.Thread(target=lambda: (pipe.write(text.encode()), pipe.end()))
    writer.start()
    assert pipe.gather() == text
    writer.join()
    assert pipe.told == []


def test_a_pipe_that_others_made_non_blocking(pipe: Pipe) -> None:
    os.set_blocking(pipe.stdin.fileno(), False)
    pipe.write(b"text")
    pipe.end()
    assert pipe.gather() == "text"


def test_a_stdin_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_text, "_MOST_BYTES", 3 << 20)
    with open("/dev/zero", "rb") as zero, pytest.raises(BadInputError) as error:
        gather(zero, "why?")
    assert error.value.message == "stdin holds more than 3 MiB, which no model takes."


def test_as_much_as_allowed_is_read(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_text, "_MOST_BYTES", 3 << 20)
    (tmp_path / "file").write_bytes(b"a" * (3 << 20))
    with open(tmp_path / "file", "rb") as file:
        assert len(gather(file)) == 3 << 20


def test_a_stdin_that_cannot_be_read(tmp_path: Any) -> None:
    with open(tmp_path / "file", "wb") as file, pytest.raises(BadInputError) as caught:
        gather(file, "why?")
    assert "Bad file descriptor" in caught.value.message


@pytest.mark.parametrize("text", [b"", b" \n\t\n"])
def test_nothing_to_ask(pipe: Pipe, text: bytes) -> None:
    pipe.write(text)
    pipe.end()
    with pytest.raises(UsageError) as caught:
        pipe.gather()
    assert "jpq --help" in caught.value.hint


def test_no_question_and_a_terminal_asks_for_one() -> None:
    terminal, side = os.openpty()
    told: List[str] = []
    with os.fdopen(side, "rb", buffering=0) as stdin:
        os.write(terminal, b"why?\n")
        assert gather(stdin, interactive=True, told=told) == "why?"
        os.write(terminal, b"\n")
        with pytest.raises(UsageError):
            gather(stdin, interactive=True, told=told)
        assert gather(stdin, "words", told=told) == "words"
    os.close(terminal)
    assert len(told) == 2 and "Ctrl+C" in told[0]


def test_no_question_and_a_terminal_opens_the_editor(tmp_path: Any) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "from the editor" > "$1"\n')
    editor.chmod(0o700)
    environ = {"EDITOR": str(editor)}
    assert gather(None, interactive=True, environ=environ) == "from the editor"
