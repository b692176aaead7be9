"""Writes the manual page, docs/jpq.1, from the parsers.

Run ``python -m jpq.cli.completion_manual docs/jpq.1`` after changing an option.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import Iterable, Iterator, List, Sequence, Tuple

from jpq import __version__
from jpq.cli.completion_tree import (
    actions_of,
    arguments_of,
    help_of,
    parsers,
    summaries,
    takes_value,
)
from jpq.errors import ExitCode

_LONGEST = 78  # characters of a line, which people may read as it is
DATE = "2026-11-30"
_ABOUT = """\
jpq asks a language model and streams the answer to standard output. Reasoning, tool calls,
notices and errors go to standard error. The words of the command line are the question; what
is piped in is added to it. A first word that is one of the commands below is that command;
words after -- are always a question.

Answers are saved as conversations, which -c and -r go on with.
"""
_EXITS: Sequence[Tuple[ExitCode, str]] = (
    (ExitCode.OK, "The answer is complete."),
    (ExitCode.FAILURE, "Anything that has no code of its own."),
    (ExitCode.USAGE, "The command line cannot be understood."),
    (ExitCode.BAD_INPUT, "The input cannot be used, or the answer does not match --schema."),
    (ExitCode.UNREACHABLE, "The server cannot be reached."),
    (ExitCode.CUT, "The answer was cut, or something could not be written."),
    (ExitCode.BUSY, "The provider is overloaded, or the conversation is in use."),
    (ExitCode.STOPPED_EARLY, "The answer stopped early: a limit, a refusal, or nothing at all."),
    (ExitCode.DENIED, "No valid key, no quota left, or a tool that was not allowed."),
    (ExitCode.CONFIG, "The configuration cannot be used."),
    (ExitCode.TIMEOUT, "--timeout was reached."),
    (ExitCode.INTERRUPT, "Ctrl+C; other signals end with 128 and their number."),
    (ExitCode.BROKEN_PIPE, "Whoever read the answer has left."),
)
_VARIABLES = (
    ("JPQ_MODEL", "The model, as with -m."),
    ("JPQ_SET_KEY__SUBKEY", "Any setting; two underscores stand for a dot."),
    ("JPQ_HOME", "One folder for configuration, data, state and cache."),
    ("OPENAI_API_KEY", "And the like: keys of providers."),
    ("VISUAL, EDITOR", "The editor for long questions, settings and templates."),
    ("NO_COLOR, FORCE_COLOR", "Whether to use colour."),
    ("CI", "Set to true: never ask anything."),
)
_FILES = (
    ("~/.config/jpq/config.toml", "Settings; jpq config show prints all that are in effect."),
    ("~/.config/jpq/templates/", "Templates."),
    ("~/.local/share/jpq/", "Conversations, keys and embedded models."),
    (".jpq/config.toml, .jpq/instructions.md", "Settings and instructions of a project."),
)
_EXAMPLES = (
    ("Ask:", 'jpq "Why is the sky blue?"'),
    ("Go on:", 'jpq -c "And at sunset?"'),
    ("Ask about what another program prints:", 'git diff | jpq "Write a commit message for this"'),
    ("Ask about a file:", 'jpq "What does this do?" -a main.c'),
)


def manual_page() -> str:
    """The whole page."""
    found = parsers()
    query = found.pop("query")
    lines = [
        '.\\" Written by python -m jpq.cli.completion_manual docs/jpq.1',
        f'.TH JPQ 1 {DATE} "jpq {__version__}" "User Commands"',
        ".SH NAME",
        "jpq \\- ask a language model",
        ".SH SYNOPSIS",
        ".B jpq",
        "[options] [question ...]",
        ".br",
        ".B jpq",
        "command ...",
        ".SH DESCRIPTION",
        *_paragraphs(_ABOUT),
        ".SH OPTIONS",
        *_arguments(query),
        ".SH COMMANDS",
    ]
    for name, parser in found.items():
        lines += [f".SS {_text(f'jpq {name}')}", *_command(parser)]
    lines += [".SH EXIT STATUS", *_terms((str(int(code)), text) for code, text in _EXITS)]
    lines += [".SH ENVIRONMENT", *_terms(_VARIABLES), ".SH FILES", *_terms(_FILES)]
    lines.append(".SH EXAMPLES")
    for title, command in _EXAMPLES:
        lines += [".TP", _text(title), ".nf", _text(command), ".fi"]
    return "\n".join(lines) + "\n"


def _command(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from _paragraphs(parser.description or "")
    yield from _arguments(parser)
    about = summaries(parser)
    for name, below in actions_of(parser).items():
        yield from [".TP", f".B {_text(_usage(name, below))}", _text(about.get(name, ""))]
        inner = list(_arguments(below))
        if inner:
            yield from [".RS", *inner, ".RE"]


def _usage(name: str, parser: argparse.ArgumentParser) -> str:
    words = [name]
    for action in arguments_of(parser):
        if not action.option_strings:
            word = _value(action)
            words.append({"?": f"[{word}]", "*": f"[{word} ...]"}.get(str(action.nargs), word))
    return " ".join(words)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of ``parser``."""
    for action in arguments_of(parser):
        if not action.option_strings or action.dest == "help":
            continue
        names = ", ".join(f"\\fB{_text(option)}\\fR" for option in action.option_strings)
        value = f" \\fI{_text(_value(action))}\\fR" if takes_value(action) else ""
        yield from [
            ".TP",
            names + value.replace(" \\fI[=", "\\fI[="),
            _help(action, parser),
        ]


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    return "|".join(map(str, action.choices)) if action.choices else action.dest.upper()


def _terms(rows: Iterable[Tuple[str, str]]) -> Iterator[str]:
    for term, text in rows:
        yield from [".TP", f".B {_text(term)}", _text(text)]


def _paragraphs(text: str) -> List[str]:
    lines: List[str] = []
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        lines += [".PP"] if number else []
        lines += textwrap.wrap(_text(" ".join(paragraph.split())), _LONGEST, break_on_hyphens=False)
    return lines


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    text = help_of(action, parser).strip()
    if not text and action.choices:
        text = "one of " + ", ".join(map(str, action.choices))
    return _text(text)


def _text(text: str) -> str:
    """``text`` with what roff would take for a command escaped."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def main(path: str) -> None:
    """Bring the page at ``path`` up to date."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(manual_page())


if __name__ == "__main__":
    main(sys.argv[1])
