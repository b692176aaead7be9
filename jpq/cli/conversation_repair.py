"""``jpq conversation repair``: shows what is wrong, keeps a copy, and mends it."""

from __future__ import annotations

import argparse
import os
from typing import Any, Dict, List, Optional, Sequence

from jpq.cli.conversation_cmd import chosen, lock_wait_s
from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.render.sanitize import VISUALIZE, sanitize
from jpq.store.library import Library
from jpq.store.repair import FileRepair, plan_repair, write_repair

_SHOWN = 160  # characters of a line


def repair(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Show the difference on stdout, then write it; with ``--dry-run`` write nothing."""
    id = chosen(args.id, env, library)
    if args.dry_run:
        plan = plan_repair(library.path(id))
        _show(plan, args.format, env)
        if not plan:
            env.notice(f"{id} is sound.")
        return 0
    journal = library.open(id, lock_wait_s(env), env.notice, name_damage=False)
    try:
        plan = plan_repair(journal.folder)
        _show(plan, args.format, env)
        copies = write_repair(plan)
    finally:
        journal.close()
    for copy in copies:
        env.notice(f"The file as it was is kept in {copy}")
    env.notice(f"{id} is repaired." if copies else f"{id} is sound.")
    return 0


def _show(plan: Sequence[FileRepair], format: str, env: Environment) -> None:
    if format == "json":
        env.out(to_json([_as_object(change, part) for part in plan for change in part.changes]))
        return
    lines: List[str] = []
    for part in plan:
        lines.append(f"--- {part.path}")
        for change in part.changes:
            place = f"line {change.number}" if change.number else "put in"
            lines.append(f"@@ {place}: {change.reason}")
            lines.extend(_marked("-", change.removed) + _marked("+", change.added))
    env.out("".join(line + "\n" for line in lines))


def _marked(mark: str, line: Optional[bytes]) -> List[str]:
    if line is None:
        return []
    text = line[: 4 * _SHOWN].decode("utf-8", "replace")
    more = "" if len(text) <= _SHOWN else f" ... ({len(line)} bytes)"
    return [mark + sanitize(text[:_SHOWN], VISUALIZE) + more]


def _as_object(change: Any, part: FileRepair) -> Dict[str, Any]:
    fields: Dict[str, Any] = change._asdict()
    for name in ("removed", "added"):
        line = fields[name]
        fields[name] = None if line is None else line.decode("utf-8", "replace")
    return {"file": os.path.basename(part.path), **fields}
