"""What every tool is made of: its specification, one invocation, its output, the protocol.

A kind of tool is one module with a subclass of ``Tool`` and a row of ``KINDS`` in
``registry.py``; a builtin is the same with a row of ``BUILTINS``.
"""

from __future__ import annotations

import abc
import re
from typing import Any, Callable, Mapping, Match, Optional, Sequence, Tuple, Union

from jpq.conversation.attachment import Attachment
from jpq.interrupt.cancel import CancelToken
from jpq.named import NamedTuple

# Run modes and result modes.
ASK = "ask"
UNATTENDED = "unattended"
EDIT = "edit"
SKIP = "skip"
MODES = (ASK, UNATTENDED, EDIT, SKIP)

# How a run ended, as its tool saw it.
COMPLETED = "completed"
STOPPED = "stopped"  # because its CancelToken was cancelled; the token says why

# What a child finds in its environment.
ARGUMENTS_VARIABLE = "JPQ_TOOL_ARGS"
INQUIRY_VARIABLE = "JPQ_INQUIRY"

_TITLE_LIMIT = 200
_PLACE = re.compile(r"\{([\w.-]+)\}")

# Called with output while the tool runs, in pieces, already decoded. Any thread.
Progress = Callable[[str], None]

# What a shell would be given (one string) or the argv of a program.
CommandLine = Union[str, Sequence[str]]


class ToolSpec(NamedTuple):
    """One tool as configured. Values are checked and have their defaults.

    ``parameters`` is a JSON Schema object. ``settings`` is the whole table
    ``[tools.NAME]`` as configured, for what only its kind reads: ``command``, ``cwd``,
    ``env``, ``stdin``, ``function``, ``roots``, ``url``, ``throttle`` and so on.
    ``title`` may hold ``{argument}``. Sizes are bytes, times are seconds.
    """

    name: str
    source: str
    description: str = ""
    parameters: Mapping[str, Any] = {"type": "object", "properties": {}}
    run: str = ASK
    result: str = UNATTENDED
    timeout_s: float = 60.0
    max_output_bytes: int = 65536
    display_name: str = ""
    title: str = ""
    strict: bool = False
    settings: Mapping[str, Any] = {}

    def title_of(self, arguments: Mapping[str, Any]) -> str:
        """The header of a call, one line: its title with the arguments filled in, else its
        name. Not sanitised."""
        # Not str.format: a title must not reach into what an argument is made of.
        title = _PLACE.sub(lambda found: _filled(found, arguments), self.title)
        return " ".join(title.split())[:_TITLE_LIMIT] or self.display_name or self.name


def _filled(place: Match[str], arguments: Mapping[str, Any]) -> str:
    return str(arguments.get(place.group(1), place.group()))


class Description(NamedTuple):
    """What a kind knows about a tool by itself, where the configuration does not say it."""

    description: str = ""
    parameters: Mapping[str, Any] = {"type": "object", "properties": {}}


class Question(NamedTuple):
    """What a running tool asks the person.

    ``kind`` is ``text``, ``yes_no`` (the answer is ``yes`` or ``no``) or ``choice`` (one
    of ``choices``). No answer within ``timeout_s`` is a QuestionFailed; None waits.
    """

    text: str
    kind: str = "text"
    choices: Sequence[str] = ()
    timeout_s: Optional[float] = None


class QuestionFailed(Exception):
    """Nobody answers: not interactive, cancelled, too late. The text says which."""

    def __init__(self, reason: str, *, late: bool = False) -> None:
        super().__init__(reason)
        self.late = late


class Invocation(NamedTuple):
    """One call of a tool.

    ``arguments`` match the tool's schema. ``environ`` is the whole environment for a
    child: without API keys, with JPQ_TOOL_ARGS and JPQ_INQUIRY. ``cwd`` is the absolute
    folder that relative paths start from. ``full_output`` is a file that may be created
    for output too long to deliver, in a folder that exists and is private; None where
    nothing is kept. ``ask`` blocks until the person has answered; raises QuestionFailed.
    """

    id: str
    arguments: Mapping[str, Any]
    environ: Mapping[str, str]
    cwd: str
    full_output: Optional[str]
    ask: Callable[[Question], str]


class ToolOutput(NamedTuple):
    """What a run gave: text within ``max_output_bytes``, escape sequences and all.

    ``full_output`` is the file with the whole of it, if it was too long. ``ended`` is
    COMPLETED or STOPPED; with STOPPED, ``content`` is the output so far, and the texts
    around it (who stopped it, after how long) are not the tool's to write. ``attachments``
    are pictures and the like, each of which ``content`` mentions by its name.
    """

    content: str
    is_error: bool = False
    full_output: Optional[str] = None
    ended: str = COMPLETED
    attachments: Tuple[Attachment, ...] = ()


class ToolAnswered(NamedTuple):
    """The result of the call ``id``, as the model is told; ``full_output`` is a file with
    all of it where the middle was left out, ``attachments`` is what goes with it."""

    id: str
    content: str
    is_error: bool
    full_output: Optional[str] = None
    attachments: Tuple[Attachment, ...] = ()


class Tool(abc.ABC):
    """One configured tool. Made on the main thread; ``run`` is called on worker threads,
    for several calls at once, so it keeps nothing of a call in ``self``.

    ``stops_within_s`` is how long a run may go on after it was cancelled; then its answer
    is given without it.
    """

    stops_within_s = 0.2
    default_run = ASK  # the run mode of a tool that configures none

    def __init__(self, spec: ToolSpec, cwd: str) -> None:
        self.spec = spec
        self.cwd = cwd

    @classmethod
    def describe(cls, name: str, settings: Mapping[str, Any], cwd: str) -> Description:
        """What the kind knows without being told. Raises ConfigError for wrong settings."""
        return Description()

    def preview(self, arguments: Mapping[str, Any]) -> str:
        """What the person should see before allowing the call, beyond its arguments: the
        command as it will run, a diff. Main thread; quick; never raises. Not sanitised."""
        return ""

    def beside_preview(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Those of the arguments that ``preview`` does not show. Main thread."""
        return {}

    def command_line(self, arguments: Mapping[str, Any]) -> Optional[CommandLine]:
        """The command that the arguments choose freely, for rules on commands to judge;
        None where the configuration fixes what runs."""
        return None

    @abc.abstractmethod
    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Do it. Worker thread. An exception is a crash, and the model is told its text.

        No tool keeps the time: one that takes longer than ``timeout_s`` is cancelled.
        """
