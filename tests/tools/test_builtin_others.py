"""The builtins that run, fetch and ask."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, List, Optional

import pytest

from jpq.interrupt.cancel import CancelToken
from jpq.tools.arguments import ArgumentCheck
from jpq.tools.builtin.ask_user import AskUserTool
from jpq.tools.builtin.fetch_url import FetchUrlTool
from jpq.tools.builtin.page_text import page_text
from jpq.tools.builtin.shell import ShellTool
from jpq.tools.definition import (
    STOPPED,
    UNATTENDED,
    Invocation,
    Question,
    QuestionFailed,
    Tool,
    ToolOutput,
    ToolSpec,
)
from tests.support.server import Server, error, head


def builtin(kind: Any, **settings: Any) -> Tool:
    described = kind.describe("tool", settings, "/")
    spec = ToolSpec("tool", "builtin", parameters=described.parameters, settings=settings)
    made: Tool = kind(spec, "/")
    return made


def no_question(question: Question) -> str:
    raise AssertionError("nothing was to be asked")


def call(
    tool: Tool,
    ask: Callable[[Question], str] = no_question,
    cancel: Optional[CancelToken] = None,
    progress: Callable[[str], None] = lambda text: None,
    **arguments: Any,
) -> ToolOutput:
    assert ArgumentCheck("tool", tool.spec.parameters).complaint(arguments) is None
    invocation = Invocation("c1", arguments, os.environ, "/", None, ask)
    return tool.run(invocation, cancel or CancelToken(), progress)


def test_a_line_is_the_shell_s_and_shown_as_it_will_run() -> None:
    shell = builtin(ShellTool)
    line = "for i in 1 2; do echo $i; done | tac"
    assert call(shell, command=line).content == "2\n1\n"
    assert shell.preview({"command": line}) == f"$ {line}"
    assert shell.command_line({"command": line}) == line


def test_arguments_are_read_by_no_shell() -> None:
    shell = builtin(ShellTool, env={"LANG": "C"}, cwd="/tmp")
    arguments = {"command": "printf", "args": ["%s|", "a b", "$HOME", ";"]}
    assert call(shell, **arguments).content == "a b|$HOME|;|"
    assert shell.preview(arguments) == "$ printf '%s|' 'a b' '$HOME' ';'\nin /tmp"
    assert shell.command_line(arguments) == ["printf", "%s|", "a b", "$HOME", ";"]
    assert shell.command_line({"command": "ls", "args": []}) == ["ls"]


def test_without_arguments_a_program_with_a_blank_is_not_there() -> None:
    output = call(builtin(ShellTool), command="ls -l", args=[])
    assert output == ToolOutput("Not run: There is no program 'ls -l'.", is_error=True)


def test_a_failing_line_says_how() -> None:
    output = call(builtin(ShellTool), command="echo so far; exit 2")
    assert output == ToolOutput("Failed with exit status 2.\nso far\n", is_error=True)


def test_a_running_line_can_be_cancelled() -> None:
    token = CancelToken()
    output = call(
        builtin(ShellTool),
        cancel=token,
        progress=lambda text: token.cancel(),
        command="echo begun; sleep 300 & wait",
    )
    assert (output.content, output.ended) == ("begun\n", STOPPED)


PAGE = """<!DOCTYPE html>
<html><head><title>The &amp; Page</title><style>p {color: red}</style>
<script>if (1 < 2) alert("no")</script></head>
<body><nav><a href="#top">Top</a></nav>
<h2>News</h2><p>Some   <b>bold</b>
words, and <a href="/more?x=1">more</a>.</p>
<ul><li>one<li>two</ul>
<pre>  kept
    as it is</pre>
