"""What the options of a query set for its conversation."""

from __future__ import annotations

import argparse
import importlib
import os
from typing import Any, Dict

from jpq.cli.environment import Environment
from jpq.cli.prompt_text import decoded, joined_words
from jpq.errors import BadInputError, UsageError
from jpq.events import strict_json

_LONGEST_SYSTEM = 8 << 20  # bytes: longer than what any model takes
_WRITER_WAIT_S = 5.0  # for a named pipe; the configuration is not read yet


def chosen_settings(args: argparse.Namespace, env: Environment) -> Dict[str, Any]:
    """What the options set for the conversation: dotted key to value."""
    chosen: Dict[str, Any] = {}
    if args.model is not None:
        chosen["model"] = args.model
    if args.system is not None:
        chosen["system"] = text_or_file(args.system, env)
    if args.tool or args.no_tools:
        chosen["active_tools"] = args.tool  # empty with -T
    for option in args.option:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise UsageError(f"-o {option!r} is not KEY=VALUE.", hint="As in: -o temperature=0.2")
        chosen[f"options.{key}"] = _plain_value(value)
    return chosen


def _plain_value(text: str) -> Any:
    """The JSON value that ``text`` is, else the text itself."""
    try:
        return strict_json.parse(text)
    except ValueError:
        return text


def text_or_file(text: str, env: Environment) -> str:
    """``text``, or what is in the file or pipe that it names with an ``@``.

    Raises BadInputError, also for a pipe that nobody writes to, and what never ends.
    """
    if not text.startswith("@"):
        return joined_words([text], env.notice)
    path = os.path.join(env.cwd, os.path.expanduser(text[1:]))
    files = importlib.import_module("jpq.cli.attach_path")  # few prompts are in files
    reading = files.Reading(env.cwd, _LONGEST_SYSTEM, _WRITER_WAIT_S, env.tell)
    try:
        data = files.contents(path, reading)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise BadInputError(
            f"The system prompt cannot be read: {getattr(error, 'strerror', error)}.",
            where=path,
        ) from error
    except BadInputError as error:
        error.hint = "Start what writes to it first."
        raise
    if len(data) > _LONGEST_SYSTEM:
        raise BadInputError(
            f"The system prompt is longer than {_LONGEST_SYSTEM >> 20} MiB.", where=path
        )
    return decoded(data, f"{text[1:]} holds", env.notice)
