"""Questions to a model outside any conversation: nothing is shown and nothing saved."""

from __future__ import annotations

from typing import Any, Callable, List, Optional

from jpq import __version__
from jpq.cli.environment import Environment
from jpq.cli.log import LoggedProvider, RunLog, known_secrets
from jpq.cli.progress import StderrProgress
from jpq.config.load import Config
from jpq.conversation.thread import USER, Message, Thread, ThreadText
from jpq.errors import BadInputError, ConfigError, StreamError
from jpq.events.parts import StreamEvent
from jpq.events.transcript import Transcript
from jpq.interrupt.signals import Interrupt, SignalRouter, end_by_signal
from jpq.provider.base import Exchange, ProviderRequest
from jpq.provider.registry import parse_model
from jpq.session import open_provider
from jpq.turn.cycle import CycleTimes, ResilientCycle, RetryLimits
from jpq.turn.inbox import Inbox


class Asker:
    """Asks the model of ``config``, with the retries and the log of every request. Main thread.

    A context manager that closes the provider. ``end`` is called with a signal that comes,
    once the request is given up. ``base_url`` is the command line's, and ``log`` one that is
    open already. Raises ConfigError where no model is configured, and what ``open_provider``
    and ``prepare`` raise.
    """

    def __init__(
        self,
        config: Config,
        env: Environment,
        end: Callable[[int], object] = end_by_signal,
        base_url: str = "",
        log: Optional[RunLog] = None,
    ) -> None:
        if config["model"] is None:
            raise ConfigError(
                "No model is configured to write the summary.",
                hint="Choose one with -m PROVIDER/MODEL.",
            )
        self._config = config
        self._env = env
        self._end = end
        self._model = parse_model(config["model"], config.table("aliases"))
        self._transcript = Transcript()
        self._signum: Optional[int] = None
        self._log = log or RunLog(known_secrets(env.environ, env.paths))
        self._opens_log = log is None
        provider = open_provider(
            self._model, config, env.paths, env.environ, self._log.secrets.add, base_url
        )
        self._provider = LoggedProvider(provider, self._log)

    def __enter__(self) -> Asker:
        if self._opens_log:
            self._log.open(self._env, None, tell_failure=False)
        self._log.info("jpq %s asks %s for a summary", __version__, self._model)
        progress = StderrProgress(self._env, quiet=False)
        try:
            self._provider.prepare(self._model.model, progress)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        finally:
            progress.end()
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], where: Any) -> None:
        if error is not None:
            self._log.failure(error)
        self._provider.close()
        if self._opens_log:
            self._log.close()

    def ask(self, question: str) -> str:
        """The model's answer. Raises StreamError, and BadInputError for one that is no use."""
        thread = Thread("", (Message(USER, (ThreadText(question),)),))
        request = ProviderRequest(model=self._model.model, thread=thread)

        def open_exchange() -> Exchange:
            self._transcript = Transcript(self._model.model)
            return self._provider.exchange(request)

        inbox = Inbox()
        limits = (self._config[f"request.{name}"] for name in RetryLimits._fields)
        times = CycleTimes(self._config["request.idle_timeout_s"], None)
        with SignalRouter(inbox.post):
            ResilientCycle(inbox, self, times, RetryLimits(*limits)).run(open_exchange)
        if self._signum is not None:
            self._end(self._signum)
        response = self._transcript.finish()
        if not response.is_complete or not response.text.strip():
            raise BadInputError(
                f"The model gave no summary; it stopped because of: {response.stop_reason}.",
                where=str(self._model),
                hint="Choose another one with -m.",
            )
        return response.text

    def received(self, events: List[StreamEvent]) -> None:
        """Keep what the model says."""
        for event in events:
            self._transcript.feed(event)

    def retrying(self, retry: Any) -> None:
        """Say why it takes longer."""
        told = f"{retry.error.message} Trying again in {retry.wait_s:.1f} s."
        self._log.info("told: %s", told)
        self._env.notice(told)

    def resuming(self, error: StreamError) -> None:
        """There is no menu here, so nothing fails behind one."""

    def disturbed(self, item: Any) -> bool:
        """A signal ends it."""
        if isinstance(item, Interrupt):
            self._signum = item.signum
            return False
        return True
