"""A report on a log, for cron: says nothing when all is well.

    0 6 * * *  python cron_report.py /var/log/syslog /srv/www/report.txt

The report is written whole or not at all. The exit code tells cron, or whoever started it, what
happened: 0 for a report, 75 when trying again later can help, 1 for anything else.
"""

from __future__ import annotations

import os
import sys
from typing import Any, List

import jpq

SYSTEM = "You read logs for an administrator. You report only what needs a person."
QUESTION = "Sum up this log. Name what needs a person, the most urgent first."
SCHEMA = "summary: one sentence\nurgent bool\nproblems [str]"
TAIL_BYTES = 100_000  # what a report is made of
TRY_LATER = 75  # EX_TEMPFAIL


def main(arguments: List[str]) -> int:
    log, report = arguments
    try:
        with jpq.Session(system=SYSTEM) as session:
            found = session.ask(QUESTION, attachments=[("log.txt", tail(log))], schema=SCHEMA)
    except (jpq.JpqError, OSError) as error:
        print(f"no report on {log}: {error}", file=sys.stderr)
        return TRY_LATER if getattr(error, "retryable", False) else 1
    if not found.is_complete:
        print(f"no report on {log}: the answer is {found.status}", file=sys.stderr)
        return 1
    write_whole(report, as_text(found.structured))
    return 0


def tail(path: str) -> bytes:
    """The end of the file, from the beginning of a line."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES))
        data = file.read()
    return data if size <= TAIL_BYTES else data.partition(b"\n")[2]


def as_text(found: Any) -> str:
    mark = "URGENT: " if found["urgent"] else ""
    lines = [mark + found["summary"], *(f"- {problem}" for problem in found["problems"])]
    return "\n".join(lines) + "\n"


def write_whole(path: str, text: str) -> None:
    """Replace the file at once, so that nobody ever reads half of it."""
    new = f"{path}.new"
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(new, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
