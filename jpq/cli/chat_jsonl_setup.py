"""What the options of ``jpq chat --format jsonl`` say about each of its sessions."""

from __future__ import annotations

import argparse
import os
from typing import Any, Dict, Optional

from jpq.cli.chat_jsonl_lines import Open
from jpq.cli.environment import Environment
from jpq.cli.query_conversation import last_here
from jpq.cli.query_options import chosen_settings
from jpq.config.nested import join_name
from jpq.config.sources import split_set, value_in_text
from jpq.errors import UsageError
from jpq.library.asking import Answer, Approve
from jpq.library.opening import DEFAULT_STORE
from jpq.library.session import Session
from jpq.render.lines import one_line
from jpq.store.fork import fork
from jpq.store.library import Library

_OPTION = "options."


class SessionOptions:
    """Opens sessions. Made on the main thread; ``open`` is called on those of the sessions.

    Raises JpqError for options that cannot be used.
    """

    def __init__(self, args: argparse.Namespace, env: Environment) -> None:
        self._args = args
        self._env = env
        self._chosen = chosen_settings(args, env)
        self._config = _settings(args)
        self._conversation = _going_on(args, env)

    def open(self, wanted: Open, first: bool, approve: Approve, answer: Answer) -> Session:
        """The session that ``wanted`` describes; the ``first`` one goes on with the
        conversation that the options name. Raises JpqError."""
        chosen, args = self._chosen, self._args
        conversation = wanted.conversation or (self._conversation if first else None)
        session = Session(
            wanted.model or chosen.get("model"),
            tools=chosen.get("active_tools"),
            store=None if args.ephemeral else DEFAULT_STORE,
            conversation=conversation,
            system=wanted.system if wanted.system is not None else chosen.get("system"),
            options={
                name[len(_OPTION) :]: value
                for name, value in chosen.items()
                if name.startswith(_OPTION)
            },
            config=self._config,
            approve=approve,
            answer=answer,
            yes=args.yes,
            tool_choice=args.tool_choice,
            no_stream=args.no_stream,
            environ=self._env.environ,
            cwd=self._env.cwd,
        )
        if not args.quiet:
            for warning in session.warnings:
                self._env.notice(one_line(warning))
        return session


def _settings(args: argparse.Namespace) -> Dict[str, Any]:
    """What else the options set: dotted name to value. Raises UsageError, ConfigError."""
    settings: Dict[str, Any] = {}
    for text in args.set:
        path, value = split_set(text)
        settings[join_name(path)] = value_in_text(path, value, f"option --set {join_name(path)}")
    limits = {
        "request.max_attempts": None if args.retries is None else args.retries + 1,
        "request.max_cycles": args.max_cycles,
        "request.max_cost_usd": args.max_cost,
        "request.total_timeout_s": args.timeout,
    }
    settings.update({name: value for name, value in limits.items() if value is not None})
    if args.base_url:
        provider, slash, _ = (args.model or "").partition("/")
        if not slash:
            raise UsageError("--base-url needs -m PROVIDER/MODEL beside it here.")
        settings[join_name(("providers", provider, "base_url"))] = args.base_url
    return settings


def _going_on(args: argparse.Namespace, env: Environment) -> Optional[str]:
    """The id of the conversation to go on with; None for a new one. Raises BadInputError."""
    library = Library(os.path.join(env.paths.data, "conversations"))
    if args.resume is not None:
        found = library.resolve(args.resume)
    elif args.continue_last or args.fork:
        found = last_here(env, library)
    else:
        return None
    if not args.fork:
        return found
    copy = fork(library, found)
    copy.close()
    return copy.id
