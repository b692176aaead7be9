"""The parser of every command but the query and the chat, and its ``--help``."""

from __future__ import annotations

import argparse
import importlib
from typing import Any, NoReturn, Optional, Sequence

from jpq.errors import UsageError

_EXAMPLES = "examples:\n"


class _Formatter(argparse.HelpFormatter):
    """Examples stay as they are written; other text is filled as usual."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(_EXAMPLES) else super()._fill_text(text, width, indent)


class CommandParser(argparse.ArgumentParser):
    """Tells what is wrong as every error is told, and names what was probably meant."""

    def __init__(self, prog: str, **named: Any) -> None:
        super().__init__(prog=prog, allow_abbrev=False, **named)

    def parse_args(  # type: ignore[override]
        self, args: Optional[Sequence[str]] = None, namespace: Any = None
    ) -> argparse.Namespace:
        parsed: argparse.Namespace
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            chosen = self._chosen(parsed)
            chosen.error(_misspelt().unknown_words(chosen, unknown))
        return parsed

    def error(self, message: str) -> NoReturn:
        """Raises UsageError."""
        end = "" if message.endswith("?") else "."
        raise UsageError(
            f"{message[:1].upper()}{message[1:]}{end}",
            hint=f"{self.prog} --help says what it takes.",
        )

    def _chosen(self, parsed: argparse.Namespace) -> argparse.ArgumentParser:
        """The parser of the subcommand that was given, where there are some."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                chosen: argparse.ArgumentParser = action.choices[getattr(parsed, action.dest)]
                return chosen
        return self

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise _misspelt().no_choice(action, value)


def _misspelt() -> Any:
    # Only a command line that is wrong needs it.
    return importlib.import_module("jpq.cli.misspelt")


def with_examples(parser: argparse.ArgumentParser, *examples: str) -> argparse.ArgumentParser:
    """``parser`` with examples below its help, and with each subcommand saying what it does."""
    parser.formatter_class = _Formatter
    parser.epilog = _EXAMPLES + "".join(f"  {example}\n" for example in examples)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action._get_subactions():
                below = action.choices[each.dest]
                below.description = below.description or _sentence(each.help or "")
    return parser


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
