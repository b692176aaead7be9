"""``jpq conversation compact``: from now on less of a conversation is sent, and nothing lost."""

from __future__ import annotations

import argparse
import importlib
from typing import Any, Callable, Dict, Optional

from jpq.cli.conversation_cmd import chosen
from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.config.load import Config, load_config
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
from jpq.store.library import Library

_LOCK_WAIT_S = 10.0


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


def compact(
    args: argparse.Namespace,
    env: Environment,
    library: Library,
    open_asker: Optional[Callable[[], Any]] = None,
) -> int:
    """Compact, or only say what it would save, or take the last compaction back.

    ``open_asker`` makes the Asker for a summary, in place of what the configuration says.
    """
    id = chosen(args.id, env, library)
    if args.dry_run:
        _tell(_report(id, library.read(id).stream, args, None), args, env, done=False)
        return 0
    journal = library.open(id, _LOCK_WAIT_S, lambda notice: env.tell(f"jpq: {notice}"))
    try:
        if args.undo:
            _undo(journal, env)
            return 0
        stream = journal.stream
        summary = None
        if args.summarize:
            plan = _plan(stream, args, "")
            # What asks a model costs as much as a query, which a dry run need not pay.
            asker = importlib.import_module("jpq.cli.conversation_ask").Asker
            opened = open_asker() if open_asker else asker(_config(stream, args, env), env)
            with opened as model:
                summary = summarize(stream.entries, plan, model.ask)
        report = _report(id, stream, args, summary)
        worth_it = report.after < report.before
        if worth_it:
            journal.commit([Draft(report.plan)])
        _tell(report, args, env, done=worth_it)
        if not worth_it:
            env.tell("jpq: That would save nothing, so nothing was done.")
    finally:
        journal.close()
    return 0


def _undo(journal: Any, env: Environment) -> None:
    last = last_compaction(journal.stream.entries)
    if last is None:
        raise BadInputError("There is no compaction to take back.", where=journal.folder)
    journal.commit([Draft(undone(last))])
    tokens = estimate_tokens(build_thread(journal.stream.entries))
    env.tell(f"jpq: {journal.id} is sent as about {tokens:,} tokens again.")


def _plan(
    stream: ConversationStream, args: argparse.Namespace, summary: Optional[str]
) -> Compaction:
    plan = plan_compaction(stream, args.keep)
    if plan is None:
        raise BadInputError(
            f"The conversation has {len(stream.turns())} turns, and the last {args.keep} are "
            "left alone.",
            hint="--keep N leaves fewer alone.",
        )
    if args.summarize:
        return plan._replace(summary=summary)
    neither = not (args.reasoning or args.tools)
    return plan._replace(
        drop_reasoning=args.reasoning or neither, shorten_results=args.tools or neither
    )


def _report(
    id: str, stream: ConversationStream, args: argparse.Namespace, summary: Optional[str]
) -> _Report:
    """What it comes to; with a summary that is yet to be made, what is to be expected."""
    before = estimate_tokens(build_thread(stream.entries))
    plan = _plan(stream, args, summary or "")
    with_it = [*stream.entries, Entry("compaction", "", plan)]
    after = estimate_tokens(build_thread(with_it))
    if args.summarize and summary is None:
        after += EXPECTED_SUMMARY_TOKENS
    return _Report(id, before, after, plan)


def _tell(report: _Report, args: argparse.Namespace, env: Environment, done: bool) -> None:
    env.out(to_json(report.json(done)) if args.format == "json" else report.text(done))


def _config(stream: ConversationStream, args: argparse.Namespace, env: Environment) -> Config:
    options = {} if args.model is None else {"model": args.model}
    return load_config(
        env.paths, env.environ, env.cwd, options=options, conversation=stream.config()
    )


def share(before: int, after: int) -> str:
    """How much less ``after`` is, in percent."""
    return f"{max(0, before - after) * 100 // max(1, before)} %"
