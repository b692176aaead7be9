"""``jpq render``: a filter for Markdown."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from jpq.cli.environment import Environment
from jpq.cli.render_cmd import build_parser, run
from jpq.errors import BadInputError
from tests.support.ptys import ROOT, Child, environment, jpq

TEXT = "# Title\n\nSome **bold** words \u2014 and a [link](http://x).\n"


@pytest.fixture
def render(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))

    def call(*words, stdin=b"", **environ):
        stdout = io.BytesIO()
        source = None if stdin is None else io.BytesIO(stdin)
        environ = {"JPQ_HOME": str(tmp_path), **environ}
        env = Environment(environ, os.sep, source, stdout, io.BytesIO())
        assert run(build_parser("jpq render").parse_args(words), env) == 0
        return stdout.getvalue().decode()

    return call


def test_a_pipe_gets_laid_out_text_without_escapes(render):
    assert render(stdin=TEXT.encode()) == (
        "# Title\n\nSome bold words \u2014 and a link (http://x).\n"
    )


def test_a_file_is_drawn_like_stdin(render, tmp_path):
    path = tmp_path / "a.md"
    path.write_text(TEXT, encoding="utf-8")
    assert render(str(path)) == render("-", stdin=TEXT.encode())


def test_options_say_how(render):
    seen = render("--color", "always", "--wrap", "12", stdin=TEXT.encode(), TERM="xterm-256color")
    assert "\x1b[1mbold\x1b[0m" in seen and "Some \x1b[1mbold\x1b[0m\nwords" in seen
    assert render("--wrap", "off", stdin=b"a " * 200) == "a " * 199 + "a\n"
    assert render(stdin=b"word " * 20, COLUMNS="20").startswith("word word word word\n")


def test_the_configuration_counts(render, tmp_path):
    (tmp_path / "config.toml").write_text('[style]\nwrap = 10\nsanitize = "visualize"\n')
    assert render(stdin=b"one two three \x1b") == "one two\nthree \u241b\n"


def test_bytes_that_are_no_utf8_and_a_mark_of_the_order_of_bytes(render):
    assert render(stdin=b"\xef\xbb\xbf# \xff\n") == "# \ufffd\n"


@pytest.mark.parametrize("name", ["missing.md", ".", "a\0b"])
def test_a_file_that_cannot_be_read(render, name):
    with pytest.raises(BadInputError, match="Cannot read it"):
        render(name)


def test_a_closed_stdin(render):
    with pytest.raises(BadInputError, match="stdin is closed"):
        render(stdin=None)


def test_what_comes_is_drawn_while_it_comes(tmp_path):
    environ = environment(str(tmp_path), {"PATH": os.environ["PATH"]})
    with Child(
        jpq("render", "--wrap", "off"), environ, str(tmp_path), terminal=False, stdin=True
    ) as child:
        child.process.stdin.write(b"# One\n\nand **tw")
        child.process.stdin.flush()
        child.wait_for(b"# One\n\nand")
        child.wait_for(b" **tw")  # nothing follows: it is text
        child.process.stdin.close()
        assert child.end() == 0
    assert bytes(child.output) == b"# One\n\nand **tw\n"


def test_what_may_become_a_mark_is_held_back_and_then_shown_as_text(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    read, write = os.pipe()
    pieces = []

    class Stdout(io.BytesIO):
        def write(self, data):
            pieces.append(bytes(data))
            if b"**tw" in data:
                os.close(write)  # not before
            return len(data)

    os.write(write, b"and **tw")
    with open(read, "rb") as stdin:
        env = Environment({"JPQ_HOME": str(tmp_path)}, os.sep, stdin, Stdout(), io.BytesIO())
        assert run(build_parser("jpq render").parse_args(["--wrap", "off"]), env) == 0
    assert [piece for piece in pieces if piece] == [b"and", b" **tw", b"\n"]


def test_a_reader_that_leaves_ends_it_silently(tmp_path):
    path = tmp_path / "long.md"
    path.write_text("word " * 200_000)
    environ = environment(str(tmp_path), {"PATH": os.environ["PATH"]})
    with subprocess.Popen(
        jpq("render", str(path)),
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.read(10) == b"word word "
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode in (141, -13)


def test_a_terminal_gets_colours(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("**a** `b`\n")
    environ = environment(str(tmp_path), {"PATH": os.environ["PATH"]})
    with Child(jpq("render", str(path)), environ, str(tmp_path), terminal=True) as child:
        child.wait_for(b"\n")
        assert child.end() == 0
    assert bytes(child.output) == b"\x1b[1ma\x1b[0m \x1b[33mb\x1b[0m\r\n"
