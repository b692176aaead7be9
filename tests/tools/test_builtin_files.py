"""The file tools: what they deliver, what they change, and where they never go."""

from __future__ import annotations

import base64
import os
import stat
import threading
import time
from typing import Any, List, Optional

import pytest

from jpq.interrupt.cancel import CancelToken
from jpq.tools.arguments import ArgumentCheck
from jpq.tools.builtin import search_files
from jpq.tools.builtin.diff import shown_diff
from jpq.tools.capture import Capture
from jpq.tools.definition import STOPPED, Invocation, Tool, ToolOutput, ToolSpec
from jpq.tools.media import MEDIUM_BYTES
from jpq.tools.registry import BUILTINS

WAIT_S = 30.0

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and modes are POSIX's")


def builtin(name: str, folder: Any, max_output_bytes: int = 65536, **settings: Any) -> Tool:
    module, _, attribute = BUILTINS[name].partition(":")
    kind = getattr(__import__(module, fromlist=[attribute]), attribute)
    described = kind.describe(name, settings, str(folder))
    spec = ToolSpec(
        name,
        "builtin",
        described.description,
        described.parameters,
        max_output_bytes=max_output_bytes,
        settings=settings,
    )
    made: Tool = kind(spec, str(folder))
    return made


def call(tool: Tool, cancel: Optional[CancelToken] = None, **arguments: Any) -> ToolOutput:
    assert ArgumentCheck(tool.spec.name, tool.spec.parameters).complaint(arguments) is None
    invocation = Invocation("c1", arguments, os.environ, tool.cwd, None, lambda question: "")
    return tool.run(invocation, cancel or CancelToken(), lambda text: None)


def refused(tool: Tool, *words: str, **arguments: Any) -> None:
    output = call(tool, **arguments)
    assert output.is_error
    assert not [word for word in words if word not in output.content], output.content


def write(folder: Any, name: str, data: bytes) -> str:
    path = os.path.join(str(folder), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(folder: Any, name: str) -> bytes:
    with open(os.path.join(str(folder), name), "rb") as file:
        return file.read()


@pytest.fixture
def fenced(tmp_path: Any) -> Any:
    """A working folder beside things that are nobody's business."""
    write(tmp_path, "secret/key", b"secret\n")
    write(tmp_path, "work-too/key", b"secret\n")
    work = tmp_path / "work"
    write(work, "a.txt", b"one\n")
    os.symlink("../secret", str(work / "out"))
    os.symlink("../secret/key", str(work / "key"))
    os.symlink("../secret/new", str(work / "dangling"))
    os.symlink("a.txt", str(work / "within"))
    return work


OUTSIDE = ["../secret/key", "out/key", "key", "/etc/passwd", "~/x", "a/../../secret/key",
           "../work-too/key", "dangling", "out"]  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_and_no_link_leads_outside(path: str, fenced: Any) -> None:
    for name, more in [
        ("read_file", {}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"old": "secret", "new": "x"}),
        ("list_files", {}),
        ("search_files", {"pattern": "secret"}),
    ]:
        tool = builtin(name, fenced)
        refused(tool, "outside of", "may work only there", path=path, **more)
        assert "secret\n" not in tool.preview({"path": path, **more})
    assert read(fenced, "../secret/key") == b"secret\n"
    assert os.listdir(str(fenced.parent / "secret")) == ["key"]


def test_a_link_is_named_as_the_reason(fenced: Any) -> None:
    refused(builtin("read_file", fenced), "key leads through a link to a place", path="key")


def test_roots_allow_more(fenced: Any) -> None:
    tool = builtin("read_file", fenced, roots=[".", "../secret"])
    assert call(tool, path="key").content == "secret\n"
    assert call(tool, path="within").content == "one\n"
    refused(tool, "outside of", path="../work-too/key")


def test_the_root_of_all_is_a_root(fenced: Any) -> None:
    assert call(builtin("read_file", fenced, roots=["/"]), path="key").content == "secret\n"


@pytest.mark.parametrize(
    "path,words",
    [("none.txt", "none.txt cannot be read: No such file"), (".", "is a folder"),
     ("pipe", "not a regular file"), ("a\0b", "zero byte"), ("x" * 5000, "cannot be")],
)  # fmt: skip
def test_what_cannot_be_read_is_told(path: str, words: str, fenced: Any) -> None:
    os.mkfifo(str(fenced / "pipe"))
    refused(builtin("read_file", fenced), words, path=path)


