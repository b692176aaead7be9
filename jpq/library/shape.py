"""Shape: JSON that an answer must be. Loaded for ``schema=``."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Union

from jpq.config.load import Config
from jpq.conversation.schema_text import SchemaTextError, parse_schema
from jpq.errors import UsageError
from jpq.library.opening import Place
from jpq.provider.base import ModelRef, Provider
from jpq.provider.structured import told_of
from jpq.tools.output_check import OutputCheck, UnusableSchema
from jpq.turn.demand import SchemaDemand

# JSON Schema, or its text, or the short form.
Schema = Union[str, Mapping[str, Any]]


class Shape:
    """What one answer must be. Raises UsageError for a schema that is none.

    ``metadata`` goes with the question into the conversation, for a retry.
    """

    def __init__(self, schema: Schema) -> None:
        try:
            parsed: Dict[str, Any] = (
                parse_schema(schema) if isinstance(schema, str) else dict(schema)
            )
            check = OutputCheck(parsed)
        except (SchemaTextError, UnusableSchema) as error:
            raise UsageError(
                f"The schema cannot be used: {error}.",
                hint='As in: schema="name, age int", or a dict with JSON Schema.',
            ) from error
        self._schema = parsed
        self.demand = SchemaDemand(check.complaint)
        self.metadata: Mapping[str, Any] = {"schema": parsed}

    def told(self, provider: Provider, model: ModelRef, config: Config, place: Place) -> Provider:
        """``provider``, whose model is told of the schema as its API has it."""
        return told_of(self._schema, provider, model, config, place.environ)
