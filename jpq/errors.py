"""Every error jpq shows, with the exit code it ends with and what to do about it.

Errors are raised where they are noticed, carry everything the person needs, and are
printed in one place (``jpq.cli.failure``). Callers decide on ``kind`` and ``retryable``,
never on the text.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any, Optional

PREFIX = "jpq: "  # before a line in which jpq speaks, and not the model or a tool


class ExitCode(IntEnum):
    """The process's exit codes (docs/exit-codes.md)."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    BAD_INPUT = 65
    UNREACHABLE = 69
    CUT = 74
    BUSY = 75
    STOPPED_EARLY = 76
    DENIED = 77
    CONFIG = 78
    TIMEOUT = 124
    HANGUP = 129
    INTERRUPT = 130
    QUIT = 131
    BROKEN_PIPE = 141
    TERMINATED = 143


class JpqError(Exception):
    """An error the person is told about: what happened, where, and what to do.

    ``message`` says what happened; ``where`` names the provider, file and line or URL;
    ``hint`` says what to do next. Each is one line or empty. ``word`` is the kind of error
    as programs see it.
    """

    word = "error"
    exit_code = ExitCode.FAILURE
    response: Any = None  # for a program: the jpq.ChatResponse that had arrived

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    @property
    def retryable(self) -> bool:
        """Whether asking the provider again can succeed."""
        return False


class UsageError(JpqError):
    """The command line cannot be understood."""

    word = "usage"
    exit_code = ExitCode.USAGE


class BadInputError(JpqError):
    """What was handed in cannot be used: a missing conversation, unreadable input."""

    word = "bad_input"
    exit_code = ExitCode.BAD_INPUT


class ConfigError(JpqError):
    """The configuration cannot be used as written."""

    word = "config"
    exit_code = ExitCode.CONFIG


class WriteError(JpqError):
    """A local write failed: disk full, read-only folder, file too large."""

    word = "write"
    exit_code = ExitCode.CUT


class ConversationBusyError(JpqError):
    """Another process holds the conversation's lock."""

    word = "busy"
    exit_code = ExitCode.BUSY


class DeniedError(JpqError):
    """A credential is missing or a permission could not be had."""

    word = "denied"
    exit_code = ExitCode.DENIED


class RunTimeoutError(JpqError):
    """The whole run took longer than ``--timeout``."""

    word = "timeout"
    exit_code = ExitCode.TIMEOUT


class ErrorKind(Enum):
    """Why a provider request failed: its word in logs and JSON, exit code, whether to retry."""

    UNREACHABLE = ("unreachable", ExitCode.UNREACHABLE, True)
    RESET = ("reset", ExitCode.UNREACHABLE, True)
    TLS = ("tls", ExitCode.UNREACHABLE, False)
    CUT = ("cut", ExitCode.CUT, True)
    STALLED = ("stalled", ExitCode.CUT, True)
    MALFORMED = ("malformed", ExitCode.CUT, False)
    RATE_LIMITED = ("rate_limited", ExitCode.BUSY, True)
    OVERLOADED = ("overloaded", ExitCode.BUSY, True)
    SERVER = ("server", ExitCode.BUSY, True)
    AUTH = ("auth", ExitCode.DENIED, False)
    QUOTA = ("quota", ExitCode.DENIED, False)
    NOT_FOUND = ("not_found", ExitCode.FAILURE, False)
    INVALID_REQUEST = ("invalid_request", ExitCode.FAILURE, False)
    CONTEXT_LENGTH = ("context_length", ExitCode.BAD_INPUT, False)
    CONTENT_FILTER = ("content_filter", ExitCode.STOPPED_EARLY, False)

    def __init__(self, word: str, exit_code: ExitCode, retryable: bool) -> None:
        self.word = word
        self.exit_code = exit_code
        self.retryable = retryable


class StreamError(JpqError):
    """A provider request or its stream failed.

    ``kind`` decides the exit code and whether a retry can help; ``retry_after`` is the
    provider's own wait in seconds, when it named one; ``status`` is the HTTP status.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        where: str = "",
        hint: str = "",
        retry_after: Optional[float] = None,
        status: Optional[int] = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.kind = kind
        self.word = kind.word
        self.exit_code = kind.exit_code
        self.retry_after = retry_after
        self.status = status

    @property
    def retryable(self) -> bool:
        return self.kind.retryable
