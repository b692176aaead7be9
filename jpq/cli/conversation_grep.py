"""``jpq conversation grep``: a regular expression over what was said."""

from __future__ import annotations

import argparse
import os
import re
from typing import Any, Dict, Iterator, List, Optional, Pattern

from jpq.cli.conversation_cmd import is_terminal
from jpq.cli.conversation_text import NOTE, said_in
from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.errors import BadInputError, UsageError
from jpq.named import NamedTuple
from jpq.render.sanitize import sanitize
from jpq.store.files import read_file
from jpq.store.library import Library
from jpq.store.reading import EVENTS, INFLIGHT

# In a text without any of these, JSON and regular expressions mean what is written.
_SPECIAL = re.compile(r'[\\^$.|?*+()\[\]{}"\x00-\x1f]')


class Found(NamedTuple):
    """A line of a text that matches, with those around it."""

    id: str
    event_id: str
    speaker: str
    line: int  # from 1, within the text
    text: str
    before: List[str]
    after: List[str]


def grep(args: argparse.Namespace, env: Environment, library: Library) -> int:
    """Print what matches as ``ID:EVENT_ID:text``; 1 when nothing does."""
    try:
        pattern = re.compile(
            re.escape(args.pattern) if args.fixed else args.pattern,
            re.IGNORECASE if args.ignore_case else 0,
        )
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"The pattern is not a regular expression: {error}.", hint="-F takes it as plain text."
        ) from error
    ids = [library.resolve(text) for text in args.ids] or list(reversed(library.ids()))
    needle = _needle(args)
    matches: List[Found] = []
    listed: List[str] = []
    any_found = False
    for id in ids:
        for found in _search(id, pattern, needle, args.context, library, env):
            any_found = True
            if args.list:
                listed.append(id)
                break
            if args.format == "json":
                matches.append(found)
            else:
                env.out(_as_text(found, is_terminal(env)))
    if args.format == "json":
        env.out(to_json(listed if args.list else [_as_object(found) for found in matches]))
    elif args.list:
        env.out("".join(id + "\n" for id in listed))
    return 0 if any_found else 1


def _needle(args: argparse.Namespace) -> Optional[Pattern[bytes]]:
    """What the bytes of a file must hold for the pattern to match in it; None: cannot be told.

    Reading a file costs little beside taking its entries apart.
    """
    text = args.pattern
    if (_SPECIAL.search(text) and not args.fixed) or re.search(r'["\\\x00-\x1f]', text):
        return None
    if args.ignore_case and not text.isascii():
        return None
    needle = re.escape(text.encode("utf-8", "surrogatepass"))
    # The Kelvin sign and the long s are k and s when case does not count.
    return (
        re.compile(needle + b"|\xe2\x84\xaa|\xc5\xbf", re.I)
        if args.ignore_case
        else re.compile(needle)
    )


def _search(
    id: str,
    pattern: Pattern[str],
    needle: Optional[Pattern[bytes]],
    context: int,
    library: Library,
    env: Environment,
) -> Iterator[Found]:
    try:
        if needle is not None and not _may_hold(library.path(id), needle):
            return
        saved = library.read(id)
    except (BadInputError, OSError) as error:
        reason = error.message if isinstance(error, BadInputError) else f"{error.strerror}."
        env.notice(f"{id} is left out: {reason}")
        return
    for said, entry in said_in(saved.stream.entries):
        if said.speaker == NOTE:
            continue
        lines = said.text.split("\n")
        for number, line in enumerate(lines):
            if pattern.search(line):
                before = lines[max(0, number - context) : number]
                after = lines[number + 1 : number + 1 + context]
                yield Found(id, entry.event_id, said.speaker, number + 1, line, before, after)


def _may_hold(folder: str, needle: Pattern[bytes]) -> bool:
    for name in (EVENTS, INFLIGHT):
        data = read_file(os.path.join(folder, name))
        # Other programs may write any letter as an escape; text in flight comes in pieces.
        if needle.search(data) or b"\\u" in data or (name == INFLIGHT and data):
            return True
    return False


def _as_text(found: Found, terminal: bool) -> str:
    around = [f"{found.id}-{found.event_id}-{line}" for line in found.before]
    around.append(f"{found.id}:{found.event_id}:{found.text}")
    around += [f"{found.id}-{found.event_id}-{line}" for line in found.after]
    text = "".join(line + "\n" for line in around)
    if found.before or found.after:
        text += "--\n"
    return sanitize(text) if terminal else text


def _as_object(found: Found) -> Dict[str, Any]:
    return found._asdict()
