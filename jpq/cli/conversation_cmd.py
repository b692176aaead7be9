"""``jpq conversation``: list, show, locate and remove saved conversations."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any, Callable, Dict, List, Optional

from jpq.cli.conversation_text import as_json, as_json_lines, as_markdown, as_text
from jpq.cli.environment import Environment
from jpq.errors import BadInputError
from jpq.render.sanitize import sanitize
from jpq.store.library import Library
from jpq.store.summary import Summary
from jpq.store.workspace import workspace_of

_ID_HELP = "an ID, the beginning of one, or a title; without it the workspace's last conversation"


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of everything behind ``jpq conversation``."""
    parser = argparse.ArgumentParser(prog=prog, description="Saved conversations.")
    commands = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    ls = commands.add_parser("ls", help="list them, the one written last first")
    _add_format(ls, "text", "json")
    show = commands.add_parser("show", help="print what was said")
    show.add_argument("id", metavar="ID", nargs="?", help=_ID_HELP)
    _add_format(show, "text", "json", "jsonl", "markdown")
    path = commands.add_parser("path", help="print the folder of one")
    path.add_argument("id", metavar="ID", nargs="?", help=_ID_HELP)
    _add_format(path, "text", "json")
    rm = commands.add_parser("rm", help="remove them for good, without asking")
    rm.add_argument("ids", metavar="ID", nargs="+", help="an ID, the beginning of one, or a title")
    _add_format(rm, "text", "json")
    return parser


def run(args: argparse.Namespace, env: Environment) -> int:
    """Run the parsed command; returns the exit code. Raises JpqError."""
    library = Library(os.path.join(env.paths.data, "conversations"))
    return _ACTIONS[args.action](args, env, library)


def _add_format(parser: argparse.ArgumentParser, *names: str) -> None:
    parser.add_argument(
        "--format", choices=names, default=names[0], help=f"one of {', '.join(names)}"
    )


def _ls(args: argparse.Namespace, env: Environment, library: Library) -> int:
    rows = library.list()
    if args.format == "json":
        env.out(_json([_as_object(row) for row in rows]))
    elif rows:
        env.out(_table(rows))
    else:
        env.tell("There are no saved conversations yet.")
    return 0


def _show(args: argparse.Namespace, env: Environment, library: Library) -> int:
    saved = library.read(_chosen(args.id, env, library))
    for notice in saved.notices:
        env.tell(f"jpq: {notice}")
    if args.format == "json":
        env.out(_json(as_json(saved)))
    elif args.format == "jsonl":
        env.out(as_json_lines(saved))
    else:
        text = as_markdown(saved) if args.format == "markdown" else as_text(saved)
        env.out(sanitize(text) if _is_terminal(env) else text)
    turn = saved.stream.last_turn()
    if turn is not None and turn.unfinished:
        env.tell(
            f"jpq: the last turn is unfinished ({turn.status}); "
            f"go on with it: jpq --retry -r {saved.id}"
        )
    return 0


def _path(args: argparse.Namespace, env: Environment, library: Library) -> int:
    id = _chosen(args.id, env, library)
    folder = library.path(id)
    env.out(_json({"id": id, "path": folder}) if args.format == "json" else folder + "\n")
    return 0


def _rm(args: argparse.Namespace, env: Environment, library: Library) -> int:
    ids: List[str] = []
    for text in args.ids:  # all are found before the first is removed
        id = library.resolve(text)
        if id not in ids:
            ids.append(id)
    for id in ids:
        library.remove(id)
    if args.format == "json":
        env.out(_json(ids))
    return 0


_ACTIONS: Dict[str, Callable[[argparse.Namespace, Environment, Library], int]] = {
    "ls": _ls,
    "show": _show,
    "path": _path,
    "rm": _rm,
}


def _chosen(text: Optional[str], env: Environment, library: Library) -> str:
    if text is not None:
        return library.resolve(text)
    workspace = workspace_of(env.cwd)
    last = library.last(workspace)
    if last is None:
        raise BadInputError(
            "This workspace has no saved conversation.",
            where=workspace,
            hint="See those of every workspace with: jpq conversation ls",
        )
    return last


def _table(rows: List[Summary]) -> str:
    cells = [
        [row.id, _minute(row.updated_at), str(row.turns), row.status, row.model or "-"]
        for row in rows
    ]
    titles = [" ".join(sanitize(row.title or "").split()) for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), title]).rstrip()
        for line, title in zip(cells, titles)
    ]
    return "".join(sanitize(line) + "\n" for line in lines)


def _as_object(row: Summary) -> Dict[str, Any]:
    """The fields that programs are promised; ``problem`` only where there is one."""
    fields = row._asdict()
    del fields["size"]
    if not row.problem:
        del fields["problem"]
    return fields


def _minute(timestamp: str) -> str:
    """``2026-05-03T12:00:00.000Z`` as ``2026-05-03 12:00Z``."""
    return f"{timestamp[:10]} {timestamp[11:16]}Z" if timestamp else "-"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _is_terminal(env: Environment) -> bool:
    return env.stdout is not None and env.stdout.isatty()
