"""``conversation.title = "model"``: asks the model for a title, once the answer was shown.

Loaded for a new conversation with that setting. Nothing that goes wrong here is told or
changes how the run ends; the title is then how the question begins.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from typing import Any, Optional

from jpq.cli.environment import Environment
from jpq.cli.log import LoggedProvider, RunLog
from jpq.cli.progress import StderrProgress
from jpq.cli.query_setup import Query
from jpq.config.load import Config
from jpq.conversation.thread import USER, Message, Thread, ThreadText
from jpq.events.parts import INTERRUPTED, Finished, MessageDelta, Part
from jpq.provider.base import Exchange, ModelRef, ProviderRequest
from jpq.provider.registry import parse_model
from jpq.render.sanitize import sanitize
from jpq.session import open_provider
from jpq.store.library import Library

_ABORT_S = 0.5
_LONGEST = 60  # characters of a title
_TOO_LONG = 300  # what has said so much is no title any more
_QUESTION, _ANSWER = 2000, 1000  # characters that are sent of each
_ASK = """\
Write a title for the conversation below: at most six words, in its language, no quotation marks.
Answer with the title alone.

<question>
{question}
</question>
<answer>
{answer}
</answer>"""
_MARKS = "#*_`\"'\u201c\u201d\u00ab\u00bb "
_END = object()


class Titler:
    """Makes the title of one conversation. Main thread; ``stop`` is for a signal handler."""

    def __init__(self, config: Config, model: ModelRef, env: Environment, log: RunLog) -> None:
        self._config = config
        self._model = model
        self._env = env
        self._log = log
        # The text, None for none, or _END when a signal came.
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def stop(self) -> None:
        """Do without a title, at once."""
        self._said.put(_END)

    def title(self, question: str, answer: str, wait_s: float, base_url: str) -> str:
        """The title, or "" where none came within ``wait_s`` seconds. Raises JpqError."""
        model = self._chosen_model()
        if model is None:
            return ""
        env, config = self._env, self._config
        base_url = base_url if model == self._model else ""
        learn_key = self._log.secrets.add
        provider = open_provider(model, config, env.paths, env.environ, learn_key, base_url)
        logged = LoggedProvider(provider, self._log)
        text = _ASK.format(question=question[:_QUESTION], answer=answer[:_ANSWER])
        thread = Thread("", (Message(USER, (ThreadText(text),)),))
        try:
            logged.prepare(model.model, StderrProgress(env, quiet=True))
            exchange = logged.exchange(ProviderRequest(model=model.model, thread=thread))
            return self._read(exchange, wait_s)
        finally:
            logged.close()

    def _chosen_model(self) -> Optional[ModelRef]:
        name = self._config["conversation.title_model"]
        if name is None:
            return self._model
        model = parse_model(name, self._config.table("aliases"))
        if model.provider == "local" and model != self._model:
            return None  # it may have to be fetched or loaded, which takes longer than we have
        return model

    def _read(self, exchange: Exchange, wait_s: float) -> str:
        reader = threading.Thread(target=self._receive, args=(exchange,), name="title", daemon=True)
        reader.start()
        try:
            said = self._said.get(timeout=wait_s)
        except queue.Empty:
            self._log.info("no title came within %.1f s", wait_s)
            said = None
        exchange.abort()
        reader.join(_ABORT_S)
        return clean(said) if isinstance(said, str) else ""

    def _receive(self, exchange: Exchange) -> None:
        """Reader thread: hand over what the model says, once."""
        said: Optional[str] = ""
        try:
            for event in exchange.events():
                if isinstance(event, Part) and isinstance(event.payload, MessageDelta):
                    said = f"{said}{event.payload.text}"
                    if len(said) > _TOO_LONG:
                        break
                elif isinstance(event, Finished) and event.reason == INTERRUPTED:
                    said = None  # half a title is none
        except Exception as error:
            said = None
            self._log.failure(error)
        self._said.put(said)


def clean(text: str) -> str:
    """The first line of ``text`` as a title: short, and without marks around it."""
    lines = [line for line in sanitize(text).splitlines() if line.strip()]
    words = " ".join(lines[0].split()) if lines else ""
    if words.lower().startswith("title:"):
        words = words[len("title:") :]
    words = words.lstrip(_MARKS).rstrip(_MARKS + ".")
    if len(words) <= _LONGEST:
        return words
    return words[:_LONGEST].rsplit(" ", 1)[0]


def give_title(
    query: Query,
    answer: str,
    env: Environment,
    log: RunLog,
    base_url: str,
    deadline: Optional[float],
) -> None:
    """Have a model name the conversation of ``query``, whose first turn is over. Main thread.

    Takes ``conversation.title_wait_s`` at most, and ends at ``deadline`` and at once with
    Ctrl+C. A title that somebody has given meanwhile stays.
    """
    journal = query.journal
    turns = journal.stream.turns()
    left_s = query.config["conversation.title_wait_s"]
    if deadline is not None:
        left_s = min(left_s, deadline - time.monotonic())
    if journal.id is None or len(turns) != 1 or left_s <= 0:
        return
    titler = Titler(query.config, query.model, env, log)
    previous = signal.getsignal(signal.SIGINT)
    if previous is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda signum, frame: titler.stop())
    try:
        asked: Any = turns[0].entries[0].event  # turns begin with the question
        title = titler.title(asked.content, answer, left_s, base_url)
        if title:
            _keep(title, journal.id, journal.metadata.get("title"), env)
    except Exception as error:
        log.failure(error)
    finally:
        if previous is not None:
            signal.signal(signal.SIGINT, previous)


def _keep(title: str, id: str, instead_of: Any, env: Environment) -> None:
    library = Library(os.path.join(env.paths.data, "conversations"))
    journal = library.open(id, 0, lambda line: None)
    try:
        if journal.metadata.get("title") == instead_of:
            journal.set_title(title)
    finally:
        journal.close()
