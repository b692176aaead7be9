"""``jpq conversation compact``: from now on less of a conversation is sent, and nothing lost."""

from __future__ import annotations

import argparse
import importlib
from typing import Any, Callable, Dict, Optional

from jpq.cli.conversation_cmd import chosen, lock_wait_s
from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.config.load import load_config
from jpq.conversation.compaction import (
    EXPECTED_SUMMARY_TOKENS,
    last_compaction,
    plan_compaction,
    summarize,
    undone,
)
from jpq.conversation.event import Compaction, Draft, Entry
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import build_thread
from jpq.conversation.tokens import estimate_tokens
from jpq.errors import BadInputError
from jpq.named import NamedTuple
from jpq.store.library import Library


class Wanted(NamedTuple):
    """What is to become shorter: every turn but the last ``keep``."""

    keep: int
    drop_reasoning: bool
    shorten_results: bool
    summarize: bool


class _Report:
    """What a compaction comes to."""

    def __init__(self, id: str, before: int, after: int, plan: Compaction) -> None:
        self.id, self.before, self.after, self.plan = id, before, after, plan

    def text(self, done: bool) -> str:
        """One line for the person."""
        verb = "is sent as" if done else "would be sent as"
        return (
            f"{self.id} {verb} about {self.after:,} tokens instead of {self.before:,} "
            f"({share(self.before, self.after)} less).\n"
        )

    def json(self, done: bool) -> Dict[str, Any]:
        """The same for programs."""
        return {
            "id": self.id,
            "done": done,
            "tokens_before": self.before,
            "tokens_after": self.after,
            "compaction": self.plan._asdict(),
        }


def compact(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Compact, or only say what it would save, or take the last compaction back."""
    id = chosen(args.id, env, library)
    neither = not (args.reasoning or args.tools)
    wanted = Wanted(args.keep, args.reasoning or neither, args.tools or neither, args.summarize)
    tell_as = _json if args.format == "json" else _Report.text
    if args.dry_run:
        env.out(tell_as(_report(id, library.read(id).stream, wanted, None), False))
        return 0
    journal = _open(id, env, library)
    try:
        if args.undo:
            undo = _undo(journal, env)
            if args.format == "json":
                env.out(_json(undo, True))
        else:
            _shorten(journal, wanted, env, lambda: _asker(journal.stream, args, env), tell_as)
    finally:
        journal.close()
    return 0


def compact_now(
    id: str, wanted: Wanted, env: Environment, library: Library, open_asker: Callable[[], Any]
) -> None:
    """Compact conversation ``id`` as a person chose it; ``open_asker`` makes the Asker for a
    summary. Raises JpqError."""
    journal = _open(id, env, library)
    try:
        _shorten(journal, wanted, env, open_asker, _Report.text)
    finally:
        journal.close()


def _open(id: str, env: Environment, library: Library) -> Any:
    return library.open(id, lock_wait_s(env), env.notice)


def _shorten(
    journal: Any,
    wanted: Wanted,
    env: Environment,
    open_asker: Callable[[], Any],
    tell_as: Callable[[_Report, bool], str],
) -> None:
    """Write the compaction, if it saves anything, and tell what it comes to."""
    stream = journal.stream
    summary = None
    if wanted.summarize:
        plan = _plan(stream, wanted, "")
        with open_asker() as model:
            summary = summarize(stream.entries, plan, model.ask)
    report = _report(journal.id, stream, wanted, summary)
    worth_it = report.after < report.before
    if worth_it:
        journal.commit([Draft(report.plan)])
    env.out(tell_as(report, worth_it))
    if not worth_it:
        env.notice("That would save nothing, so nothing was done.")


def _asker(stream: ConversationStream, args: argparse.Namespace, env: Environment) -> Any:
    options = {} if args.model is None else {"model": args.model}
    config = load_config(
        env.paths, env.environ, env.cwd, options=options, conversation=stream.config()
    )
    # What asks a model costs as much as a query, which a dry run need not pay.
    return importlib.import_module("jpq.cli.conversation_ask").Asker(config, env)


def _undo(journal: Any, env: Environment) -> _Report:
    last = last_compaction(journal.stream.entries)
    if last is None or not isinstance(last.event, Compaction):
        raise BadInputError("There is no compaction to take back.", where=journal.folder)
    before = estimate_tokens(build_thread(journal.stream.entries))
    journal.commit([Draft(undone(last))])
    tokens = estimate_tokens(build_thread(journal.stream.entries))
    env.notice(f"{journal.id} is sent as about {tokens:,} tokens again.")
    return _Report(journal.id, before, tokens, last.event)


def _plan(stream: ConversationStream, wanted: Wanted, summary: str) -> Compaction:
    plan = plan_compaction(stream, wanted.keep)
    if plan is None:
        raise BadInputError(
            f"The conversation has {len(stream.turns())} turns, and the last {wanted.keep} are "
            "left alone.",
            hint="--keep N leaves fewer alone.",
        )
    if wanted.summarize:
        return plan._replace(summary=summary)
    return plan._replace(
        drop_reasoning=wanted.drop_reasoning, shorten_results=wanted.shorten_results
    )


def _report(id: str, stream: ConversationStream, wanted: Wanted, summary: Optional[str]) -> _Report:
    """What it comes to; with a summary that is yet to be made, what is to be expected."""
    before = estimate_tokens(build_thread(stream.entries))
    plan = _plan(stream, wanted, summary or "")
    with_it = [*stream.entries, Entry("compaction", "", plan)]
    after = estimate_tokens(build_thread(with_it))
    if wanted.summarize and summary is None:
        after += EXPECTED_SUMMARY_TOKENS
    return _Report(id, before, after, plan)


def _json(report: _Report, done: bool) -> str:
    return to_json(report.json(done))


def share(before: int, after: int) -> str:
    """How much less ``after`` is, in percent."""
    return f"{max(0, before - after) * 100 // max(1, before)} %"
