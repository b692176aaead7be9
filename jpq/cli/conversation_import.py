"""``jpq conversation import``."""

from __future__ import annotations

import argparse
import os
from typing import List

from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.store.importing import incoming, sources, take_in
from jpq.store.library import Library


def load(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Take in what is at each path and print the new IDs; what is here already is left out."""
    known = sources(library)
    ids: List[str] = []
    seen = 0
    for path in args.paths:
        for conversation in incoming(os.path.join(env.cwd, os.path.expanduser(path))):
            seen += 1
            id = take_in(library, conversation, known)
            if conversation.unread:
                lines = "1 line" if conversation.unread == 1 else f"{conversation.unread} lines"
                env.notice(
                    f"{lines} of {id or conversation.source} cannot be read and did not come "
                    "along; the file may have been cut off."
                )
            if id is not None:
                ids.append(id)
                if args.format == "text":
                    env.out(id + "\n")
    if args.format == "json":
        env.out(to_json(ids))
    if seen > len(ids):
        env.notice(f"{seen - len(ids)} left out: empty, or here already.")
    return 0
