"""``jpq conversation export``."""

from __future__ import annotations

import argparse
import os
from typing import List

from jpq.cli.conversation_cmd import chosen, is_terminal
from jpq.cli.conversation_show import formatted
from jpq.cli.environment import Environment
from jpq.errors import UsageError
from jpq.render.sanitize import VISUALIZE, sanitize
from jpq.store.bundle import write_bundle
from jpq.store.files import write_named
from jpq.store.library import Library
from jpq.store.reading import SavedConversation


def export(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Write conversations to stdout or to a file that only this person can read.

    ``jpq``, the default format, is what ``import`` takes in again, byte for byte.
    """
    if args.all and args.ids:
        raise UsageError("--all exports every conversation and takes no ID.")
    ids = library.ids() if args.all else [library.resolve(text) for text in args.ids]
    if not ids and not args.all:
        ids = [chosen(None, env, library)]
    if len(ids) > 1 and args.format not in ("jpq", "jsonl"):
        raise UsageError(
            f"Only one conversation fits into {args.format}.",
            hint="Export them one by one, or as jpq or jsonl.",
        )
    parts: List[bytes] = []
    for id in ids:
        saved = library.read(id)
        for notice in saved.notices:
            env.notice(notice)
        parts.append(_encoded(saved, args.format))
    data = b"".join(parts)
    if args.output in (None, "-"):
        _write(data, env)
        return 0
    path = os.path.join(env.cwd, os.path.expanduser(args.output))
    write_named(path, data)
    env.notice(f"{len(ids)} exported to {path}")
    return 0


def _write(data: bytes, env: Environment) -> None:
    if is_terminal(env):
        env.out(sanitize(data.decode("utf-8", "replace"), VISUALIZE))
    else:
        env.out_bytes(data)


def _encoded(saved: SavedConversation, format: str) -> bytes:
    if format == "jpq":
        return write_bundle(saved)
    return formatted(saved, format).encode("utf-8", "replace")
