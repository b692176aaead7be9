"""Python tools: what a function says about itself, and what becomes of its results and words."""

from __future__ import annotations

import os
import sys
import threading
import typing
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

import pytest

from jpq.errors import ConfigError
from jpq.interrupt.cancel import CancelToken
from jpq.tools.arguments import ArgumentCheck
from jpq.tools.definition import Invocation, Question, ToolOutput, ToolSpec
from jpq.tools.python_function import PythonTool, ToolContext, load_function, result_text
from jpq.tools.python_schema import describe_function, read_docstring

WAIT_S = 30.0


def schema(function: Callable[..., Any]) -> Mapping[str, Any]:
    return describe_function(function, "tools.f.function", (ToolContext,)).parameters


def properties(function: Callable[..., Any]) -> Dict[str, Any]:
    found: Dict[str, Any] = schema(function)["properties"]
    return found


def file_tool(folder: Any, code: str, name: str = "f", **spec: Any) -> PythonTool:
    path = os.path.join(str(folder), f"{name}.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    settings = {"function": f"{name}.py:{name}"}
    return PythonTool(ToolSpec(name, "python", settings=settings, **spec), str(folder))


def call(
    tool: PythonTool,
    progress: Callable[[str], None] = lambda text: None,
    ask: Callable[[Question], str] = lambda question: "",
    full_output: Optional[str] = None,
    **arguments: Any,
) -> ToolOutput:
    invocation = Invocation("c1", arguments, {}, "/work", full_output, ask)
    return tool.run(invocation, CancelToken(), progress)


def test_annotations_and_defaults_become_a_schema() -> None:
    def search(words: str, limit: int = 5, deep: bool = False, near: Optional[float] = None) -> str:
        """Search things."""
        return ""

    assert schema(search) == {
        "type": "object",
        "properties": {
            "words": {"type": "string"},
            "limit": {"type": "integer", "default": 5},
            "deep": {"type": "boolean", "default": False},
            "near": {"type": ["number", "null"]},
        },
        "required": ["words"],
        "additionalProperties": False,
    }


class Place(typing.TypedDict):
    name: str
    size: int


def test_types_that_json_has() -> None:
    def f(
        a: List[str],
        b: Dict[str, int],
        c: typing.Literal["x", "y"],
        d: Union[int, List[int]],
        e: Any,
        f,  # type: ignore[no-untyped-def]
        g: list,  # type: ignore[type-arg]
        h: dict,  # type: ignore[type-arg]
        i: Place,
        j: Tuple[int, ...],
        k: List,  # type: ignore[type-arg]
    ) -> None:
        """Nothing."""

    assert properties(f) == {
        "a": {"type": "array", "items": {"type": "string"}},
        "b": {"type": "object", "additionalProperties": {"type": "integer"}},
        "c": {"enum": ["x", "y"]},
        "d": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "e": {},
        "f": {},
        "g": {"type": "array"},
        "h": {"type": "object", "additionalProperties": True},
        "i": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
            "required": ["name", "size"],
            "additionalProperties": False,
        },
        "j": {"type": "array", "items": {"type": "integer"}},
        "k": {"type": "array"},
    }


def test_newer_spellings_are_the_same_where_python_knows_them() -> None:
    def f(a: list[int], b: int | None, c: typing.Annotated[str, "which one"]) -> None:
        """Nothing."""

    if sys.version_info < (3, 10):
        with pytest.raises(ConfigError, match="its signature cannot be read"):
            properties(f)
        return
    assert properties(f) == {
        "a": {"type": "array", "items": {"type": "integer"}},
        "b": {"type": ["integer", "null"]},
        "c": {"type": "string", "description": "which one"},
    }


@pytest.mark.parametrize(
    "code,words",
    [
        ("def f(*words): pass", "any number of arguments"),
        ("def f(**words): pass", "any number of arguments"),
        ("async def f(n: int): pass", "async or yields"),
        ("async def f(n: int): yield n", "async or yields"),
        ("def f(n: int): yield n", "async or yields"),
        ("def f(a, /): pass", "cannot be given by name"),
        ("def f(a: complex): pass", "JSON has no type for"),
        ("def f(a: set): pass", "take a list"),
        ("def f(a: 'Nowhere'): pass", "Nowhere"),
    ],
)
def test_what_json_cannot_express_is_told(code: str, words: str) -> None:
    names: Dict[str, Any] = {}
    exec(code, names)
    with pytest.raises(ConfigError, match=words):
        schema(names["f"])


GOOGLE = """Find a thing.

It may take long.

Args:
    words (str): What to look for,
        in any language.
    limit: How many.

Returns:
    A list: of things.
"""
SPHINX = """Find a thing.

It may take long.

:param str words: What to look for,
    in any language.
:param limit: How many.
:returns: a list
:rtype: list
"""
NUMPY = """Find a thing.

It may take long.

Parameters
----------
words : str
    What to look for,
    in any language.
limit : int, optional
    How many.

Returns
-------
list
    Of things.
"""


@pytest.mark.parametrize("doc", [GOOGLE, SPHINX, NUMPY], ids=["google", "sphinx", "numpy"])
def test_docstrings_of_every_school(doc: str) -> None:
    assert read_docstring(doc) == (
        "Find a thing.\n\nIt may take long.",
        {"words": "What to look for, in any language.", "limit": "How many."},
    )


def test_no_docstring_is_no_description() -> None:
    assert read_docstring("") == ("", {})


