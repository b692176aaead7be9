"""``@jpq.tool``: a function of the program's own as a tool that a model may call."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Mapping, Optional, Union, overload

from jpq.errors import ConfigError
from jpq.interrupt.cancel import CancelToken
from jpq.tools.definition import (
    MODES,
    UNATTENDED,
    Invocation,
    Progress,
    Tool,
    ToolOutput,
    ToolSpec,
)
from jpq.tools.python_function import ToolContext, result_text
from jpq.tools.python_schema import arguments_of, describe_function
from jpq.tools.registry import check_name

SOURCE = "function"

Function = Callable[..., Any]


class ToolFunction:
    """A function and how a model sees it. Calling it calls the function.

    ``parameters`` is the JSON Schema of its arguments.
    """

    def __init__(self, function: Function, **settings: Any) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        name = settings.pop("name", None) or getattr(function, "__name__", "tool")
        settings.setdefault("run", UNATTENDED)  # the program hands it over itself
        where = f"the function {name}"
        described = describe_function(function, where, (ToolContext,))
        description = settings.pop("description", None) or described.description
        self._spec = ToolSpec(name, SOURCE, description, described.parameters, **settings)
        check_name(name, where)
        if self._spec.run not in MODES:
            raise ConfigError(
                f"run = {self._spec.run!r} is none of {', '.join(MODES)}.", where=where
            )
        self._context = next(
            (name for name, _, kind in arguments_of(function, where) if kind is ToolContext), ""
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self._spec.name

    @property
    def description(self) -> str:
        """What the model is told of it."""
        return self._spec.description

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema of its arguments."""
        return self._spec.parameters

    def as_tool(self, cwd: str) -> Tool:
        """The tool for a session in ``cwd``."""
        return _FunctionTool(self._spec, cwd, self.function, self._context)


class _FunctionTool(Tool):
    """Calls the function on a worker thread; one that does not return is left behind."""

    def __init__(self, spec: ToolSpec, cwd: str, function: Function, context: str) -> None:
        super().__init__(spec, cwd)
        self._function = function
        self._context = context

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Call it. An exception is told to the model, and ends nothing."""
        arguments: Dict[str, Any] = dict(invocation.arguments)
        if self._context:
            arguments[self._context] = ToolContext(cancel, progress, invocation.ask, invocation.cwd)
        return ToolOutput(result_text(self._function(**arguments)))


@overload
def tool(function: Function) -> ToolFunction: ...


@overload
def tool(
    *,
    name: Optional[str] = None,
    description: Optional[str] = None,
    title: str = "",
    display_name: str = "",
    run: str = UNATTENDED,
    result: str = UNATTENDED,
    timeout_s: float = 60.0,
    max_output_bytes: int = 65536,
    strict: bool = False,
) -> Callable[[Function], ToolFunction]: ...


def tool(
    function: Optional[Function] = None, **settings: Any
) -> Union[ToolFunction, Callable[[Function], ToolFunction]]:
    """Make a typed function a tool: ``@jpq.tool``, or ``@jpq.tool(run="ask")``.

    Its parameters' annotations become the schema of its arguments, its docstring what the
    model is told. A parameter annotated with ``jpq.ToolContext`` is given the call's. Raises
    ConfigError for a signature that JSON cannot express.
    """
    if function is not None:
        return ToolFunction(function, **settings)
    return lambda decorated: ToolFunction(decorated, **settings)