def test_a_long_file_comes_in_parts_that_join(tmp_path: Any) -> None:
    data = b"".join(b"line %d\n" % number for number in range(1, 501))
    write(tmp_path, "long", data)
    tool = builtin("read_file", tmp_path, max_output_bytes=1000)
    whole, offset = "", 1
    while True:
        output = call(tool, path="long", offset=offset)
        assert len(output.content) <= 1000
        text, _, told = output.content.rpartition("[")
        whole += text
        if "go on with" not in told:
            assert told.endswith("to 500 of 500]")
            break
        offset = int(told.rstrip("]").split()[-1])
    assert whole.encode() == data


@pytest.mark.parametrize(
    "arguments,content",
    [
        ({"offset": 2, "limit": 1}, "b\n[lines 2 to 2 of 3; go on with offset = 3]"),
        ({"offset": 3}, "c\n[lines 3 to 3 of 3]"),
        ({"limit": 3}, "a\nb\nc"),
        ({}, "a\nb\nc"),
    ],
)
def test_lines_can_be_chosen(arguments: Any, content: str, tmp_path: Any) -> None:
    write(tmp_path, "f", b"a\nb\nc")
    assert call(builtin("read_file", tmp_path), path="f", **arguments).content == content


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [("a.bin", b"\x89PNG\r\n\x1a\n\0", "image/png"), ("b", b"%PDF-1.7\n\0", "application/pdf")],
)
def test_a_picture_or_a_pdf_is_passed_on(name: str, data: bytes, kind: str, tmp_path: Any) -> None:
    write(tmp_path, name, data)
    output = call(builtin("read_file", tmp_path), path=name)
    assert output.content == f"[{name}: {kind}, {len(data)} bytes]"
    (attached,) = output.attachments
    assert (attached.name, attached.media_type) == (name, kind)
    assert base64.b64decode(attached.content) == data
    write(tmp_path, name, data + b"\0" * MEDIUM_BYTES)
    refused(builtin("read_file", tmp_path), "is binary", path=name)


def test_odd_files(tmp_path: Any) -> None:
    tool = builtin("read_file", tmp_path, max_output_bytes=300)
    write(tmp_path, "empty", b"")
    assert call(tool, path="empty").content == "(the file is empty)"
    write(tmp_path, "one-line", b"x" * 5000 + b"\nend\n")
    content = call(tool, path="one-line").content
    assert "4901 more bytes of this line]" in content and "go on with offset = 2" in content
    assert call(tool, path="one-line", offset=2).content.startswith("end\n")
    write(tmp_path, "latin", b"caf\xe9\n")
    assert call(tool, path="latin").content == "caf\ufffd\n"
    write(tmp_path, "binary", b"\x7fELF\0\0")
    refused(tool, "binary is binary, 6 bytes", path="binary")
    refused(tool, "has 2 lines, and none from line 9 on", path="one-line", offset=9)


def test_a_file_is_written_whole_with_the_folders_on_its_way(tmp_path: Any) -> None:
    tool = builtin("write_file", tmp_path)
    assert (
        call(tool, path="a/b/c.txt", content="h\u00e4\n").content == "Created a/b/c.txt, 4 bytes."
    )
    assert read(tmp_path, "a/b/c.txt") == "h\u00e4\n".encode()
    assert call(tool, path="a/b/c.txt", content="").content == "Replaced a/b/c.txt, 0 bytes."
    assert os.listdir(str(tmp_path / "a" / "b")) == ["c.txt"]


def test_mode_and_link_stay(fenced: Any) -> None:
    path = os.path.join(str(fenced), "a.txt")
    os.chmod(path, 0o750)
    call(builtin("write_file", fenced), path="within", content="new")
    assert os.readlink(str(fenced / "within")) == "a.txt"
    assert read(fenced, "a.txt") == b"new"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o750


def test_a_new_file_obeys_the_umask(tmp_path: Any) -> None:
    before = os.umask(0o027)
    try:
        call(builtin("write_file", tmp_path), path="f", content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(str(tmp_path / "f")).st_mode) == 0o640


def test_readers_see_the_old_or_the_new_and_never_a_part(tmp_path: Any) -> None:
    texts = ["a" * 100_000, "b" * 100_000]
    tool = builtin("write_file", tmp_path)
    call(tool, path="f", content=texts[0])
    done = threading.Event()
    seen: List[bytes] = []

    def watch() -> None:
        while not done.is_set():
            seen.append(read(tmp_path, "f"))

    thread = threading.Thread(target=watch)
    thread.start()
    for number in range(10):
        call(tool, path="f", content=texts[number % 2])
    done.set()
    thread.join(WAIT_S)
    assert {bytes(data) for data in seen} <= {text.encode() for text in texts}


@pytest.mark.parametrize("path,words", [("pipe", "not a regular file"), ("d", "not a regular file"),
                                        ("a.txt/x", "cannot be written")])  # fmt: skip
