"""``jpq conversation title``, ``fork``, ``rm`` and ``prune``."""

from __future__ import annotations

import argparse
import time
from typing import List

from jpq.cli.conversation_cmd import chosen, lock_wait_s
from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.cli.prompt_text import joined_words
from jpq.conversation.identity import utc_timestamp
from jpq.errors import BadInputError, ConversationBusyError
from jpq.render.sanitize import sanitize
from jpq.store.fork import fork
from jpq.store.library import Library


def title(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Print the title, or change it. One word that names no conversation is a new title."""
    id, words = args.id, args.words
    if id is not None and not words:
        try:
            id = library.resolve(id)
        except BadInputError:
            id, words = None, [id]
    id = chosen(id, env, library)
    if words:
        journal = library.open(id, lock_wait_s(env), env.notice)
        try:
            journal.set_title(" ".join(joined_words(words, env.notice).split()))
        finally:
            journal.close()
    now = library.read(id).metadata.get("title")
    if args.format == "json":
        env.out(to_json({"id": id, "title": now}))
    elif not words:
        env.out(sanitize(str(now or "")) + "\n")
    return 0


def fork_one(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Copy a conversation, or part of it, and print the copy's ID."""
    source = chosen(args.id, env, library)
    journal = fork(library, source, args.last, args.at, env.notice)
    journal.close()
    if args.format == "json":
        env.out(to_json({"id": journal.id, "forked_from": source}))
    else:
        env.out(journal.id + "\n")
    return 0


def rm(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Remove conversations; all are found before the first is removed.

    A part of a title names none here: what it meets by chance would be gone.
    """
    ids: List[str] = []
    for text in args.ids:
        id = library.resolve(text, part_of_title=False)
        if id not in ids:
            ids.append(id)
    for id in ids:
        library.remove(id)
    if args.format == "json":
        env.out(to_json(ids))
    return 0


def prune(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Remove what was written before a while; what is in use or damaged stays."""
    before = utc_timestamp(max(0.0, time.time() - args.older_than))
    old = [row for row in library.list() if row.updated_at and row.updated_at < before]
    removed: List[str] = []
    for row in old:
        if row.problem:
            env.notice(f"{row.id} is damaged and stays ({row.problem}).")
            continue
        try:
            if not args.dry_run:
                library.remove(row.id)
        except ConversationBusyError:
            env.notice(f"{row.id} is in use and stays.")
            continue
        removed.append(row.id)
    if args.format == "json":
        env.out(to_json(removed))
    else:
        env.out("".join(id + "\n" for id in removed))
    return 0
