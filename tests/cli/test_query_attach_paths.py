"""``-a``: folders, patterns, pipes, devices and the clipboard, and what is said of them."""

from __future__ import annotations

import base64
import json
import os
import time
from typing import Any, Dict, List

import pytest

from jpq.cli import attach_clipboard
from jpq.errors import BadInputError
from tests.support.programs import JPQ, environment, jpq, model_at, shell
from tests.support.ptys import Child
from tests.support.server import Server, answer

PNG = b"\x89PNG\r\n\x1a\n-pixels-"


def tree(folder: Any, **files: bytes) -> str:
    """Files below ``folder``: ``a__b_txt`` is ``a/b.txt``."""
    for name, data in files.items():
        path = folder.joinpath(*name.split("__"))
        path = path.with_name(path.name.replace("_", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return str(folder)


def text_of(*arguments: str, told: str = "", **channels: Any) -> str:
    """The text of the question that is sent; ``told`` is in what is said about it."""
    with Server(answer("Hi")) as server:
        ran = jpq(*model_at(server), "q", *arguments, **channels)
        assert (ran.code, ran.text) == (0, "Hi\n"), ran
        assert told in ran.err.decode() and bool(told) == bool(ran.err), ran
        content = server.seen[0].json["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or part["image_url"]["url"] for part in content)


def test_a_folder_is_listed(tmp_path: Any) -> None:
    folder = tree(tmp_path / "src", b_txt=b"x" * 1234, a__c_py=b"1")
    os.mkdir(os.path.join(folder, ".git"))
    with open(os.path.join(folder, ".git", "config"), "w") as file:
        file.write("its own")
    os.symlink("/", os.path.join(folder, "root"))
    os.mkdir(os.path.join(folder, "nothing"))
    text = text_of("-a", folder)
    expected = "q\n\nsrc/:\n\n.git/\na/\na/c.py  1 B\nb.txt  1.2 kB\nnothing/\nroot (a link)\n"
    assert text == expected
    assert "(empty)" in text_of("-a", os.path.join(folder, "nothing"))


def test_a_folder_too_large_to_list_loses_its_deepest(tmp_path: Any) -> None:
    deep = tmp_path / "many" / "deep"
    deep.mkdir(parents=True)
    for number in range(1100):
        (deep / f"{number:04}.txt").touch()
    (tmp_path / "many" / "zz.txt").touch()
    lines = text_of("-a", str(tmp_path / "many")).splitlines()
    assert "zz.txt  0 B" in lines and "deep/0000.txt  0 B" in lines
    assert lines[-1] == "... and more; this lists 1000 of them, the nearest first"


def test_a_pattern_attaches_its_files_under_their_paths(tmp_path: Any) -> None:
    folder = tree(
        tmp_path, src__b_py=b"B\n", src__deep__a_py=b"A\n", src__c_txt=b"C\n", src__none_py=b""
    )
    tree(tmp_path, src__x_py=b"\x00" * 15_000_001)
    text = text_of("-a", "src/**/*.py", cwd=folder, told="Left out of src/**/*.py")
    assert text == "q\n\nsrc/b.py:\n\nB\n\n\nsrc/deep/a.py:\n\nA\n"
    ran = jpq("-m", "scripted//no/such", "q", "-a", "*.none", cwd=folder)
    ran.failed_with(65, "No file matches '*.none'", folder)
    ran = jpq("-m", "scripted//no/such", "q", "-a", "src/[nx]*.py", cwd=folder)
    ran.failed_with(
        65, "Nothing that matches 'src/[nx]*.py' can be attached", "src/none.py (empty)"
    )


def test_an_empty_name_is_not_the_working_folder(tmp_path: Any) -> None:
    ran = jpq("-m", "scripted//no/such", "q", "-a", "", cwd=str(tmp_path))
    ran.failed_with(2, "nothing to attach", "-a .")


def test_a_file_with_such_a_name_is_that_file(tmp_path: Any) -> None:
    (tmp_path / "a[1].txt").write_text("one\n")
    (tmp_path / "a1.txt").write_text("other\n")
    assert "one" in text_of("-a", "a[1].txt", cwd=str(tmp_path))


def test_a_pattern_works_in_a_folder_with_such_a_name(tmp_path: Any) -> None:
    folder = tree(tmp_path / "[x]*", a_txt=b"A\n")
    assert text_of("-a", "*.txt", cwd=folder) == "q\n\na.txt:\n\nA\n"


def test_links_that_lead_round_in_circles_are_not_followed(tmp_path: Any) -> None:
    folder = tree(tmp_path, a__f_txt=b"F\n", b__g_txt=b"G\n", _hidden__h_txt=b"H\n")
    (tmp_path / "_hidden").rename(tmp_path / ".hidden")
    for name, target in (("a/l1", "."), ("a/l2", ".."), ("b/l3", ".."), ("b/l4", "../a")):
        (tmp_path / name).symlink_to(target)
    both = "a/f.txt:\n\nF\n\n\nb/g.txt:\n\nG\n"
    assert text_of("-a", "**/*.txt", cwd=folder) == f"q\n\n{both}"
    assert text_of("-a", "./**/**", cwd=folder) == f"q\n\n{both}"
    assert text_of("-a", f"{folder}/*/?.txt", cwd=folder) == f"q\n\n{both}"
    assert "H" in text_of("-a", ".h*/*", cwd=folder)
    assert "F" in text_of("-a", "b/l4/*.txt", cwd=folder)
    ran = jpq("-m", "scripted//no/such", "q", "-a", "**/*.none", cwd=folder)
    ran.failed_with(65, "No file matches")


def test_a_pattern_that_matches_too_much(tmp_path: Any) -> None:
    for number in range(201):
        (tmp_path / f"{number}.txt").touch()
    ran = jpq("-m", "scripted//no/such", "q", "-a", "*.txt", cwd=str(tmp_path))
    ran.failed_with(65, "More than 200 files")


def test_a_pipe_that_nobody_writes_to_is_given_up(tmp_path: Any) -> None:
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    ran = jpq("-m", "scripted//no/such", "--set", "input.stdin_wait_s=0.1", "q", "-a", path)
    ran.failed_with(65, "Nothing writes to the pipe", path)


def test_a_pipe_is_read_to_its_end_however_late_that_comes(tmp_path: Any) -> None:
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    with Server(answer("Hi")) as server:
        argv = [*JPQ, *model_at(server), "--set", "input.stdin_wait_s=0.1", "q", "-a", path]
        # For reading, too, or opening it would wait for a reader.
        file = open(os.open(path, os.O_RDWR), "wb", buffering=0)  # noqa: SIM115
        with file, Child(argv, environment(), str(tmp_path), terminal=False) as child:
            file.write(b"early ")
            child.wait_for(b"still has it open", on_errors=True)
            file.write(b"late\n")
            file.close()
            assert child.end() == 0
        text = server.seen[0].json["messages"][-1]["content"]
    assert text == "q\n\npipe:\n\nearly late\n"


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="there is no /dev/fd")
def test_what_a_command_prints_is_attached(tmp_path: Any) -> None:
    with Server(answer("Hi")) as server:
        line = 'jpq -m custom/x --set "providers.custom.base_url=$1" q -a <(echo one; echo two)'
        ran = shell(line, server.url)
        assert ran.code == 0, ran
        assert server.seen[0].json["messages"][-1]["content"].endswith(":\n\none\ntwo\n")


def test_a_file_without_end_is_refused() -> None:
    ran = jpq("-m", "scripted//no/such", "q", "-a", "/dev/zero")
    ran.failed_with(65, "larger than 15 MB")


def fake(folder: Any, name: str, script: str, **variables: str) -> Dict[str, str]:
    """An environment in which ``name`` is the one program that reads the clipboard."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    path = programs / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    nothing: Dict[str, Any] = {"DISPLAY": None, "WAYLAND_DISPLAY": None}
    return environment(**{**nothing, **variables, "PATH": str(programs)})


@pytest.mark.parametrize(
    "name,variable",
    [
        ("wl-paste", "WAYLAND_DISPLAY"),
        ("xclip", "DISPLAY"),
        ("xsel", "DISPLAY"),
        ("pbpaste", "NOTHING"),
        ("powershell.exe", "NOTHING"),
    ],
)
def test_the_clipboard(tmp_path: Any, name: str, variable: str) -> None:
    script = 'case "$*" in *TARGETS*|*list-types*) echo image/png; echo UTF8_STRING;; '
    script += "*image*) echo no;; *) echo copied;; esac"
    environ = fake(tmp_path, name, script, **{variable: ":0"})
    assert text_of("-a", "clipboard:", environ=environ) == "q\n\nclipboard:\n\ncopied\n"


def test_a_picture_in_the_clipboard(tmp_path: Any) -> None:
    (tmp_path / "dot.png").write_bytes(PNG)
    script = 'case "$*" in *TARGETS*) echo TARGETS; echo image/png;; '
    script += f"*image/png*) /bin/cat {tmp_path}/dot.png;; esac"
    environ = fake(tmp_path, "xclip", script, DISPLAY=":0")
    assert base64.b64encode(PNG).decode() in text_of("-a", "clipboard:", environ=environ)


@pytest.mark.parametrize(
    "script,words",
    [
        ("echo 'Error: target STRING not available' >&2; exit 1", "target STRING not available"),
        ("exit 3", "status 3"),
        ("exit 0", "is empty"),
    ],
)
def test_a_clipboard_that_cannot_be_read(tmp_path: Any, script: str, words: str) -> None:
    environ = fake(tmp_path, "xsel", script, DISPLAY=":0")
    ran = jpq("-m", "scripted//no/such", "q", "-a", "clipboard:", environ=environ)
    ran.failed_with(65, words)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
def test_a_clipboard_without_end(tmp_path: Any) -> None:
    script = 'case "$*" in *TARGETS*) echo TEXT;; *) exec /bin/cat /dev/zero;; esac'
    environ = fake(tmp_path, "xclip", script, DISPLAY=":0")
    ran = jpq("-m", "scripted//no/such", "q", "-a", "clipboard:", environ=environ)
    ran.failed_with(65, "larger than 15 MB")


@pytest.mark.skipif(os.name != "posix", reason="process groups")
@pytest.mark.parametrize("last", ["wait", "exit 0"])
def test_of_a_clipboard_that_hangs_nothing_is_left(
    last: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attach_clipboard, "WAIT_S", 2.0)
    script = f"echo $$ > {tmp_path}/pid\n/bin/sleep 1000 &\n{last}"
    environ = fake(tmp_path, "xclip", script, DISPLAY=":0")
    with pytest.raises(BadInputError, match="did not answer"):
        attach_clipboard.read_clipboard(environ)
    group = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 15.0
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < deadline:  # until init has buried the last of them
            os.killpg(group, 0)
            time.sleep(0.02)


def test_no_program_for_the_clipboard(tmp_path: Any) -> None:
    environ = fake(tmp_path, "xclip", "echo copied")  # there is no screen
    ran = jpq("-m", "scripted//no/such", "q", "-a", "clipboard:", environ=environ)
    ran.failed_with(65, "no program here that reads the clipboard", "xclip")


def told(arguments: List[str], **channels: Any) -> List[str]:
    with Server(answer("Hi")) as server:
        ran = jpq(*model_at(server), "q", *arguments, **channels)
        assert ran.code == 0, ran
        return [line for line in ran.told if "Attached" in line]


def test_sizes_and_tokens_are_told_with_v(tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("x" * 4000)
    (tmp_path / "dot.png").write_bytes(PNG)
    files = ["-a", "a.txt", "-a", "dot.png"]
    assert told(files, cwd=str(tmp_path)) == []
    assert told([*files, "-v"], cwd=str(tmp_path)) == [
        "jpq: Attached a.txt: text, 4.0 kB, about 1,000 tokens.",
        "jpq: Attached dot.png: png, 16 B, about 1,000 tokens.",
    ]
    (tmp_path / "few").write_text("hi")
    assert told(["-a", "few", "-v"], cwd=str(tmp_path)) == [
        "jpq: Attached few: text, 2 B, about 1 token."
    ]
    for number in range(6):
        (tmp_path / f"{number}.txt").write_text("x" * 4000)
    assert told(["-a", "?.txt", "-v"], cwd=str(tmp_path)) == [
        "jpq: Attached 7 files: 28.0 kB, about 7,000 tokens."
    ]


def test_they_are_told_on_a_terminal(tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("x" * 4000)
    with Server(answer("Hi")) as server:
        argv = [*JPQ, *model_at(server), "q", "-a", "a.txt"]
        with Child(argv, environment(TERM="xterm"), str(tmp_path), terminal=True) as child:
            child.wait_for(b"Attached a.txt: text, 4.0 kB, about 1,000 tokens.")
            assert child.end() == 0


def test_what_does_not_fit_into_the_model_is_refused_before_it_is_sent(tmp_path: Any) -> None:
    (tmp_path / "long.txt").write_text("word " * 4000)
    models = {
        "data": [{"id": "tiny", "context_length": 2000}, {"id": "small", "context_length": 4500}]
    }
    body = json.dumps(models).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    with Server([head % len(body), body], answer("Hi")) as server:
        at = ["--set", f"providers.custom.base_url={server.url}"]
        environ = environment(JPQ_SET_PROVIDERS__CUSTOM__BASE_URL=server.url)
        listed = jpq("models", "ls", "--provider", "custom", "--remote", environ=environ)
        assert "2000 tokens of context" in listed.text, listed
        path = str(tmp_path / "long.txt")
        ran = jpq(*at, "-m", "custom/tiny", "q", "-a", path)
        ran.failed_with(65, "do not fit", "5,000 tokens", "2,000 in all")
        ran = jpq(*at, "-m", "custom/small", "q", "-a", path)
        assert ran.code == 0 and "may not fit" in ran.told[0], ran
        assert len(server.seen) == 2