def test_what_cannot_be_written_is_told_and_nothing_is_left(
    path: str, words: str, fenced: Any
) -> None:
    os.mkfifo(str(fenced / "pipe"))
    os.mkdir(str(fenced / "d"))
    before = sorted(os.listdir(str(fenced)))
    refused(builtin("write_file", fenced), words, path=path, content="x")
    assert sorted(os.listdir(str(fenced))) == before


def test_a_read_only_file_stays(tmp_path: Any) -> None:
    os.chmod(write(tmp_path, "f", b"old"), 0o444)
    refused(builtin("write_file", tmp_path), "f is read-only", path="f", content="x")


def test_the_prompt_shows_what_a_write_would_change(tmp_path: Any) -> None:
    tool = builtin("write_file", tmp_path)
    assert tool.preview({"path": "new", "content": "a\nb\n"}) == (
        "new file new\n--- new\n+++ new\n@@ -0,0 +1,2 @@\n+a\n+b"
    )
    write(tmp_path, "f", b"a\nb\nc\n")
    assert "-b\n+x" in tool.preview({"path": "f", "content": "a\nx\nc\n"})
    assert tool.preview({"path": "f", "content": "a\nb\nc\n"}) == "f stays as it is"
    write(tmp_path, "g", b"\xff\xfe")
    assert "g is not UTF-8 text" in tool.preview({"path": "g", "content": "x"})


