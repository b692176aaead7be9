"""``jpq conversation ls``: saved conversations, searched and sorted."""

from __future__ import annotations

import argparse
import importlib
from typing import Any, Callable, Dict, List, Sequence

from jpq.cli.conversation_cmd import is_terminal
from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.render.sanitize import sanitize
from jpq.store.library import Library
from jpq.store.summary import Summary
from jpq.store.workspace import workspace_of
from jpq.terminal.caps import caps_of, terminal_width

_HEADER = ("ID", "UPDATED", "TURNS", "STATUS", "MODEL")
_LONG_HEADER = (*_HEADER, "SIZE", "WORKSPACE")
# What is cut where a terminal is too narrow, and to which width: title, workspace, model.
_SHRINK = ((5, 20), (4, 12), (5, 0))
_LONG_SHRINK = ((7, 20), (6, 12), (4, 12), (7, 0))

# What is best first: the latest, the largest, or A before B.
_ORDERS: Dict[str, Callable[[Summary], Any]] = {
    "updated": lambda row: (row.updated_at, row.id),
    "created": lambda row: (row.created_at, row.id),
    "turns": lambda row: (row.turns, row.updated_at, row.id),
    "size": lambda row: (row.size, row.updated_at, row.id),
    "title": lambda row: ((row.title or "").casefold(), row.updated_at, row.id),
}


def ls(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Print the list; what is damaged is named on stderr, too."""
    everything = library.list()
    rows = [row for row in everything if _wanted(row, args, env)]
    rows.sort(key=_ORDERS[args.sort], reverse=(args.sort != "title") != args.reverse)
    if args.limit is not None:
        rows = rows[: args.limit]
    if args.format == "json":
        env.out(to_json([_as_object(row, args.long) for row in rows]))
    elif rows:
        env.out(_drawn(rows, args.long, env) if is_terminal(env) else _table(rows, args.long))
    elif everything:
        env.tell("No saved conversation matches.")
    else:
        env.tell("There are no saved conversations yet.")
    for row in rows:
        if row.problem:
            env.notice(
                f"{row.id} is damaged ({row.problem}); "
                f"look at it with: jpq conversation repair --dry-run {row.id}"
            )
    return 0


def _wanted(row: Summary, args: argparse.Namespace, env: Environment) -> bool:
    if args.here and row.workspace != workspace_of(env.cwd):
        return False
    text = f"{row.id}\n{row.title or ''}\n{row.model or ''}".casefold()
    return all(word.casefold() in text for word in args.words)


def _as_object(row: Summary, long: bool) -> Dict[str, Any]:
    """The fields that programs are promised; ``problem`` only where there is one."""
    fields = row._asdict()
    if not long:
        del fields["size"]
    if not row.problem:
        del fields["problem"]
    return fields


def _drawn(rows: Sequence[Summary], long: bool, env: Environment) -> str:
    """For a person: with a header, and no line longer than the terminal is wide."""
    caps = caps_of(env.environ, env.stdout, env.stderr)
    # Late, as a pipe needs neither it nor what knows how wide characters are.
    table = importlib.import_module("jpq.cli.terminal_table")
    drawn: str = table.draw_table(
        (*(_LONG_HEADER if long else _HEADER), "TITLE"),
        [(*_cells(row, long), row.title or "") for row in rows],
        terminal_width(caps.stdout, env.stdout),
        _LONG_SHRINK if long else _SHRINK,
    )
    return drawn


def _table(rows: Sequence[Summary], long: bool) -> str:
    """For a script: nothing is cut, columns are two blanks apart, and the title is the last."""
    cells = [_cells(row, long) for row in rows]
    titles = [" ".join(sanitize(row.title or "").split()) for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), title]).rstrip()
        for line, title in zip(cells, titles)
    ]
    return "".join(sanitize(line) + "\n" for line in lines)


def _cells(row: Summary, long: bool) -> List[str]:
    status = "damaged" if row.problem else row.status
    cells = [row.id, _minute(row.updated_at), str(row.turns), status, row.model or "-"]
    return [*cells, _bytes(row.size), row.workspace or "-"] if long else cells


def _minute(timestamp: str) -> str:
    """``2026-05-03T12:00:00.000Z`` as ``2026-05-03 12:00Z``."""
    return f"{timestamp[:10]} {timestamp[11:16]}Z" if timestamp else "-"


def _bytes(size: int) -> str:
    """A size for people, in units of 1024 bytes."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if amount >= 10 or unit == "B" else f"{amount:.1f} {unit}"
