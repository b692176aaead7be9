"""``--template NAME -p KEY=VALUE``: a question that was kept. Loaded when one is used."""

from __future__ import annotations

import argparse
import importlib
import json
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from jpq.cli.environment import Environment
from jpq.config.load import Config
from jpq.config.nested import join_name, leaves
from jpq.config.sources import Source
from jpq.config.template import Template, beside, read_template
from jpq.conversation.event import Draft
from jpq.errors import UsageError

MCP = "mcp:"

# Puts words and stdin together, as for a question without a template: the words, and whether
# all of that may be blank.
Gather = Callable[[Sequence[str], bool], str]


class UsedTemplate:
    """A template with its arguments, for one query. Main thread."""

    def __init__(self, template: Template, given: Mapping[str, str]) -> None:
        self._template = template
        self._arguments = template.arguments(given)
        self.source: Optional[Source] = template.source(self._arguments)

    @property
    def settings(self) -> Dict[str, Any]:
        """What it sets for the conversation: dotted key to value."""
        values = {} if self.source is None else self.source.values
        return {join_name(path): value for path, value in leaves(values)}

    def apply(self, args: argparse.Namespace) -> None:
        """Let it stand for options that were not given: ``-t``, ``--schema`` and ``-x``."""
        values = self._template.values
        if "tools" in values and not args.tool and not args.no_tools:
            args.tool = list(values["tools"])
            args.no_tools = not args.tool
        if args.schema or args.schema_multi or args.extract is not None:
            return  # each of them says what the answer must be
        schema = values.get("schema")
        if schema is not None:
            if isinstance(schema, Mapping):
                schema = json.dumps(schema)
            elif schema.startswith("@"):
                schema = "@" + beside(self._template.file, schema[1:])
            args.schema = schema
        args.extract = values.get("extract") or None

    def question(self, words: Sequence[str], gather: Gather, config: Config) -> str:
        """The question: its prompt with the words and stdin in place of ``$input``, or before
        them. Raises UsageError where there is nothing to ask."""
        template = self._template
        if template.takes_input:
            return template.prompt(self._arguments, gather(words, False))
        prompt = template.prompt(self._arguments).strip("\n")
        if not prompt.strip():
            return gather(words, False)
        # As a word, so that a silent pipe is not waited for without end.
        own = " ".join(word for word in words if word != "-")
        first = f"{prompt}\n\n{own}" if own.strip() else prompt
        return gather([first, *(word for word in words if word == "-")], True)

    def questions(self, question: Draft) -> List[Draft]:
        """What the conversation gets for ``question``: that."""
        return [question]


def open_template(args: argparse.Namespace, env: Environment, tell: Callable[[str], None]) -> Any:
    """What ``--template`` names, with what ``-p`` gives it. ``tell`` is given warnings.

    ``mcp:SERVER/PROMPT`` is a prompt of an MCP server, for which ``jpq.cli.mcp_prompt``
    returns an object with the same attributes as UsedTemplate. Raises UsageError, ConfigError.
    """
    given = parameters(args.param)
    if args.template.startswith(MCP):
        # Starts a server, which other templates have no use for.
        module = importlib.import_module("jpq.cli.mcp_prompt")
        return module.open_prompt(args.template[len(MCP) :], given, env)
    warnings: List[str] = []
    template = read_template(args.template, env.paths, env.cwd, warnings)
    for warning in warnings:
        tell(warning)
    used = UsedTemplate(template, given)
    used.apply(args)
    return used


def parameters(texts: Sequence[str]) -> Dict[str, str]:
    """The values that each ``-p KEY=VALUE`` gives. Raises UsageError."""
    given: Dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"-p {text!r} is not KEY=VALUE.", hint="As in: -p language=French")
        given[key] = value
    return given
