"""Channels that a parent made non-blocking, as Node does with the pipes of its children."""

from __future__ import annotations

import os
import subprocess
from typing import Any, List

import pytest

from tests.support.programs import JPQ, ROOT, WAIT_S, environment, jpq, script

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes elsewhere cannot be made so")

LONG = (250 * "word" + " ") * 300  # several times what a pipe holds


def start(arguments: List[str], **channels: Any) -> subprocess.Popen:
    return subprocess.Popen([*JPQ, *arguments], env=environment(), cwd=ROOT, **channels)


def into_pipe(*arguments: str) -> bytes:
    """What ``jpq`` writes into a pipe that refuses what it cannot take at once."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with open(read, "rb") as output:
        process = start(list(arguments), stdout=write, stdin=subprocess.DEVNULL)
        os.close(write)
        written = output.read()
    assert process.wait(WAIT_S) == 0
    return written


def test_a_full_pipe_is_waited_for(tmp_path: Any) -> None:
    assert jpq("-m", "scripted/" + script(tmp_path, f'text = "{LONG}"'), "hi").code == 0
    assert LONG.strip().encode() in into_pipe("conversation", "show")
    long_text = tmp_path / "long.md"
    long_text.write_text(LONG)
    assert len(into_pipe("render", str(long_text))) >= len(LONG.strip())


def test_an_empty_pipe_is_not_taken_for_its_end() -> None:
    read, write = os.pipe()
    os.set_blocking(read, False)
    process = start(["render"], stdin=read, stdout=subprocess.PIPE)
    os.close(read)
    with process, open(write, "wb", buffering=0) as pipe:
        pipe.write(b"one\n\n")
        assert process.stdout is not None and process.stdout.readline() == b"one\n"
        pipe.write(b"two\n")
        pipe.close()
        assert process.stdout.read() == b"\ntwo\n"
    assert process.returncode == 0


def test_a_key_from_a_pipe_that_is_still_empty() -> None:
    read, write = os.pipe()
    os.set_blocking(read, False)
    process = start(["keys", "set", "openai"], stdin=read, stderr=subprocess.PIPE)
    os.close(read)
    os.write(write, b"sk-")
    os.write(write, b"test\n")
    os.close(write)
    _, told = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0 and b"Kept the key" in told
