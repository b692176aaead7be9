"""Session: a conversation with a model, for Python programs (docs/python.md)."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from typing import TYPE_CHECKING, Any, Iterator, List, Mapping, Optional, Sequence, Tuple

from jpq.config.paths import find_paths
from jpq.conversation.event import ChatRequest, Draft
from jpq.errors import BadInputError, UsageError
from jpq.events.transcript import ChatResponse
from jpq.events.usage import Usage, total_usage
from jpq.library.asking import Answer, Approve, ProgramAsker, hint_in_python
from jpq.library.attachments import Attachable, read_attachments
from jpq.library.opening import (
    OfferedTool,
    Place,
    library_at,
    new_journal,
    saved_journal,
    settings_of,
)
from jpq.library.parts import Manner, Parts, Stopped
from jpq.library.running import Event, RunningTurn
from jpq.library.transcript import Transcript
from jpq.named import NamedTuple
from jpq.session import run_turn
from jpq.store.journal import Journal
from jpq.turn import ending
from jpq.turn.ending import TurnOutcome
from jpq.turn.for_programs import Detailed

if TYPE_CHECKING:
    from jpq.library.shape import Schema, Shape

# What arrived of such a turn is not what was asked for.
_FAILED = (ending.ERROR, ending.INCOMPLETE, ending.DENIED)


class _Asked(NamedTuple):
    """A question, or with None for ``request`` the last one again."""

    request: Optional[ChatRequest]
    shape: Optional[Shape] = None
    metadata: Mapping[str, Any] = {}

    @property
    def drafts(self) -> List[Draft]:
        """What of it is new to the conversation."""
        return [] if self.request is None else [Draft(self.request, self.metadata)]


class Session:
    """A conversation with ``model``, or with the one that is configured.

    ``tools`` are functions (see ``jpq.tool``) and names of configured or builtin tools; None
    is all that are configured.
    ``store`` is where the conversation is saved: None for nowhere, ``"default"`` for where
    the command saves, else a folder; ``conversation`` is the id of a saved one that goes on.
    ``options`` are the model's, ``config`` any other settings, over those of the
    configuration file. ``approve`` is asked about calls that need permission, ``answer`` what
    running tools want to know; both on the thread that takes the events. ``yes``,
    ``tool_choice`` and ``no_stream`` are as the options of the command. ``environ`` and ``cwd``
    stand in for the process's own.

    Raises JpqError for what cannot be used. One thread at a time asks; ``cancel`` may be
    called from any. Several sessions do not know of each other. Close it, or use it in a
    ``with``.
    """

    def __init__(
        self,
        model: Optional[str] = None,
        *,
        tools: Optional[Sequence[OfferedTool]] = (),
        store: Optional[str] = None,
        conversation: Optional[str] = None,
        system: Optional[str] = None,
        options: Optional[Mapping[str, Any]] = None,
        config: Optional[Mapping[str, Any]] = None,
        approve: Optional[Approve] = None,
        answer: Optional[Answer] = None,
        yes: bool = False,
        tool_choice: Optional[str] = None,
        no_stream: bool = False,
        environ: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
    ) -> None:
        environ = dict(os.environ if environ is None else environ)
        place = Place(environ, os.path.abspath(cwd or os.curdir), find_paths(environ))
        self._approve, self._answer = approve, answer
        self._manner = Manner(yes, tool_choice, not no_stream)
        self._turn: Optional[RunningTurn] = None
        self._busy = threading.Lock()  # held while a question is answered
        self._beginning = threading.Lock()  # guards _turn and _closed
        self._usages: List[Usage] = []
        self._closed = False
        self._chosen = settings_of(model, system, options or {}, tools)
        self._library = library_at(store, place.paths)
        self._journal = saved_journal(self._library, conversation)
        own = {} if self._journal is None else self._journal.stream.config()
        try:
            self._parts = Parts(place, config or {}, self._chosen, own, tools)
        except BaseException:
            if self._journal is not None:
                self._journal.close()
            raise

    @property
    def model(self) -> str:
        """The model that is asked, ``PROVIDER/MODEL``."""
        return str(self._parts.model)

    @property
    def id(self) -> Optional[str]:
        """The conversation's id; None where nothing is saved, or nothing was asked yet."""
        return None if self._journal is None else self._journal.id

    @property
    def usage(self) -> Usage:
        """The tokens of all that was asked through this session."""
        return total_usage(self._usages) if self._usages else Usage()

    @property
    def warnings(self) -> Tuple[str, ...]:
        """What is to be said about the configuration; nothing is printed."""
        return self._parts.config.warnings

    def stream(
        self,
        prompt: Optional[str],
        *,
        attachments: Sequence[Attachable] = (),
        schema: Optional[Schema] = None,
    ) -> Iterator[Event]:
        """Ask, and yield what happens as it happens; the last event is a ``Result``.

        None for ``prompt`` is the last question again, as in ``retry``. ``attachments`` are
        paths, or names with bytes. With a ``schema`` (JSON Schema, or the short form of
        ``--schema``) the answer is JSON that matches it. Nothing is sent before the first
        step. Closing the iterator early stops the answer, which is saved as far as it came.
        What fails within the turn is an ``Error`` event; raises JpqError for what fails before.
        """
        question = (
            self._unfinished() if prompt is None else self._question(prompt, attachments, schema)
        )
        with self._running(question) as turn:
            yield from turn.events(self._approve, self._answer)

    def ask(
        self,
        prompt: str,
        *,
        attachments: Sequence[Attachable] = (),
        schema: Optional[Schema] = None,
    ) -> ChatResponse:
        """Ask as ``stream`` does, and return the whole answer; ``structured`` is its value
        where it had to match a schema.

        An answer that its provider, a limit or ``cancel`` ended early is returned, and not
        ``is_complete``. Raises JpqError where it failed; its ``response`` is what had arrived.
        """
        return self._whole(self._question(prompt, attachments, schema))

    def retry(self) -> ChatResponse:
        """Have the last question answered that was not answered to its end; as ``ask``.

        Raises BadInputError where there is none.
        """
        return self._whole(self._unfinished())

    def cancel(self) -> None:
        """Stop the answer that is under way, if any, and save it as far as it came.

        Any thread; does not wait. The stream goes on to its ``Result``, which is
        ``interrupted``.
        """
        turn = self._turn
        if turn is not None:
            turn.stop()

    def close(self) -> None:
        """Stop what is under way and give back files and connections. Any thread."""
        with self._beginning:
            self._closed, turn = True, self._turn
        if turn is not None:
            turn.stop()
            turn.join()
        self._parts.close()
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # -- one turn ----------------------------------------------------------------------

    def _question(
        self, prompt: str, attachments: Sequence[Attachable], schema: Optional[Schema]
    ) -> _Asked:
        if not prompt.strip() and not attachments:
            raise BadInputError("There is no question.")
        parts = self._parts
        shape = None if schema is None else _shape(schema)
        metadata = {
            **read_attachments(attachments, parts.place, parts.config, parts.model),
            **({} if shape is None else shape.metadata),
        }
        return _Asked(ChatRequest(prompt), shape, metadata)

    def _unfinished(self) -> _Asked:
        turn = None if self._journal is None else self._journal.stream.last_turn()
        if turn is None or not turn.unfinished:
            raise BadInputError("The last turn is complete; there is nothing to retry.")
        stored = turn.entries[0].metadata.get("schema")
        return _Asked(None, _shape(stored) if isinstance(stored, dict) else None)

    def _whole(self, question: _Asked) -> ChatResponse:
        transcript = Transcript(self._parts.model.model)
        with self._running(question) as turn:
            transcript.drain(turn.events(self._approve, self._answer))
        response = transcript.finish()
        assert turn.outcome is not None
        error = turn.outcome.ending.error
        if error is not None and turn.outcome.ending.status in _FAILED:
            error.hint, error.response = hint_in_python(error.hint), response
            raise error
        return response

    @contextlib.contextmanager
    def _running(self, question: _Asked) -> Iterator[RunningTurn]:
        """A turn, which is stopped at the end of the ``with`` if it still runs."""
        if not self._busy.acquire(blocking=False):
            raise UsageError(
                "The session is answering another question.",
                hint="Wait for its end, or open a second session.",
            )
        try:
            turn = self._begin(question)
            try:
                yield turn
            finally:
                turn.stop()
                try:
                    turn.join()
                finally:
                    self._turn = None
        finally:
            self._busy.release()

    def _begin(self, question: _Asked) -> RunningTurn:
        with self._beginning:
            if self._closed:
                raise UsageError("The session is closed.")
            journal = self._open_journal(question)
            self._turn = turn = RunningTurn(lambda turn: self._run(turn, journal, question))
            turn.start()
            return turn

    def _open_journal(self, question: _Asked) -> Journal:
        if self._journal is None:
            text = "" if question.request is None else question.request.content
            parts = self._parts
            self._journal = new_journal(self._library, self._chosen, parts.model, parts.place, text)
        return self._journal

    def _run(self, turn: RunningTurn, journal: Journal, question: _Asked) -> TurnOutcome:
        """The turn, on its own thread."""
        asker = None
        if self._approve is not None or self._answer is not None:
            asker = ProgramAsker(turn.post, approves=self._approve is not None)
        try:
            setup = self._parts.setup(turn, journal, asker, self._manner, question.shape)
        except Stopped:
            return _stopped_early(turn)
        display = Detailed(
            turn, journal, setup.toolset, setup.model, setup.config, setup.surroundings.environ
        )
        outcome = run_turn(setup, question.drafts, turn.inbox, display)
        self._usages.append(outcome.usage)
        return outcome


def _shape(schema: Schema) -> Shape:
    # Few questions have one.
    shape: Shape = importlib.import_module("jpq.library.shape").Shape(schema)
    return shape


def _stopped_early(turn: RunningTurn) -> TurnOutcome:
    outcome = TurnOutcome(ending.of_choice(saved=True), None, "", Usage(), None)
    for event in outcome.closing(None):
        turn.show(event)
    return outcome