def test_an_exact_text_is_replaced_once(tmp_path: Any) -> None:
    write(tmp_path, "f.py", b"def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    tool = builtin("edit_file", tmp_path)
    arguments = {"path": "f.py", "old": "    return 2", "new": "    return 3\n    # done"}
    assert tool.preview(arguments) == (
        "--- f.py\n+++ f.py\n@@ -3,4 +3,5 @@\n \n \n def g():\n-    return 2\n+    return 3\n"
        "+    # done"
    )
    assert call(tool, **arguments).content == "Replaced it once in f.py, line 6."
    assert read(tmp_path, "f.py").endswith(b"def g():\n    return 3\n    # done\n")


@pytest.mark.parametrize(
    "old,new,words",
    [
        ("missing", "x", "is not in f. Read the file again"),
        ("two  three", "x", "Line 2 begins like it"),
        ("a", "x", "is in f 2 times, lines 1, 3. Give more of the text around it, or all = true"),
        ("", "x", "old is empty"),
        ("a", "a", "Nothing would change"),
    ],
)
def test_an_edit_that_is_not_clear_changes_nothing(
    old: str, new: str, words: str, tmp_path: Any
) -> None:
    write(tmp_path, "f", b"a\ntwo three\na\n")
    tool = builtin("edit_file", tmp_path)
    refused(tool, words, path="f", old=old, new=new)
    assert words in tool.preview({"path": "f", "old": old, "new": new})
    assert read(tmp_path, "f") == b"a\ntwo three\na\n"


def test_all_occurrences_if_told_so(tmp_path: Any) -> None:
    write(tmp_path, "f", b"a b a\na\n")
    output = call(builtin("edit_file", tmp_path), path="f", old="a", new="aa", all=True)
    assert output.content == "Replaced it 3 times in f, lines 1, 1, 2."
    assert read(tmp_path, "f") == b"aa b aa\naa\n"


def test_line_ends_and_marks_of_other_systems_stay(tmp_path: Any) -> None:
    write(tmp_path, "f", b"\xef\xbb\xbfone\r\ntwo\r\nthree")
    call(builtin("edit_file", tmp_path), path="f", old="one\ntwo", new="1\n2")
    assert read(tmp_path, "f") == b"\xef\xbb\xbf1\r\n2\r\nthree"


def test_what_is_no_text_is_not_edited(tmp_path: Any) -> None:
    write(tmp_path, "f", b"ab\xff")
    refused(
        builtin("edit_file", tmp_path), "not UTF-8 text (at byte 2)", path="f", old="a", new="b"
    )


def test_a_diff_is_quick_and_short_however_large_the_file() -> None:
    lines = [f"line {number}\n" for number in range(200_000)]
    changed = [*lines[:100_000], "new\n", *lines[100_001:]]
    started = time.monotonic()
    shown = shown_diff("f", "".join(lines), "".join(changed))
    assert shown.split("\n")[2:] == [
        "@@ -99998,7 +99998,7 @@", " line 99997", " line 99998", " line 99999",
        "-line 100000", "+new", " line 100001", " line 100002", " line 100003",
    ]  # fmt: skip
    other = "".join(f"{number}\n" for number in range(200_000))
    assert shown_diff("f", "".join(lines), other) == (
        "f: 200000 lines become 200000 lines, from line 1 on"
    )
    assert shown_diff("f", "", "x\n" * 1000).endswith("more lines of the diff")
    assert time.monotonic() - started < 60


def test_a_missing_last_line_end_is_told_as_diff_does() -> None:
    assert shown_diff("f", "a\n", "a").split("\n")[3:] == [
        "-a", "+a", "\\ No newline at end of file",
    ]  # fmt: skip


@pytest.fixture
def tree(tmp_path: Any) -> Any:
    for name in ("b.py", "a.txt", "sub/c.py", "sub/deep/d.py", ".git/config", ".hidden"):
        write(tmp_path, name, b"import os\nprint('Hello')\n")
    os.symlink("sub", str(tmp_path / "link"))
    return tmp_path


@pytest.mark.parametrize(
    "arguments,lines",
    [
        ({}, [".git/", ".hidden", "a.txt", "b.py", "link -> sub", "sub/"]),
        ({"path": "sub"}, ["c.py", "deep/"]),
        ({"pattern": "*.py", "recursive": True}, ["b.py", "sub/c.py", "sub/deep/d.py"]),
        ({"recursive": True},
         [".git/", ".hidden", "a.txt", "b.py", "link -> sub", "sub/", "sub/c.py", "sub/deep/",
          "sub/deep/d.py"]),
        ({"pattern": "nothing*"}, ["(nothing)"]),
    ],
)  # fmt: skip
def test_folders_are_listed(arguments: Any, lines: List[str], tree: Any) -> None:
    assert call(builtin("list_files", tree), **arguments).content.split("\n") == lines


def test_a_listing_has_an_end(tmp_path: Any) -> None:
    for number in range(1005):
        write(tmp_path, f"{number:04}", b"")
    lines = call(builtin("list_files", tmp_path)).content.split("\n")
    assert len(lines) == 1001 and lines[-1].startswith("[more than 1000")


def test_only_folders_are_listed(tree: Any) -> None:
    refused(builtin("list_files", tree), "a.txt is not a folder", path="a.txt")
    refused(builtin("list_files", tree), "none is not a folder", path="none")


@pytest.mark.parametrize(
    "arguments,lines",
    [
        ({"pattern": "import", "glob": "*.py"},
         ["b.py:1: import os", "sub/c.py:1: import os", "sub/deep/d.py:1: import os"]),
        ({"pattern": "hello", "path": "a.txt", "ignore_case": True}, ["a.txt:2: print('Hello')"]),
        ({"pattern": r"^pr\w+\(", "path": "sub", "glob": "c*", "regex": True},
         ["sub/c.py:2: print('Hello')"]),
        ({"pattern": "(", "path": "b.py"}, ["b.py:2: print('Hello')"]),
        ({"pattern": "nowhere"}, ["(no match)"]),
    ],
)  # fmt: skip
def test_lines_are_found(arguments: Any, lines: List[str], tree: Any) -> None:
    output = call(builtin("search_files", tree), **arguments)
    assert (output.content.split("\n"), output.is_error) == (lines, False)


def test_what_is_binary_or_hidden_by_version_control_is_not_searched(tree: Any) -> None:
    write(tree, "bin", b"\0import os")
    os.mkfifo(str(tree / "pipe"))
    content = call(builtin("search_files", tree), pattern="import").content
    assert "bin:" not in content and ".git" not in content and "link" not in content


def test_matches_have_an_end(tmp_path: Any) -> None:
    write(tmp_path, "f", b"x\n" * 500)
    lines = call(builtin("search_files", tmp_path), pattern="x").content.split("\n")
    assert len(lines) == 201 and lines[-1].startswith("[more than 200 matches")


def test_a_wrong_pattern_is_told(tree: Any) -> None:
    refused(builtin("search_files", tree), "is no regular expression", pattern="(", regex=True)
    refused(builtin("search_files", tree), "none does not exist", pattern="x", path="none")


def test_a_pattern_that_takes_for_ever_can_be_cancelled(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's matcher holds its whole process up; so it must not be ours."""
    write(tmp_path, "a", b"first a\n")
    write(tmp_path, "b", b"a" * 100 + b"!\n")
    token = CancelToken()

    class Cancelling(Capture):
        """The first match has come: only what takes for ever is left."""

        def add(self, data: bytes) -> None:
            super().add(data)
            token.cancel()

    monkeypatch.setattr(search_files, "Capture", Cancelling)
    started = time.monotonic()
    output = call(builtin("search_files", tmp_path), token, pattern="first|^(a+)+$", regex=True)
    assert time.monotonic() - started < 60
    assert (output.ended, output.content) == (STOPPED, "a:1: first a\n")


def test_names_that_are_no_text(tmp_path: Any) -> None:
    with open(os.path.join(os.fsencode(str(tmp_path)), b"caf\xe9"), "wb") as file:
        file.write(b"found me\n")
    assert call(builtin("search_files", tmp_path), pattern="found").content == "caf?:1: found me"
    assert call(builtin("list_files", tmp_path)).content == "caf\ufffd"
