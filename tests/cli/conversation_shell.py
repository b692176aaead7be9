"""A shell for ``jpq conversation`` in a store of its own."""

from __future__ import annotations

import io
import os
from typing import Any, Dict, NamedTuple

from jpq.cli.conversation_cmd import run
from jpq.cli.conversation_parser import build_parser
from jpq.cli.environment import Environment
from jpq.conversation.event import Draft
from jpq.store.journal import FileJournal
from jpq.store.library import Library
from jpq.store.workspace import workspace_of


class Output(NamedTuple):
    out: str
    err: str


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


class Shell:
    """Runs the command as the process would, in a workspace and a store of its own."""

    def __init__(self, home: str, cwd: str) -> None:
        self.environ: Dict[str, str] = {"JPQ_HOME": home, "HOME": home}
        self.cwd = cwd
        self.library = Library(os.path.join(home, "data", "conversations"))
        self.told = ""  # on stderr by the last run, also by one that failed

    def __call__(self, *words: str, terminal: bool = False, code: int = 0) -> Output:
        """Run the words; the exit code must be ``code``."""
        out, err = Terminal() if terminal else io.BytesIO(), io.BytesIO()
        env = Environment(self.environ, self.cwd, None, out, err)
        args = build_parser("jpq conversation").parse_args(words)
        try:
            assert run(args, env) == code
        finally:
            self.told = err.getvalue().decode()
        return Output(out.getvalue().decode(), self.told)

    def open(self, **about: Any) -> FileJournal:
        workspace = workspace_of(self.cwd)
        return self.library.create({"workspace": workspace, "model": "openai/gpt", **about})

    def talk(self, *events: Any, **about: Any) -> str:
        journal = self.open(**about)
        journal.commit([Draft(event) for event in events])
        journal.close()
        return journal.id
