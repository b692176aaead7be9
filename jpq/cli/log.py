"""The log of a run: what was asked of whom, what failed, how it ended. Never a key.

Every query appends a few lines to ``log/jpq.log`` in the state folder. ``--log-file`` writes
there instead, with all the detail there is. A log that cannot be written never breaks a run.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
from typing import Any, Iterator, List, Mapping, Optional, Tuple

from jpq.cli.environment import Environment
from jpq.config.keys import key_store
from jpq.config.paths import Paths, make_folder
from jpq.config.secrets import Secrets
from jpq.errors import JpqError, StreamError
from jpq.events.parts import StreamEvent
from jpq.events.turn import Error, Notice, TurnEvent
from jpq.provider.base import Exchange, Progress, Provider, ProviderRequest
from jpq.render.sanitize import VISUALIZE, sanitize
from jpq.render.worker import Renderer

_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # not on Windows
MAX_BYTES = 1_000_000  # a default log that has become longer is renamed to jpq.log.1

_LINE = "%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(message)s"
_TIME = "%Y-%m-%dT%H:%M:%S"
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSW", "AUTH", "CREDENTIAL")


def known_secrets(environ: Mapping[str, str], paths: Paths) -> Secrets:
    """What must not be logged: the kept keys, and each variable whose name says it is secret."""
    secrets = Secrets()
    for name, value in environ.items():
        if any(word in name.upper() for word in _SECRET_WORDS):
            secrets.add(value)
    store = key_store(paths)
    try:
        for name in store.names():
            secrets.add(store.get(name) or "")
    except JpqError:
        pass  # a damaged file is told when a key is looked for in it
    return secrets


class RunLog:
    """One run's lines in the log. Any thread."""

    def __init__(self, secrets: Secrets) -> None:
        self.secrets = secrets
        self._loggers = [logging.getLogger("jpq")]
        self._before: List[Tuple[int, bool]] = []  # how the loggers were set
        self._handler: Optional[logging.Handler] = None

    def open(self, env: Environment, path: Optional[str], tell_failure: bool) -> None:
        """Begin to write: to ``path``, else to the default log. ``tell_failure`` on stderr."""
        try:
            file = _default_log(env.paths.state) if path is None else os.path.join(env.cwd, path)
            # Neither opening nor writing waits for the reader of a named pipe.
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_WAIT, 0o600)
            handler: logging.Handler = _Handler(os.fdopen(descriptor, "a", encoding="utf-8"))
        except (OSError, ValueError, JpqError) as error:
            if tell_failure:
                reason = getattr(error, "strerror", None) or error
                env.notice(f"The log {path} cannot be written: {reason}. Going on without it.")
            handler = logging.NullHandler()
        handler.setFormatter(_Masked(self.secrets))
        level = logging.INFO if path is None else logging.DEBUG
        if path is not None:
            self._loggers.append(logging.getLogger("urllib3"))
        for logger in self._loggers:
            self._before.append((logger.level, logger.propagate))
            logger.setLevel(level)
            logger.propagate = False
            logger.addHandler(handler)
        self._handler = handler

    @property
    def has_detail(self) -> bool:
        """Whether ``debug`` writes anything."""
        return self._loggers[0].isEnabledFor(logging.DEBUG)

    def info(self, text: str, *args: Any) -> None:
        """A line of every log."""
        self._loggers[0].info(text, *args)

    def debug(self, text: str, *args: Any) -> None:
        """A line with the detail that only ``--log-file`` wants."""
        self._loggers[0].debug(text, *args)

    def failure(self, error: BaseException) -> None:
        """A failure, with its kind and where it was; its traceback in the detail."""
        if not isinstance(error, Exception):
            self.info("ended by a signal before the turn")
            return
        if not isinstance(error, JpqError):
            self._loggers[0].error("fault: %r", error, exc_info=error)
            return
        status = getattr(error, "status", None)
        wait = getattr(error, "retry_after", None)
        self.info(
            "failed: %s%s%s: %s (%s)",
            error.word,
            "" if status is None else f", HTTP {status}",
            "" if wait is None else f", come back in {wait:g} s",
            error.message,
            error.where,
        )
        self._loggers[0].debug("where it was raised", exc_info=error)

    def close(self) -> None:
        """Write no more, and leave the loggers as they were found."""
        if self._handler is not None:
            for logger, (level, propagate) in zip(self._loggers, self._before):
                logger.removeHandler(self._handler)
                logger.setLevel(level)
                logger.propagate = propagate
            self._handler.close()
            self._handler = None


