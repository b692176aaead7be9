"""``conversation.title = "model"``: asks the model for a title, once the answer was shown.

Loaded for a new conversation with that setting. Nothing that goes wrong here is told or
changes how the run ends; the title is then how the question begins.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Any, Iterator, Optional, Tuple

from jpq.cli.early_end import EarlyEnd
from jpq.cli.environment import Environment
from jpq.cli.log import LoggedProvider, RunLog
from jpq.cli.query_setup import Query
from jpq.config.load import Config
from jpq.conversation.thread import USER, Message, Thread, ThreadText
from jpq.events.parts import INTERRUPTED, Finished, MessageDelta, Part
from jpq.interrupt.signals import Interrupt, is_key
from jpq.provider.base import ModelRef, Provider, ProviderRequest
from jpq.provider.registry import parse_model
from jpq.render.sanitize import sanitize
from jpq.session import open_provider
from jpq.store.library import Library
from jpq.turn.inbox import Inbox

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


class TitleRequest:
    """A title that a model makes once it is asked. Main thread; ``notify`` is for a signal
    router."""

    def __init__(
        self, provider: Provider, model: ModelRef, question: str, answer: str, log: RunLog
    ) -> None:
        self._log = log
        self._said = Inbox()
        text = _ASK.format(question=question[:_QUESTION], answer=answer[:_ANSWER])
        thread = Thread("", (Message(USER, (ThreadText(text),)),))
        request = ProviderRequest(model=model.model, thread=thread)
        self._exchange = LoggedProvider(provider, log).exchange(request)
        self._reader = threading.Thread(target=self._receive, name="jpq-title", daemon=True)

    def begin(self) -> None:
        """Ask the model; signals should find ``notify`` by then."""
        self._reader.start()

    def notify(self, interrupt: Interrupt) -> bool:
        """Do without a title, at once, where it is Ctrl+C; other signals end the process."""
        if is_key(interrupt.signum):
            self._said.post("")
            return True
        return False

    def end(self, wait_s: float) -> str:
        """The title, or "" where none comes within ``wait_s`` seconds. Nothing goes on then."""
        said: Optional[str] = self._said.take(self._said.clock() + wait_s)
        if said is None:
            self._log.info("no title came within %.1f s", wait_s)
        self._exchange.abort()
        self._reader.join(_ABORT_S)
        return clean(said or "")

    @property
    def is_over(self) -> bool:
        """Whether ``end`` would not wait."""
        return self._said.holds_something

    def _receive(self) -> None:
        """Reader thread: hand over what the model says, once; "" for half a title, and none."""
        said = ""
        try:
            for event in self._exchange.events():
                if isinstance(event, Part) and isinstance(event.payload, MessageDelta):
                    said += event.payload.text
                    if len(said) > _TOO_LONG:
                        break
                elif isinstance(event, Finished) and event.reason == INTERRUPTED:
                    said = ""
        except Exception as error:
            said = ""
            self._log.failure(error)
        self._said.post(said)


@contextlib.contextmanager
def title_provider(
    config: Config, model: ModelRef, provider: Provider, env: Environment, log: RunLog
) -> Iterator[Tuple[ModelRef, Provider]]:
    """Who makes titles: the ``model`` that answers, from its ``provider``, or another one.

    Raises JpqError.
    """
    name = config["conversation.title_model"]
    other = model if name is None else parse_model(name, config.table("aliases"))
    # An embedded one may have to be fetched or loaded, which takes longer than a title may.
    if other == model or other.provider == "local":
        yield model, provider
        return
    opened = open_provider(other, config, env.paths, env.environ, log.secrets.add)
    try:
        yield other, opened
    finally:
        opened.close()


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


def give_title(query: Query, answer: str, env: Environment, log: RunLog, early: EarlyEnd) -> None:
    """Have a model name the conversation of ``query``, whose first turn is over. Main thread.

    Takes ``conversation.title_wait_s`` at most, and ends at the deadline of ``early`` and at
    once with Ctrl+C. A title that somebody has given meanwhile stays.
    """
    journal = query.journal
    turns = journal.stream.turns()
    left_s = query.config["conversation.title_wait_s"]
    if early.deadline is not None:
        left_s = min(left_s, early.deadline - time.monotonic())
    if journal.id is None or len(turns) != 1 or left_s <= 0:
        return
    asked: Any = turns[0].entries[0].event  # turns begin with the question
    try:
        with title_provider(query.config, query.model, query.provider, env, log) as (by, provider):
            request = TitleRequest(provider, by, asked.content, answer, log)
            with early.router.scope(request.notify):
                request.begin()
                title = request.end(left_s)
        if title:
            _keep(title, journal.id, journal.metadata.get("title"), env)
    except Exception as error:
        log.failure(error)


def _keep(title: str, id: str, instead_of: Any, env: Environment) -> None:
    library = Library(os.path.join(env.paths.data, "conversations"))
    journal = library.open(id, 0, lambda line: None)
    try:
        if journal.metadata.get("title") == instead_of:
            journal.set_title(title)
    finally:
        journal.close()
