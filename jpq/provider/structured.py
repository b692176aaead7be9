"""StructuredOutput: asks a model for JSON that matches a schema, as well as its API can.

The quirk ``schema`` of a row says how: ``native`` hands the schema to the API, ``instruction``
puts it into the system prompt, ``both`` does both. Loaded for ``--schema``.
"""

from __future__ import annotations

import json
import re
from typing import Any, Mapping

from jpq.config.load import Config
from jpq.conversation.schema_text import is_exact
from jpq.errors import ErrorKind, StreamError
from jpq.provider.base import (
    Exchange,
    ModelRef,
    Progress,
    Provider,
    ProviderRequest,
    ProviderRow,
)
from jpq.provider.registry import resolve
from jpq.provider.second_way import SecondWay

NATIVE, INSTRUCTION, BOTH = "native", "instruction", "both"

# Servers that only force the grammar never show the schema to the model, and imitators of the
# chat API may pass over what they do not know: these are told in words, too.
_USUAL: Mapping[str, str] = {
    "openai-responses": NATIVE,
    "anthropic": NATIVE,
    "google": NATIVE,
    "scripted": INSTRUCTION,
}
_INSTRUCTION = """\
Answer with JSON that matches this JSON Schema, and with nothing else: no text before or \
after it, and no code fence.

{}"""
# What servers say about a schema, or a field for one, that they do not take.
_REFUSAL = re.compile(r"schema|format|mime|structured|output_config|additionalProperties", re.I)


_ANY_URL = "http://any"  # how a model is told does not depend on where it is


def told_of(
    schema: Mapping[str, Any],
    provider: Provider,
    model: ModelRef,
    config: Config,
    environ: Mapping[str, str],
) -> Provider:
    """``provider``, whose model is told of ``schema`` as its API has it. Raises ConfigError."""
    overrides = config.table("providers").get(model.provider, {})
    row = resolve(model.provider, overrides, environ, _ANY_URL)
    return StructuredOutput(provider, schema, way_of(row, schema))


def way_of(row: ProviderRow, schema: Mapping[str, Any]) -> str:
    """How models of ``row`` are told of ``schema``: one of the words above.

    Anthropic refuses schemas that leave anything open, and every API one that is no object.
    """
    way = str(row.quirks.get("schema", _USUAL.get(row.api, BOTH)))
    if schema.get("type") != "object" or (row.api == "anthropic" and not is_exact(schema)):
        return INSTRUCTION
    return way if way in (NATIVE, INSTRUCTION, BOTH) else BOTH


class StructuredOutput:
    """A Provider whose model is asked for JSON that matches ``schema``.

    Where the API refuses the schema, the model is told in words instead, then and from then
    on. ``exchange`` is for as many threads as the provider's is.
    """

    def __init__(self, provider: Provider, schema: Mapping[str, Any], way: str) -> None:
        self._provider = provider
        self._schema = schema
        self._way = way

    def prepare(self, model: str, progress: Progress) -> None:
        """As the provider does."""
        self._provider.prepare(model, progress)

    def close(self) -> None:
        """Close the provider."""
        self._provider.close()

    def exchange(self, request: ProviderRequest) -> Exchange:
        """The provider's exchange, for ``request`` with the schema."""
        if self._way == INSTRUCTION:
            return self._in_words(request)
        return SecondWay(
            self._provider.exchange(with_schema(request, self._schema, self._way)),
            lambda: self._in_words(request),
            _is_about_schema,
            helped=self._say_it,
        )

    def _in_words(self, request: ProviderRequest) -> Exchange:
        return self._provider.exchange(with_schema(request, self._schema, INSTRUCTION))

    def _say_it(self) -> None:
        """From now on the model is told in words."""
        self._way = INSTRUCTION


def with_schema(request: ProviderRequest, schema: Mapping[str, Any], way: str) -> ProviderRequest:
    """``request`` for JSON that matches ``schema``."""
    if way != INSTRUCTION:
        options = {**request.options, "response_format": _response_format(schema)}
        request = request._replace(options=options)
    if way != NATIVE:
        text = _INSTRUCTION.format(json.dumps(schema, ensure_ascii=False, indent=2))
        system = request.thread.system.rstrip()
        system = f"{system}\n\n{text}" if system else text
        request = request._replace(thread=request.thread._replace(system=system))
    return request


def _response_format(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    described = {"name": "answer", "schema": schema}
    # Only what is exact can be promised; OpenAI refuses to promise anything else.
    return {
        "type": "json_schema",
        "json_schema": {**described, "strict": True} if is_exact(schema) else described,
    }


def _is_about_schema(error: StreamError) -> bool:
    return error.kind is ErrorKind.INVALID_REQUEST and bool(_REFUSAL.search(error.message))
