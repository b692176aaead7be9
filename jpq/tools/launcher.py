"""Launcher: gives a call its surroundings and starts it on a worker."""

from __future__ import annotations

import json
import os
import re
import time
from typing import Any, Callable, Dict, Iterable, Mapping, Optional

from jpq.conversation.event import ToolCall
from jpq.events.turn import ToolProgress, TurnEvent
from jpq.interrupt.cancel import CancelToken
from jpq.tools.definition import (
    ARGUMENTS_VARIABLE,
    INQUIRY_VARIABLE,
    Invocation,
    Question,
    QuestionFailed,
    Tool,
)
from jpq.tools.inquiry import InquiryServer
from jpq.tools.questions import Asked, put
from jpq.tools.workers import Run, Workers

# The system takes no longer variable (Linux: 128 KiB); such arguments come on stdin only.
_ARGUMENTS_LIMIT = 100_000
# Settings in variables may hold keys in headers.
_OWN_VARIABLES = ("JPQ_SET_", INQUIRY_VARIABLE, ARGUMENTS_VARIABLE)
_PROGRESS_INTERVAL_S = 0.1
_NAME_CHARACTERS = re.compile(r"[^\w-]")


def child_environ(environ: Mapping[str, str], secret_names: Iterable[str]) -> Dict[str, str]:
    """``environ`` for tools: without the variables in ``secret_names`` and jpq's settings."""
    secret = set(secret_names)
    return {
        name: value
        for name, value in environ.items()
        if name not in secret and not name.startswith(_OWN_VARIABLES)
    }


class Launcher:
    """Starts runs, at most ``workers`` at a time. Main thread.

    ``post`` is given what the runs have to say, ``show`` their progress; both must be safe
    on any thread. ``environ`` is what tools inherit, ``cwd`` where their folders start
    from, and ``output_folder`` where outputs go that are too long, None for nowhere.
    """

    def __init__(
        self,
        post: Callable[[Any], None],
        show: Callable[[TurnEvent], None],
        *,
        environ: Mapping[str, str],
        cwd: str,
        output_folder: Optional[str],
        workers: int,
    ) -> None:
        self._post = post
        self._show = show
        self._environ = environ
        self._cwd = cwd
        self._output_folder = output_folder
        self._workers = Workers(workers)
        self._runs: Dict[str, Callable[[Question], str]] = {}
        self._inquiries: Optional[InquiryServer] = None

    def launch(
        self, call: ToolCall, tool: Tool, arguments: Mapping[str, Any], run: int, token: CancelToken
    ) -> None:
        """Run ``tool`` as soon as a worker is free; its ToolFinished is posted."""

        def ask(question: Question) -> str:
            return put(Asked(call.id, run, question), token, self._post, started.think)

        invocation = Invocation(
            id=call.id,
            arguments=arguments,
            environ=self._child_environ(call.id, arguments),
            cwd=os.path.normpath(os.path.join(self._cwd, tool.spec.settings.get("cwd", "."))),
            full_output=self._output_path(call),
            ask=ask,
        )
        progress = _Progress(call.id, self._show)
        started = Run(tool, invocation, run, token, self._post, progress.add)
        self._runs[call.id] = ask
        self._workers.start(started)

    def close(self) -> None:
        """Start nothing more and answer no question."""
        self._workers.close()
        if self._inquiries is not None:
            self._inquiries.close()

    def _child_environ(self, id: str, arguments: Mapping[str, Any]) -> Dict[str, str]:
        environ = dict(self._environ)
        text = json.dumps(arguments)
        if len(text) <= _ARGUMENTS_LIMIT:
            environ[ARGUMENTS_VARIABLE] = text
        try:
            if self._inquiries is None:
                self._inquiries = InquiryServer(self._ask_for)
        except OSError:
            return environ  # no place for a socket; such a tool is told that nobody answers
        environ[INQUIRY_VARIABLE] = self._inquiries.address(id)
        return environ

    def _ask_for(self, id: str, question: Question) -> str:
        """A question that came through the socket. Any thread."""
        ask = self._runs.get(id)
        if ask is None:
            raise QuestionFailed("this call is over")
        return ask(question)

    def _output_path(self, call: ToolCall) -> Optional[str]:
        if self._output_folder is None:
            return None
        try:
            os.makedirs(self._output_folder, mode=0o700, exist_ok=True)
        except OSError:
            return None
        stem = _NAME_CHARACTERS.sub("_", f"{call.name}-{call.id}")[:80]
        path = os.path.join(self._output_folder, f"{stem}.txt")
        number = 1
        while os.path.exists(path):
            number += 1
            path = os.path.join(self._output_folder, f"{stem}-{number}.txt")
        return path


class _Progress:
    """Shows the last line that a run wrote, but not every line of a flood. Any thread."""

    def __init__(self, id: str, show: Callable[[TurnEvent], None]) -> None:
        self._id = id
        self._show = show
        self._next = 0.0

    def add(self, text: str) -> None:
        """The run wrote ``text``."""
        now = time.monotonic()
        line = text.rstrip().rpartition("\n")[2]
        if line and now >= self._next:
            self._next = now + _PROGRESS_INTERVAL_S
            self._show(ToolProgress(self._id, line))
