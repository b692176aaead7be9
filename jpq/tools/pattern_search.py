"""PatternSearch: a pattern of a schema, whose search in a text comes to an end.

Patterns are written by others, and Python's search can take longer than anybody lives; while it
runs, no other thread does. What may take long is therefore searched in a process of its own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any, Pattern

WAIT_S = 3.0
_SHORT = 20  # characters, in which no pattern takes long
_MOST_STEPS = 10_000_000
_REPEAT = r"[*+]|\{\d*,\d*\}"
_REPEATED_GROUP = r"\)(?:[*+]|\{\d+)"
# The time limit is the child's own, too: nobody stops it where jpq is killed.
_CHILD = """\
import faulthandler, json, re, sys
faulthandler.dump_traceback_later(float(sys.argv[1]), exit=True)
pattern, text = json.load(sys.stdin)
print(re.search(pattern, text) is not None)
"""


class SlowPattern(Exception):
    """The search took too long."""


class PatternSearch:
    """Stands in for a compiled pattern. Any thread."""

    def __init__(self, compiled: Pattern[str]) -> None:
        self._compiled = compiled

    def search(self, text: str) -> Any:
        """Something that is true if the pattern is in ``text``. Raises SlowPattern."""
        pattern = self._compiled.pattern
        if not may_take_long(pattern, text) or not sys.executable:
            return self._compiled.search(text)
        argv = [sys.executable, "-I", "-S", "-c", _CHILD, str(WAIT_S)]
        try:
            done = subprocess.run(
                argv,
                input=json.dumps([pattern, text]).encode("ascii"),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=2 * WAIT_S,
                start_new_session=True,
                check=True,
            )
        except (subprocess.SubprocessError, OSError):
            raise SlowPattern(f"the pattern {pattern!r} takes too long") from None
        return done.stdout.strip() == b"True"


def may_take_long(pattern: str, text: str) -> bool:
    """Whether a search could take more than a moment; True for many that do not."""
    if len(text) <= _SHORT:
        return False
    if re.search(_REPEATED_GROUP, pattern):
        return True
    repeats = len(re.findall(_REPEAT, pattern))
    return bool(len(text) ** (repeats + 1) > _MOST_STEPS) if repeats else False
