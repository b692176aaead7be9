"""A question that was typed and could not be asked is kept, and the person told where."""

from __future__ import annotations

import tempfile

from jpq.cli.environment import Environment
from jpq.config.paths import make_folder
from jpq.errors import JpqError


def keep_question(question: str, env: Environment, reason: BaseException) -> None:
    """Keep ``question`` in a file of this user only; ``reason`` is why it is not asked now.

    An error says so in its hint. Where it cannot be written the question itself is told: the
    screen is the last place that is left.
    """
    try:
        make_folder(env.paths.state)
        handle, path = tempfile.mkstemp("-question.md", "", env.paths.state)
        with open(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(question + "\n")
    except (OSError, JpqError):
        env.notice(f"Your question, which could not be kept:\n{question}")
        return
    told = f"Your question is kept; give it again with: - < {path}"
    if isinstance(reason, JpqError):
        reason.hint = f"{reason.hint} {told}".lstrip()
    else:
        env.notice(told)
