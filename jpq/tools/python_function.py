"""Python tools: a function of an installed module or package, or of a file
(docs/tools-kinds.md).

It runs in jpq's own process, on a worker thread. One that does not return is left behind.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import sys
from typing import Any, Callable, Dict, List, Mapping

from jpq.errors import ConfigError
from jpq.interrupt.cancel import CancelToken
from jpq.named import NamedTuple
from jpq.tools.definition import (
    Description,
    Invocation,
    Progress,
    Question,
    Tool,
    ToolOutput,
    ToolSpec,
)
from jpq.tools.limits import capped
from jpq.tools.printed import printing_to
from jpq.tools.python_schema import arguments_of, describe_function

ENTRY_POINTS = "jpq.tools"  # the group in which installed packages name their functions


class ToolContext(NamedTuple):
    """What a function may know of its call: it is given to the parameter annotated with this.

    ``cancel`` says when to stop; ``progress`` shows text while it runs; ``ask`` puts a
    question to the person. ``cwd`` is where relative paths start from.
    """

    cancel: CancelToken
    progress: Progress
    ask: Callable[[Question], str]
    cwd: str


class PythonTool(Tool):
    """Calls ``function``: ``module:name``, ``path/to/file.py:name``, or an entry point's name."""

    def __init__(self, spec: ToolSpec, cwd: str) -> None:
        super().__init__(spec, cwd)
        where = f"tools.{spec.name}.function"
        self._function = load_function(spec.settings.get("function", ""), cwd, where)
        self._context_name = _context_name(self._function, where)

    @classmethod
    def describe(cls, name: str, settings: Mapping[str, Any], cwd: str) -> Description:
        """What the function's annotations and docstring say."""
        where = f"tools.{name}.function"
        function = load_function(settings.get("function", ""), cwd, where)
        return describe_function(function, where, (ToolContext,))

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Call it. What it prints is progress, and its result if it returns none."""
        arguments: Dict[str, Any] = dict(invocation.arguments)
        if self._context_name:
            arguments[self._context_name] = ToolContext(
                cancel, progress, invocation.ask, invocation.cwd
            )
        printed: List[str] = []

        def take(text: str) -> None:
            printed.append(text)
            progress(text)

        with printing_to(take):
            value = self._function(**arguments)
        text = result_text(value, "".join(printed))
        content, full_output = capped(text, self.spec.max_output_bytes, invocation.full_output)
        return ToolOutput(content, full_output=full_output)


def result_text(value: Any, printed: str = "") -> str:
    """What a function returned, as text: a string as it is, anything else as JSON."""
    if value is None:
        return printed or "(no output)"
    if isinstance(value, str):
        return value or "(no output)"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "_asdict"):
        value = value._asdict()
    return json.dumps(value, ensure_ascii=False, default=str)


def load_function(reference: str, cwd: str, where: str) -> Callable[..., Any]:
    """The function that ``reference`` names. Raises ConfigError."""
    module_name, colon, attribute = reference.rpartition(":")
    if not attribute or bool(colon) != bool(module_name):
        raise ConfigError(
            "A Python tool needs a function.",
            where=where,
            hint='Write it as function = "module:name" or "path/to/file.py:name", or as the name '
            f"that an installed package gives it in its entry points for {ENTRY_POINTS}.",
        )
    try:
        if not colon:
            found: Any = _entry_point(reference, where).load()
        else:
            found = _module(module_name, cwd)
            for part in attribute.split("."):
                found = getattr(found, part)
    except ConfigError:
        raise
    except Exception as error:  # whatever the person's own code raises while it is loaded
        raise ConfigError(
            f"The function {reference!r} cannot be loaded: {type(error).__name__}: {error}",
            where=where,
            hint="A module must be importable by this Python, a file is relative to the folder.",
        ) from error
    if not callable(found):
        raise ConfigError(f"{reference!r} is not a function.", where=where)
    function: Callable[..., Any] = found
    return function


def _module(name: str, cwd: str) -> Any:
    if name.endswith(".py"):
        return _load_file(os.path.join(cwd, os.path.expanduser(name)))
    return importlib.import_module(name)


def _entry_point(name: str, where: str) -> Any:
    """What installed packages call ``name`` in the group ``jpq.tools``. Raises ConfigError."""
    # It reads what every installed package says of itself, which other tools need not pay for.
    points: Any = importlib.import_module("importlib.metadata").entry_points()
    if hasattr(points, "select"):
        group = list(points.select(group=ENTRY_POINTS))
    else:  # Python 3.8 and 3.9
        group = list(points.get(ENTRY_POINTS, ()))
    found = {point.value: point for point in group if point.name == name}
    if len(found) == 1:
        return found.popitem()[1]
    if found:
        raise ConfigError(
            f"More than one installed package has a tool function {name!r}.",
            where=where,
            hint=f"Choose one of them: {', '.join(sorted(found))}",
        )
    names = ", ".join(sorted({point.name for point in group})) or "none"
    raise ConfigError(
        f"No installed package has a tool function {name!r}.",
        where=where,
        hint=f"The entry points for {ENTRY_POINTS} are: {names}. "
        'A function elsewhere is "module:name" or "path/to/file.py:name".',
    )


def _load_file(path: str) -> Any:
    """The module in the file, loaded once; its neighbours are not importable by it."""
    digest = hashlib.sha256(os.path.realpath(path).encode("utf-8", "surrogateescape"))
    name = f"jpq_tool_file_{digest.hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # annotations are resolved through it
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _context_name(function: Callable[..., Any], where: str) -> str:
    """The parameter that wants the ToolContext, or ""."""
    for name, _, annotation in arguments_of(function, where):
        if annotation is ToolContext:
            return name
    return ""