<table><tr><td>a</td><td>b</td></tr></table>
</body></html>"""


def test_a_page_becomes_text() -> None:
    assert page_text(PAGE, "http://h/news/").split("\n") == [
        "The & Page", "", "Top", "", "## News", "",
        "Some bold words, and more <http://h/more?x=1>.", "",
        "- one", "- two", "", "kept", "as it is", "", "| a | b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "html", ["", "<", "<a href='http://[bad'>x</a>", "</p></script>", "<title>x", "&#xfffffff;"]
)
def test_a_broken_page_is_read_all_the_same(html: str) -> None:
    assert isinstance(page_text(html, "http://h/"), str)


@pytest.mark.parametrize(
    "body,content_type,arguments,content",
    [
        (PAGE.encode(), "text/html", {"raw": True}, PAGE),
        (b"caf\xe9", "text/plain; charset=latin-1", {}, "caf\u00e9"),
        (b"caf\xe9", "text/plain; charset=none-such", {}, "caf\ufffd"),
        (b'{"a": 1}', "application/vnd.api+json", {}, '{"a": 1}'),
        (b"<h1>x</h1>", "text/html", {}, "# x"),
        (b"<h999999999>x</h999999999>", "text/html", {}, "x"),
        (b"\x89PNG\0", "image/png", {}, "[image/png, 5 bytes]"),
        (b"\0\1", "text/plain", {}, "[text/plain, 2 bytes]"),
        (b"", "text/plain", {}, "(nothing)"),
    ],
)
def test_what_is_fetched(body: bytes, content_type: str, arguments: Any, content: str) -> None:
    with Server(error("200 OK", body, content_type)) as server:
        output = call(builtin(FetchUrlTool), url=server.url, **arguments)
    assert output == ToolOutput(content)


@pytest.mark.parametrize("odd", ["<a ", "<!--", "</", "<?", "<!x"])
def test_a_page_of_tags_without_an_end_takes_no_time(odd: str) -> None:
    """On Pythons that look for the end of each anew it took hours, which nothing could end."""
    begun = time.process_time()
    assert page_text("<p>1 < 2 and a" + odd * 50_000, "http://x/") == "1 < 2 and a"
    assert time.process_time() - begun < 5
    assert page_text("<b>1</b> < 2", "http://x/") == "1 < 2"


def test_a_status_is_an_error_with_what_was_sent() -> None:
    with Server(error("404 Not Found", b"no such page", "text/plain")) as server:
        output = call(builtin(FetchUrlTool), url=server.url)
    assert output == ToolOutput("The server answered with status 404.\nno such page", True)


def test_a_redirect_to_another_server_is_told() -> None:
    elsewhere = "Location: http://169.254.169.254/latest/meta-data/"
    with Server(error("302 Found", b"", "text/plain", elsewhere)) as server:
        output = call(builtin(FetchUrlTool), url=server.url)
    assert output.is_error
    assert "http://169.254.169.254/latest/meta-data/, which is another server" in output.content


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://h/",
        "h/x",
        "http://",
        "http://u:p@h/",
        "http://[x/",
        "HTTP://h/",
        " http://h/",
        "",
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    assert call(builtin(FetchUrlTool), url=url).is_error


def test_an_endless_body_is_cut() -> None:
    megabyte = b"x" * 1_048_576
    steps = [head("text/plain", chunked=False), *[megabyte] * 10]
    with Server(steps) as server:
        output = call(builtin(FetchUrlTool), url=server.url)
    assert output.content.endswith("[cut off after 8 MiB]")
    assert len(output.content) < 70_000


@pytest.mark.parametrize(
    "arguments,question",
    [
        ({}, Question("Which?")),
        ({"choices": ["a", "b"]}, Question("Which?", "choice", ("a", "b"))),
        ({"yes_no": True}, Question("Which?", "yes_no")),
    ],
)
def test_a_question_is_put_as_meant(arguments: Any, question: Question) -> None:
    asked: List[Question] = []

    def ask(put: Question) -> str:
        asked.append(put)
        return "b"

    tool = builtin(AskUserTool)
    assert call(tool, ask, question="Which?", **arguments) == ToolOutput("b")
    assert asked == [question]
    assert tool.default_run == UNATTENDED


def test_nobody_answers() -> None:
    def ask(question: Question) -> str:
        raise QuestionFailed("this run cannot ask")

    output = call(builtin(AskUserTool), ask, question="Which?")
    assert output == ToolOutput("There is no answer: this run cannot ask.", is_error=True)
