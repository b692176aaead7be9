"""``--output FILE`` from outside: the file is the whole answer, or what it was before."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import threading
from typing import Any, List, Tuple

import pytest

from jpq.cli.environment import Environment
from jpq.cli.output_file import into_file
from jpq.errors import WriteError
from tests.support.programs import JPQ, environment, jpq, model_at, script, signalled
from tests.support.server import FINISH, Pause, Server, delta, reply

ANSWER = "Grüße\nzweite Zeile"


@pytest.fixture
def model(tmp_path: Any) -> List[str]:
    return ["-m", "scripted/" + script(tmp_path, f"text = {json.dumps(ANSWER)}")]


def left(folder: Any) -> List[str]:
    return sorted(name for name in os.listdir(folder) if name != "script.toml")


def test_the_answer_is_in_the_file_and_not_on_stdout(model: List[str], tmp_path: Any) -> None:
    ran = jpq(*model, "--output", "out.md", "hi", cwd=str(tmp_path))
    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert (tmp_path / "out.md").read_bytes() == ANSWER.encode() + b"\n"
    assert left(tmp_path) == ["out.md"]


def test_the_file_is_utf_8_whatever_the_terminal_is(model: List[str], tmp_path: Any) -> None:
    environ = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environ.update(PYTHONPATH=os.getcwd())
    assert jpq(*model, "--output", f"{tmp_path}/o", "hi", environ=environ).code == 0
    assert (tmp_path / "o").read_text(encoding="utf-8") == ANSWER + "\n"


def test_mode_and_link_are_kept(model: List[str], tmp_path: Any) -> None:
    real = tmp_path / "real"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "link").symlink_to(real)
    assert jpq(*model, "--output", "link", "hi", cwd=str(tmp_path)).code == 0
    assert (tmp_path / "link").is_symlink()
    assert real.read_text(encoding="utf-8") == ANSWER + "\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_failure_leaves_the_file_alone_and_prints_instead(format: str, tmp_path: Any) -> None:
    model = "scripted/" + script(tmp_path, 'text = "half"\nfinish = "length"')
    (tmp_path / "out").write_text("old")
    ran = jpq("-m", model, "--format", format, "--output", "out", "hi", cwd=str(tmp_path))
    assert ran.code == 76 and (tmp_path / "out").read_text() == "old"
    assert left(tmp_path) == ["out"]
    if format == "json":
        assert ran.result["text"] == "half"
    else:
        assert ran.text == "half\n"


def test_what_fails_before_the_turn_leaves_the_file_alone(tmp_path: Any) -> None:
    (tmp_path / "out").write_text("old")
    ran = jpq("-m", "none/x", "--json", "--output", "out", "hi", cwd=str(tmp_path))
    assert (ran.code, ran.result["exit_code"]) == (78, 78)
    assert (tmp_path / "out").read_text() == "old" and left(tmp_path) == ["out"]


def test_with_json_the_result_is_in_the_file(model: List[str], tmp_path: Any) -> None:
    ran = jpq(*model, "--json", "--output", f"{tmp_path}/r.json", "hi")
    assert (ran.code, ran.out) == (0, b"")
    assert json.loads((tmp_path / "r.json").read_text())["text"] == ANSWER


def test_a_block_of_the_answer(tmp_path: Any) -> None:
    text = json.dumps("Here:\n```sh\nls\n```\n")
    model = ["-m", "scripted/" + script(tmp_path, f"text = {text}")]
    assert jpq(*model, "-x", "--output", "run.sh", "hi", cwd=str(tmp_path)).code == 0
    assert (tmp_path / "run.sh").read_text() == "ls\n"
    assert jpq(*model, "-xpy", "--output", "run.sh", "hi", cwd=str(tmp_path)).code == 65
    assert (tmp_path / "run.sh").read_text() == "ls\n"


def test_a_folder_that_is_not_there_is_told_before_anything_is_sent(tmp_path: Any) -> None:
    with Server(reply(delta("Hi"), FINISH)) as server:
        ran = jpq(*model_at(server), "--output", f"{tmp_path}/no/out", "hi")
        assert not server.seen
    ran.failed_with(74, "--output", "No such file", "no/out")


def test_what_cannot_be_put_in_its_place_is_printed(
    model: List[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.BytesIO()
    env = Environment(os.environ, str(tmp_path), None, out, None)

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    def body() -> Tuple[int, None]:
        assert env.stdout is not None
        env.stdout.write(b"The answer.\n")
        return 0, None

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(WriteError, match="No space"):
        into_file("out", env, body)
    assert out.getvalue() == b"The answer.\n" and left(tmp_path) == []


def test_what_nobody_else_may_read_is_not_open_to_them_meanwhile(tmp_path: Any) -> None:
    env = Environment(os.environ, str(tmp_path), None, io.BytesIO(), None)
    (tmp_path / "out").touch(0o600)
    modes: List[int] = []

    def body() -> Tuple[int, None]:
        (beside,) = [name for name in left(tmp_path) if name != "out"]
        modes.append(stat.S_IMODE(os.stat(tmp_path / beside).st_mode))
        return 0, None

    into_file("out", env, body)
    assert modes == [0o600] == [stat.S_IMODE((tmp_path / "out").stat().st_mode)]


def test_a_link_in_the_place_of_the_hidden_file_is_not_followed(tmp_path: Any) -> None:
    env = Environment(os.environ, str(tmp_path), None, io.BytesIO(), None)
    (tmp_path / "other").write_text("mine")
    (tmp_path / f".out.{os.getpid()}.tmp").symlink_to("other")
    with pytest.raises(WriteError, match="--output"):
        into_file("out", env, lambda: (0, None))
    assert (tmp_path / "other").read_text() == "mine"


def test_what_is_no_file_is_written_as_it_is(model: List[str], tmp_path: Any) -> None:
    ran = jpq(*model, "--output", "/dev/stdout", "hi")
    assert (ran.code, ran.text) == (0, ANSWER + "\n")
    assert jpq(*model, "--output", "/dev/null", "hi").out == b""
    assert jpq(*model, "--output", "-", "hi").text == ANSWER + "\n"
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/stderr"), reason="no such names here")
@pytest.mark.parametrize(
    ("name", "number", "batch"),
    [("/dev/stdout", 1, False), ("/dev/stderr", 2, False), ("log", 1, False)]
    + [("/dev/stdout", 1, True), ("log", 1, True)],
)
def test_a_file_that_others_write_to_as_well_is_not_replaced(
    name: str, number: int, batch: bool, model: List[str], tmp_path: Any
) -> None:
    (tmp_path / "in.jsonl").write_text('"hi"\n')
    asked = ["-q", "--batch", "in.jsonl"] if batch else ["-q", "hi"]
    command = " ".join(map(shlex.quote, [*JPQ, *model, *asked, "--output", name]))
    line = f"exec {number}>log; echo before >&{number}; {command}; echo behind >&{number}"
    subprocess.run(["/bin/sh", "-c", line], cwd=str(tmp_path), env=environment(), check=True)
    lines = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines[-1]) == ("before", "behind") and len(lines) == (3 if batch else 4)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
def test_a_full_disk_is_told_with_the_name_of_the_file(model: List[str]) -> None:
    jpq(*model, "--output", "/dev/full", "hi").failed_with(74, "/dev/full", "No space")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_leaves_the_file_alone(tmp_path: Any) -> None:
    (tmp_path / "out").write_text("old")
    never = reply(delta("Hello "), delta("wor"))[:-1]
    with Server([*never, Pause(threading.Event())]) as server:
        arguments = [*model_at(server), "--format", "text", "--output", str(tmp_path / "out")]
        ran = signalled([*arguments, "-v", "hi"], signal.SIGINT, b"answered by", "stderr")
    assert ran.code == 130
    assert (tmp_path / "out").read_text() == "old" and left(tmp_path) == ["out"]
