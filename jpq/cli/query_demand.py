"""``--schema`` and ``--extract``: what the answer to a query must be. Loaded for these."""

from __future__ import annotations

import argparse
import os
from typing import Any, Dict, Mapping, Optional

from jpq.cli.environment import Environment
from jpq.config.load import Config
from jpq.conversation.json_answer import unfenced
from jpq.conversation.schema_text import SchemaTextError, list_of, parse_schema
from jpq.errors import BadInputError, JpqError, UsageError
from jpq.events.turn import Result
from jpq.provider.base import ModelRef, Provider
from jpq.provider.structured import told_of
from jpq.render.whole import Shown
from jpq.tools.output_check import OutputCheck, UnusableSchema
from jpq.turn.demand import BlockDemand, Demand, SchemaDemand

_LONGEST_SCHEMA = 4 << 20  # characters
_SCHEMA_HINT = 'As in: --schema "name, age int", --schema @person.json, or JSON Schema.'


class Wanted:
    """What the answer to a query must be: JSON, or text with a block. One turn's.

    ``metadata`` goes with the question into the conversation, for ``--retry``.
    """

    def __init__(self, demand: Demand, shown: Shown, schema: Optional[Mapping[str, Any]]) -> None:
        self.demand = demand
        self.shown = shown
        self._schema = schema
        self.metadata: Mapping[str, Any] = {} if schema is None else {"schema": schema}

    def told(
        self, provider: Provider, model: ModelRef, config: Config, env: Environment
    ) -> Provider:
        """``provider``, whose model is told of the schema as its API has it."""
        if self._schema is None:
            return provider
        return told_of(self._schema, provider, model, config, env.environ)


def find_wanted(args: argparse.Namespace, env: Environment, stored: Any) -> Optional[Wanted]:
    """What the options ask for; else JSON that matches the ``stored`` schema, which the question
    that is asked again had.

    Raises UsageError or BadInputError for a schema that is none.
    """
    if args.schema or args.schema_multi:
        schema = schema_of(args.schema or args.schema_multi, env)
        return wanted_json(schema if args.schema else list_of(schema))
    if args.extract is not None and args.extract is not False:
        language = args.extract if isinstance(args.extract, str) else ""
        return Wanted(BlockDemand(language), Shown(_extracted), None)
    return wanted_json(stored) if isinstance(stored, dict) else None


def wanted_json(schema: Dict[str, Any], where: str = "") -> Wanted:
    """JSON that matches ``schema``, which came from ``where``. Raises BadInputError."""
    try:
        check = OutputCheck(schema)
    except UnusableSchema as error:
        raise BadInputError(
            f"The schema cannot be used: {error}.", where=where, hint=_SCHEMA_HINT
        ) from error
    return Wanted(SchemaDemand(check.complaint), Shown(_json, json=True), schema)


def schema_of(spec: str, env: Environment) -> Dict[str, Any]:
    """The schema that ``spec`` is, or that the file says which it names.

    Raises UsageError for a text, BadInputError for a file, which names the line.
    """
    path = _path(spec, env)
    text = spec if path is None else _read(path)
    try:
        schema = parse_schema(text)
        OutputCheck(schema)
        return schema
    except SchemaTextError as error:
        raise _unusable(error, path, f":{error.line}") from error
    except UnusableSchema as error:
        raise _unusable(error, path, "") from error


def _unusable(error: Exception, path: Optional[str], line: str) -> JpqError:
    message = f"The schema cannot be used: {error}."
    if path is None:
        return UsageError(message, where="--schema", hint=_SCHEMA_HINT)
    return BadInputError(message, where=path + line, hint=_SCHEMA_HINT)


def _path(spec: str, env: Environment) -> Optional[str]:
    """The file that ``spec`` names, if it does: with @, or by what no schema looks like."""
    if spec.startswith("@"):
        return os.path.join(env.cwd, os.path.expanduser(spec[1:]))
    plain = spec.strip()
    looks_like_one = plain.endswith(".json") or os.sep in plain
    if "{" in plain or "\n" in plain or not looks_like_one or ":" in plain:
        return None
    return os.path.join(env.cwd, os.path.expanduser(plain))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(_LONGEST_SCHEMA + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name, or no UTF-8
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise BadInputError(f"The schema cannot be read: {reason}.", where=path) from error
    if len(text) > _LONGEST_SCHEMA:
        raise BadInputError("The schema is longer than any API takes.", where=path)
    return text


def _extracted(result: Result) -> str:
    block = result.extra.get("extracted")
    return result.text if block is None else str(block)


def _json(result: Result) -> str:
    """The JSON as the model sent it, without a fence; all of it where it does not match."""
    return result.text if result.error is not None else unfenced(result.text)