def test_a_function_of_a_file_is_described_and_run(tmp_path: Any) -> None:
    code = (
        "from __future__ import annotations\n"
        "import typing\n"
        "def f(name: str, times: int = 1) -> str:\n"
        "    '''Greet.\n\n    :param name: who\n    '''\n"
        "    return 'Hello ' * times + name\n"
    )
    tool = file_tool(tmp_path, code)
    described = PythonTool.describe("f", tool.spec.settings, str(tmp_path))
    assert described.description == "Greet."
    assert described.parameters["properties"]["name"] == {"type": "string", "description": "who"}
    assert ArgumentCheck("f", described.parameters).complaint({"name": "x", "times": 2}) is None
    assert call(tool, name="x", times=2) == ToolOutput("Hello Hello x")


def test_a_function_of_a_module() -> None:
    settings = {"function": "os.path:basename"}
    tool = PythonTool(ToolSpec("base", "python", settings=settings), "/")
    assert call(tool, p="/a/b").content == "b"


def package(folder: Path, name: str, declared: str) -> None:
    """A package as it is once it is installed in ``folder``."""
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[jpq.tools]\n{declared}\n")
    (folder / f"{name}.py").write_text("def double(n: int) -> int:\n    return 2 * n\n")


def test_a_function_that_an_installed_package_declares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path / "one", "numbers_of_one", "double = numbers_of_one:double")
    monkeypatch.syspath_prepend(str(tmp_path / "one"))
    tool = PythonTool(ToolSpec("twice", "python", settings={"function": "double"}), "/")
    assert call(tool, n=4).content == "8"
    with pytest.raises(ConfigError) as caught:
        load_function("treble", "/", "tools.x.function")
    assert "jpq.tools are: double." in caught.value.hint
    package(tmp_path / "two", "numbers_of_two", "double = numbers_of_two:double")
    monkeypatch.syspath_prepend(str(tmp_path / "two"))
    with pytest.raises(ConfigError, match="More than one") as caught:
        load_function("double", "/", "tools.x.function")
    assert "numbers_of_one:double, numbers_of_two:double" in caught.value.hint


@pytest.mark.parametrize(
    "reference,words",
    [
        ("", "needs a function"),
        ("no_colon", "No installed package has a tool function 'no_colon'"),
        (":no_module", "needs a function"),
        ("no_such_module_anywhere:f", "No module named"),
        ("os.path:nothing", "no attribute"),
        ("os:sep", "is not a function"),
        ("missing.py:f", "cannot be loaded: FileNotFoundError"),
        ("broken.py:f", "cannot be loaded: SyntaxError"),
    ],
)
def test_a_function_that_cannot_be_had(reference: str, words: str, tmp_path: Any) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    with pytest.raises(ConfigError, match=words):
        PythonTool(ToolSpec("f", "python", settings={"function": reference}), str(tmp_path))


class Point(NamedTuple):
    x: int


@pytest.mark.parametrize(
    "value,text",
    [
        ("plain", "plain"),
        ("", "(no output)"),
        (None, "(no output)"),
        ({"a": [1, None, "\u00e4"]}, '{"a": [1, null, "\u00e4"]}'),
        (True, "true"),
        (b"caf\xe9", "caf\ufffd"),
        (Point(1), '{"x": 1}'),
        (complex(1, 2), '"(1+2j)"'),
    ],
)
def test_what_it_returns_becomes_text(value: Any, text: str) -> None:
    assert result_text(value) == text


def test_what_it_prints_is_progress_and_never_on_stdout(tmp_path: Any, capsys: Any) -> None:
    shown: List[str] = []
    output = call(file_tool(tmp_path, "def f():\n    print('one', 2)\n"), shown.append)
    assert output.content == "one 2\n"
    assert "".join(shown) == "one 2\n"
    assert capsys.readouterr().out == ""


def test_others_print_as_before_while_it_runs(tmp_path: Any, capsys: Any) -> None:
    inside, go_on = threading.Event(), threading.Event()
    before = sys.stdout

    def progress(text: str) -> None:
        inside.set()
        assert go_on.wait(WAIT_S)

    tool = file_tool(tmp_path, "def f():\n    print('mine')\n")
    thread = threading.Thread(target=lambda: call(tool, progress))
    thread.start()
    assert inside.wait(WAIT_S)
    print("ours", flush=True)
    assert sys.stdout.encoding == before.encoding
    go_on.set()
    thread.join(WAIT_S)
    assert capsys.readouterr().out == "ours\n"
    assert sys.stdout is before


def test_the_context_is_given_to_who_asks_for_it_and_hidden_from_the_model(tmp_path: Any) -> None:
    code = (
        "from jpq.tools.definition import Question\n"
        "from jpq.tools.python_function import ToolContext\n"
        "def f(name: str, context: ToolContext) -> str:\n"
        "    context.progress('working')\n"
        "    answer = context.ask(Question('Really?'))\n"
        "    return f'{name} {answer} {context.cwd} {context.cancel.cancelled}'\n"
    )
    tool = file_tool(tmp_path, code)
    shown: List[str] = []
    assert list(PythonTool.describe("f", tool.spec.settings, str(tmp_path)).parameters["properties"]
                ) == ["name"]  # fmt: skip
    output = call(tool, shown.append, lambda question: question.text.upper(), name="x")
    assert output.content == "x REALLY? /work False"
    assert shown == ["working"]


def test_a_long_result_is_cut_and_whole_in_its_file(tmp_path: Any) -> None:
    path = str(tmp_path / "full.txt")
    tool = file_tool(tmp_path, "def f():\n    return 'x' * 1000\n", max_output_bytes=100)
    output = call(tool, full_output=path)
    assert "900 bytes left out" in output.content and output.full_output == path
    assert os.path.getsize(path) == 1000


def test_what_it_raises_is_for_the_worker_to_tell(tmp_path: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        call(file_tool(tmp_path, "def f():\n    return 1 / 0\n"))