@contextlib.contextmanager
def run_log(args: argparse.Namespace, env: Environment) -> Iterator[RunLog]:
    """The log of a run while that lasts: in the file that ``--log-file`` names, else the default
    one. An exception that ends the run is written down on its way out."""
    log = RunLog(known_secrets(env.environ, env.paths))
    log.open(env, args.log_file, tell_failure=args.log_file is not None)
    try:
        yield log
    except BaseException as error:
        log.failure(error)
        raise
    finally:
        log.close()


class LoggedProvider:
    """A Provider whose attempts are logged. ``exchange`` is for the main thread."""

    def __init__(self, provider: Provider, log: RunLog) -> None:
        self._provider = provider
        self._log = log
        self._attempts = 0

    def prepare(self, model: str, progress: Progress) -> None:
        """As the provider does."""
        self._provider.prepare(model, progress)

    def exchange(self, request: ProviderRequest) -> Exchange:
        """The provider's exchange, logged."""
        self._attempts += 1
        self._log.info(
            "attempt %d: %s, messages: %d%s",
            self._attempts,
            request.model,
            len(request.thread.messages),
            ", goes on with a cut answer" if request.thread.continues else "",
        )
        exchange = self._provider.exchange(request)
        if not self._log.has_detail:  # nothing else is told of it
            return exchange
        return _LoggedExchange(exchange, self._log, self._attempts)

    def close(self) -> None:
        """As the provider does."""
        self._provider.close()


class _LoggedExchange:
    def __init__(self, exchange: Exchange, log: RunLog, attempt: int) -> None:
        self._exchange = exchange
        self._log = log
        self._attempt = attempt

    @property
    def ending(self) -> bool:
        return self._exchange.ending

    def events(self) -> Iterator[StreamEvent]:
        try:
            yield from self._exchange.events()
        except StreamError as error:
            self._log.debug("attempt %d: %s, %s", self._attempt, error.word, error.where)
            raise
        self._log.debug("attempt %d: the reply ended", self._attempt)

    def abort(self) -> None:
        self._exchange.abort()


class LoggedRenderer(Renderer):
    """A Renderer that also logs what the person is told: retries, failures."""

    def __init__(self, log: RunLog, *args: Any) -> None:
        self._log = log
        super().__init__(*args)

    def show(self, event: TurnEvent) -> None:
        """Queue ``event``."""
        if type(event) is Notice:
            self._log.info("told: %s", event.text)
        elif type(event) is Error:
            self._log.info("failed: %s: %s (%s)", event.kind, event.message, event.where)
        super().show(event)


class _Handler(logging.StreamHandler):  # type: ignore[type-arg]  # it is not generic in 3.8
    """A full disk, or a pipe that nobody reads, neither ends the answer nor delays it nor puts
    a traceback into it."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Nothing: the record is lost."""

    def close(self) -> None:
        """Close the file, whatever it did not take."""
        with contextlib.suppress(OSError):
            self.stream.close()
        super().close()


class _Masked(logging.Formatter):
    """One record a line, but for tracebacks, without keys and without control characters."""

    def __init__(self, secrets: Secrets) -> None:
        super().__init__(_LINE, _TIME)
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        text = sanitize(self._secrets.mask(super().format(record)), VISUALIZE)
        # Half a surrogate pair cannot be written; Python 3.8's handler cannot be told so.
        return text.encode("utf-8", "replace").decode()


def _default_log(state: str) -> str:
    folder = os.path.join(state, "log")
    make_folder(folder)
    file = os.path.join(folder, "jpq.log")
    try:
        if os.stat(file).st_size > MAX_BYTES:
            os.replace(file, file + ".1")
    except FileNotFoundError:
        pass  # the first run, or another one has just renamed it
    return file
