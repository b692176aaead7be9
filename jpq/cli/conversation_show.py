"""``jpq conversation show`` and ``path``."""

from __future__ import annotations

import argparse
import importlib

from jpq.cli.conversation_cmd import chosen, is_terminal
from jpq.cli.conversation_text import (
    as_json,
    as_json_lines,
    as_markdown,
    as_text,
    last_turns,
)
from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.render.sanitize import sanitize
from jpq.store.library import Library
from jpq.store.reading import SavedConversation


def show(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Print what was said; on a terminal as answers are shown there."""
    saved = library.read(chosen(args.id, env, library))
    for notice in saved.notices:
        env.notice(notice)
    turn = saved.stream.last_turn()
    saved = last_turns(saved, args.last)
    totals = None
    if args.usage:
        # Loads prices and configuration, which nothing else here needs.
        totals = importlib.import_module("jpq.cli.conversation_totals").totals_of(saved.stream, env)
    if totals is not None and args.format == "json":
        env.out(to_json({**as_json(saved), **totals.to_json()}))
    elif args.format == "auto" and is_terminal(env):
        # Loads what draws answers, which nothing else here needs.
        importlib.import_module("jpq.cli.conversation_replay").replay(saved.stream, env)
    elif args.format == "html":
        env.out_bytes(formatted(saved, "html").encode("utf-8", "replace"))  # as the page says
    else:
        text = formatted(saved, args.format)
        env.out(sanitize(text) if is_terminal(env) and args.format in _FOR_PEOPLE else text)
    if totals is not None and args.format != "json":
        env.notice(totals.words)
    if turn is not None and turn.unfinished:
        env.notice(
            f"the last turn is unfinished ({turn.status}); go on with it: jpq --retry -r {saved.id}"
        )
    return 0


_FOR_PEOPLE = ("auto", "text", "markdown")


def formatted(saved: SavedConversation, format: str) -> str:
    """The whole conversation in ``format``."""
    if format == "json":
        return to_json(as_json(saved))
    if format == "jsonl":
        return as_json_lines(saved)
    if format == "markdown":
        return as_markdown(saved)
    if format == "html":
        page: str = importlib.import_module("jpq.cli.conversation_html").as_html(saved)
        return page
    return as_text(saved)


def path(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Print the folder of a conversation."""
    id = chosen(args.id, env, library)
    folder = library.path(id)
    env.out(to_json({"id": id, "path": folder}) if args.format == "json" else folder + "\n")
    return 0
