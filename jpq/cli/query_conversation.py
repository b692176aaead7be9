"""The conversation of a query: a saved one that goes on, or a new one."""

from __future__ import annotations

import argparse
import importlib
from typing import Any, Callable, List, Mapping, Optional, Sequence

from jpq.cli.environment import Environment
from jpq.conversation.event import ConfigDelta, Draft
from jpq.conversation.stream import ConversationStream
from jpq.errors import BadInputError, WriteError
from jpq.provider.base import ModelRef
from jpq.store.journal import Journal
from jpq.store.library import Library
from jpq.store.memory import MemoryJournal, UnsavedJournal
from jpq.store.reading import SavedConversation
from jpq.store.workspace import workspace_of

_TITLE_CHARACTERS = 60


def saved_conversation(
    args: argparse.Namespace, env: Environment, library: Library
) -> Optional[SavedConversation]:
    """The conversation to go on with, as it is now; None for a new one."""
    if args.resume is not None:
        return library.read(library.resolve(args.resume))
    if not (args.continue_last or args.retry or args.edit or args.fork or args.replay):
        return None
    return library.read(last_here(env, library))


def last_here(env: Environment, library: Library) -> str:
    """The id of the last conversation in this workspace. Raises BadInputError."""
    workspace = workspace_of(env.cwd)
    last = library.last(workspace)
    if last is None:
        raise BadInputError(
            "There is no conversation in this workspace yet.",
            where=workspace,
            hint="Start one without -c, or choose one: jpq conversation ls, then -r ID.",
        )
    return last


def going_on(
    args: argparse.Namespace,
    library: Library,
    saved: SavedConversation,
    lock_wait_s: float,
    tell: Callable[[str], None],
) -> Journal:
    """The conversation open for writing; a copy in memory where nothing is to be saved.

    ``tell`` is given a line for the person when another process holds it.
    """
    if args.ephemeral or args.dry_run:
        return MemoryJournal(saved.stream, saved.metadata)
    try:
        if args.fork:
            forked: Journal = _rare("store.fork").fork(library, saved.id)
            return forked
        return library.open(saved.id, lock_wait_s, tell)
    except WriteError as error:
        return UnsavedJournal(saved.stream, error)


def following(
    args: argparse.Namespace,
    journal: Journal,
    chosen: Mapping[str, Any],
    questions: Sequence[Draft],
) -> List[Draft]:
    """What is added to a conversation that goes on: new settings and the question, which a
    template may have begun with more."""
    if args.retry:
        _check_retry(journal)
    own = journal.stream.config()
    changes = {key: value for key, value in chosen.items() if own.get(key) != value}
    requests = [Draft(ConfigDelta(changes))] if changes else []
    if args.edit:
        return [
            *requests,
            *_rare("cli.conversation_edit").in_place_of_last(journal.stream, questions[-1]),
        ]
    return requests if args.retry else [*requests, *questions]


def _check_retry(journal: Journal) -> None:
    turn = journal.stream.last_turn()
    if turn is None or not turn.unfinished:
        raise BadInputError(
            "The last turn is complete; there is nothing to retry.",
            where=f"conversation {journal.id}",
            hint="Ask something new with: jpq -c QUESTION",
        )


def create(
    args: argparse.Namespace,
    env: Environment,
    library: Library,
    model: ModelRef,
    chosen: Mapping[str, Any],
    prompt: str,
) -> Journal:
    """A new conversation; in memory where it is not to be saved, or cannot be."""
    if args.ephemeral or args.dry_run:
        return MemoryJournal(ConversationStream(chosen))
    metadata = {
        "title": " ".join(prompt.split())[:_TITLE_CHARACTERS],
        "workspace": workspace_of(env.cwd),
        "model": str(model),
    }
    try:
        return library.create(metadata, chosen)
    except WriteError as error:
        return UnsavedJournal(ConversationStream(chosen), error)


def _rare(module: str) -> Any:
    """A module of ours that few queries need, loaded when one does."""
    return importlib.import_module(f"jpq.{module}")
