"""The lines of a batch: which there are, and what each of them asks."""

from __future__ import annotations

import json
from typing import Any, BinaryIO, Dict, Iterator, Mapping, Optional, Tuple, Union

from jpq.errors import BadInputError
from jpq.events import strict_json
from jpq.named import NamedTuple

_TEXT = str
_FIELDS: Mapping[str, Any] = {
    "id": (str, int),
    "prompt": _TEXT,
    "system": _TEXT,
    "model": _TEXT,
    "options": dict,
    "attach": (str, list),
    "schema": (str, dict),
    "schema_multi": (str, dict),
}
_LONGEST_BYTES = 100 << 20  # of a line; /dev/zero is one without end
_FORM = 'A line is a JSON string, or an object such as {"id": "a", "prompt": "..."}.'


class Line(NamedTuple):
    """A line of the file as it stands there; ``number`` counts from 1."""

    number: int
    data: bytes


class Job(NamedTuple):
    """What a line asks; None where it says nothing of it."""

    prompt: str
    system: Optional[str] = None
    model: Optional[str] = None
    options: Mapping[str, Any] = {}
    attach: Tuple[str, ...] = ()
    schema: Union[None, str, Dict[str, Any]] = None
    schema_multi: Union[None, str, Dict[str, Any]] = None


def read_lines(file: BinaryIO, shard: Optional[Tuple[int, int]]) -> Iterator[Line]:
    """The lines of ``file`` that are not blank, or of them those of a ``shard`` (K of N).

    Raises BadInputError for one without end.
    """
    part, parts = shard or (1, 1)
    for number, data in enumerate(iter(lambda: file.readline(_LONGEST_BYTES), b""), 1):
        if len(data) == _LONGEST_BYTES:
            raise BadInputError(
                f"A line is longer than {_LONGEST_BYTES >> 20} MiB, which no model takes.",
                where=f"line {number}",
                hint=_FORM,
            )
        if (number - part) % parts == 0 and data.strip(b"\xef\xbb\xbf \t\r\n"):
            yield Line(number, data)


def count_lines(path: str, shard: Optional[Tuple[int, int]]) -> int:
    """About how many of them there are. Raises OSError."""
    total = 0
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            total += block.count(b"\n")
    return -(-total // shard[1]) if shard else total


def id_of(line: Line) -> Any:
    """The ``id`` that a line has; None without, or where it cannot be read."""
    value = _value(line)
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def parse_line(line: Line) -> Job:
    """What ``line`` asks. Raises BadInputError."""
    value = _value(line)
    if isinstance(value, str):
        value = {"prompt": value}
    if not isinstance(value, dict):
        raise _wrong(line, "it is neither a JSON string nor an object")
    for name, given in value.items():
        if name not in _FIELDS:
            raise _wrong(line, f"there is no field {name!r}")
        if given is not None and (not isinstance(given, _FIELDS[name]) or isinstance(given, bool)):
            raise _wrong(line, f"the field {name!r} has the wrong type")
    said = {name: given for name, given in value.items() if given is not None and name != "id"}
    attach = said.pop("attach", ())
    attach = (attach,) if isinstance(attach, str) else tuple(attach)
    if not all(isinstance(each, str) and each != "-" for each in attach):
        raise _wrong(line, "'attach' takes paths and URLs")
    if not str(said.get("prompt", "")).strip() and not attach:
        raise _wrong(line, "there is no prompt")
    if "schema" in said and "schema_multi" in said:
        raise _wrong(line, "'schema' and 'schema_multi' exclude each other")
    return Job(**{"prompt": "", **said, "attach": attach})


def record_line(line: Line, id: Any, fields: Mapping[str, Any]) -> bytes:
    """The line of output for ``line``; its number comes first, so that sort(1) finds it."""
    record = {"line": line.number, "id": id, **fields}
    try:
        text = json.dumps(record, allow_nan=False, default=str)
    except ValueError:  # NaN or an infinity, which a model can write and JSON cannot
        text = json.dumps(strict_json.finite(record), default=str)
    return text.encode("ascii") + b"\n"


def _value(line: Line) -> Any:
    try:
        return strict_json.parse(line.data.decode("utf-8-sig").strip())
    except ValueError:
        return None


def _wrong(line: Line, what: str) -> BadInputError:
    return BadInputError(
        f"The line cannot be used: {what}.", where=f"line {line.number}", hint=_FORM
    )
