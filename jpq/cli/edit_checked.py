"""Edits a file of the person's in the editor, and takes nothing that is wrong."""

from __future__ import annotations

import os
from typing import Callable, List

from jpq.cli.environment import Environment
from jpq.config.files import read_text, write_private
from jpq.errors import ConfigError, UsageError
from jpq.terminal.editor import edit_text, editor_command


def edit_checked(
    file: str,
    fresh: str,
    check: Callable[[str], List[str]],
    env: Environment,
    *,
    what: str,
    again: str,
    instead: str,
) -> None:
    """Have ``file`` edited, which begins as ``fresh``, and tell what ``check`` warns of.

    A text that ``check`` refuses is kept beside the file; the next edit, which the command
    ``again`` begins, goes on with it. ``what`` the file is, and what can be done ``instead`` of
    an editor, is for messages. Raises UsageError, ConfigError, WriteError.
    """
    command = editor_command(env.environ)
    if command is None:
        raise UsageError(
            "There is no editor to open.",
            where=file,
            hint=f"Set $VISUAL or $EDITOR, or {instead}",
        )
    rejected = file + ".rejected"
    old = read_text(rejected)
    if old is None:
        old = read_text(file)
    text = edit_text(fresh if old is None else old, ".toml", command)
    try:
        warnings = check(text)
    except ConfigError as error:
        write_private(rejected, text)
        raise ConfigError(
            f"{error.message} {what} is unchanged.",
            where=error.where,
            hint=f"Your text is in {rejected}; {again} goes on with it.",
        ) from None
    write_private(file, text)
    if os.path.exists(rejected):
        os.unlink(rejected)
    for warning in warnings:
        env.notice(warning)
