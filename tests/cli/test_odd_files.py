"""Pipes that nobody is at the other end of, and files that never end: told, not waited for."""

from __future__ import annotations

import io
import os
import threading
from typing import Any, List

import pytest

from jpq.cli import query_options
from jpq.cli.environment import Environment
from jpq.cli.query_options import text_or_file
from jpq.errors import BadInputError
from tests.support.programs import jpq, script

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


@pytest.fixture
def model(tmp_path: Any) -> List[str]:
    return ["-m", "scripted/" + script(tmp_path, 'text = "Hello there."')]


@pytest.fixture
def pipe(tmp_path: Any) -> str:
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    return path


def test_a_system_prompt_from_a_pipe_that_nobody_writes_to(
    pipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_options, "_WRITER_WAIT_S", 0.1)
    env = Environment({}, os.path.dirname(pipe), None, None, io.BytesIO())
    with pytest.raises(BadInputError, match="Nothing writes to the pipe") as caught:
        text_or_file("@pipe", env)
    assert (caught.value.where, caught.value.hint) == (pipe, "Start what writes to it first.")


def test_a_system_prompt_from_a_pipe_whose_writer_comes_late(model: List[str], pipe: str) -> None:
    def write() -> None:
        with open(pipe, "w", encoding="utf-8") as file:  # waits for the reader
            file.write("Be brief.")

    writer = threading.Thread(target=write)
    writer.start()
    ran = jpq(*model, "-s", f"@{pipe}", "hi")
    writer.join()
    assert (ran.code, ran.text) == (0, "Hello there.\n")
    folder = jpq("conversation", "path").text.strip()
    with open(os.path.join(folder, "base_config.json"), encoding="utf-8") as file:
        assert '"Be brief."' in file.read()


def test_a_system_prompt_that_is_not_utf_8_is_told(model: List[str], tmp_path: Any) -> None:
    (tmp_path / "brief.md").write_bytes(b"Sois bref, gar\xe7on.")
    ran = jpq(*model, "-s", "@brief.md", "hi", cwd=str(tmp_path))
    assert (ran.code, ran.text) == (0, "Hello there.\n")
    assert b"brief.md holds bytes that are not UTF-8" in ran.err


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_a_system_prompt_that_never_ends(model: List[str]) -> None:
    jpq(*model, "-s", "@/dev/zero", "hi").failed_with(65, "longer than 8 MiB", "/dev/zero")


def test_a_log_into_a_pipe_that_nobody_reads(model: List[str], pipe: str) -> None:
    ran = jpq(*model, "--log-file", pipe, "hi")
    assert (ran.code, ran.text) == (0, "Hello there.\n")
    (told,) = ran.told
    assert "cannot be written" in told and pipe in told


def test_a_log_into_a_pipe_is_read_while_it_is_written(model: List[str], pipe: str) -> None:
    lines: List[str] = []

    def read() -> None:
        with open(pipe, encoding="utf-8") as file:
            lines.extend(file)

    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # from now on it has a reader
    reader = threading.Thread(target=read)
    try:
        reader_ready = os.open(pipe, os.O_WRONLY)  # so that the reader does not wait in open
        reader.start()
        ran = jpq(*model, "--log-file", pipe, "hi")
        os.close(reader_ready)
        reader.join()
    finally:
        os.close(descriptor)
    assert (ran.code, ran.told) == (0, [])
    assert any("exit code 0" in line for line in lines)


def test_a_log_into_a_full_pipe_delays_nothing(model: List[str], pipe: str) -> None:
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(BlockingIOError):
            while True:
                os.write(writer, bytes(4096))
        ran = jpq(*model, "--log-file", pipe, "hi")
    finally:
        os.close(writer)
        os.close(reader)
    assert (ran.code, ran.text, ran.told) == (0, "Hello there.\n", [])
