"""Every command and option in one tree of parsers, with what can stand for each value."""

from __future__ import annotations

import argparse
import importlib
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from jpq.cli.completion_cmd import SHELLS
from jpq.cli.run import ALIASES, COMMANDS

FILE = "file"

# What the value of an argument is, by command, or "" for all, and destination.
_KIND_OF = {
    ("", "model"): "models",
    ("", "resume"): "conversations",
    ("", "template"): "templates",
    ("", "tool"): "tools",
    ("", "provider"): "providers",
    ("", "set"): "assignments",
    ("", "id"): "conversations",
    ("", "ids"): "conversations",
    ("", "attach"): FILE,
    ("", "batch"): FILE,
    ("", "file"): FILE,
    ("", "log_file"): FILE,
    ("", "output"): FILE,
    ("", "paths"): FILE,
    ("", "source"): FILE,
    ("config", "key"): "settings",
    ("keys", "name"): "providers",
    ("mcp", "name"): "servers",
    ("models", "name"): "embedded",
    ("templates", "name"): "templates",
    ("tools", "name"): "tools",
}
# Words that options take beside a number or a name.
_WORDS = {
    "reasoning": ("full", "hidden", "progress", "static"),
    "wrap": ("auto", "off"),
    "tool_choice": ("auto", "required", "none"),
    "word": SHELLS,
}


def whole_parser() -> argparse.ArgumentParser:
    """The parser of a query with every command as a subcommand. Only good to be looked at."""
    root: argparse.ArgumentParser = _parser_of("query", "jpq")
    for action in list(root._actions):
        if not action.option_strings:
            root._remove_action(action)
    commands: Any = root.add_subparsers(prog="jpq")
    commands._parser_class = _by_program  # which is no class, and so cannot be handed in
    for name, full in _names():
        parser = commands.add_parser(name, help=_summary(full))
        _mark(parser, full)
    _mark(root, "query")
    return root


def parsers() -> Dict[str, argparse.ArgumentParser]:
    """The parser of each command, by its name, the query's first."""
    found = {name: _parser_of(name, _program(name)) for name in COMMANDS}
    for name, parser in found.items():
        _mark(parser, name)
    return found


def actions_of(parser: argparse.ArgumentParser) -> Dict[str, argparse.ArgumentParser]:
    """The subcommands of ``parser``."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def summaries(parser: argparse.ArgumentParser) -> Dict[str, str]:
    """What each subcommand of ``parser`` does, in a line."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return {each.dest: each.help or "" for each in action._get_subactions()}
    return {}


def arguments_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The options and arguments of ``parser`` that are shown to people."""
    for action in parser._actions:
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction):
            yield action


def kind_of(action: argparse.Action) -> Optional[str]:
    """What the value of ``action`` is: one of completion_cmd's KINDS, FILE, or None."""
    return getattr(action, "jpq_kind", None)


def takes_value(action: argparse.Action) -> bool:
    """Whether ``action`` has a value, or stands alone."""
    return action.nargs != 0


def help_of(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    """The help of ``action`` as it is shown."""
    return str(parser._get_formatter()._expand_help(action)) if action.help else ""


def _names() -> List[Tuple[str, str]]:
    """Each word that is a command, with the command's full name."""
    return [*((name, name) for name in COMMANDS), *ALIASES.items()]


def _program(name: str) -> str:
    return "jpq" if name == "query" else f"jpq {name}"


def _parser_of(name: str, prog: str) -> Any:
    parser = importlib.import_module(COMMANDS[name].parser).build_parser(prog)
    if name == "query":
        parser.description = "Ask a language model"  # its own is examples
    return parser


def _by_program(*, prog: str, **_: Any) -> Any:
    word = prog.split()[-1]
    return _parser_of(ALIASES.get(word, word), prog)


def _summary(name: str) -> str:
    description = str(_parser_of(name, name).description or "")
    return description.split(". ")[0].rstrip(".")


def _mark(parser: argparse.ArgumentParser, command: str) -> None:
    """Note at each action of ``parser`` what its value is."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _mark(below, command)
            continue
        if not takes_value(action):
            continue
        words: Sequence[str] = _WORDS.get(action.dest, ())
        if words:
            action.choices = list(words)
        kind = _KIND_OF.get((command, action.dest)) or _KIND_OF.get(("", action.dest))
        if kind is not None:
            action.jpq_kind = kind  # type: ignore[attr-defined]
