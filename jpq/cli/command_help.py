"""The ``--help`` of commands that have commands of their own."""

from __future__ import annotations

import argparse

_EXAMPLES = "examples:\n"


class _Formatter(argparse.HelpFormatter):
    """Examples stay as they are written; other text is filled as usual."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(_EXAMPLES) else super()._fill_text(text, width, indent)


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
