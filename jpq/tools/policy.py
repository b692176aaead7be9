"""Rules on calls: what is allowed, asked about or denied, whatever the run mode says.

A rule is ``NAME``, ``NAME(ARGUMENT=GLOB)`` or, for a tool that is given commands,
``NAME(WORD WORD *)``; NAME is a glob too. Of the rules that match, deny wins over ask, and
ask over allow.
"""

from __future__ import annotations

import os
import re
import shlex
from fnmatch import fnmatchcase
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from jpq.errors import ConfigError
from jpq.named import NamedTuple
from jpq.tools.definition import CommandLine
from jpq.tools.schema import json_text
from jpq.tools.shell_line import Command, ShellLine, argv_line, read_shell_line

ALLOW = "allow"
ASK = "ask"
DENY = "deny"
EFFECTS = (DENY, ASK, ALLOW)

_RULE = re.compile(r"\s*([^()\s]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_ARGUMENT = re.compile(r"([A-Za-z_][\w.-]*)=(.*)", re.DOTALL)


class Rule(NamedTuple):
    """One rule. ``argument`` names the one that ``glob`` is for; ``words`` are a command's
    globs; None and () mean that every call of the tool is meant. ``text`` is as written."""

    effect: str
    name: str
    argument: Optional[str]
    glob: str
    words: Tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"the rule {self.effect} = {self.text!r}"

    @property
    def on_commands(self) -> bool:
        """Whether it judges commands."""
        return bool(self.words)


class Verdict(NamedTuple):
    """``effect`` is ALLOW, ASK, DENY, or None where no rule decides; ``by`` says why."""

    effect: Optional[str]
    by: str


def parse_rule(effect: str, text: str) -> Rule:
    """The rule in ``text``. Raises ConfigError."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise _wrong_rule(effect, text, "it has no such shape")
    name, inner = found.group(1), found.group(2)
    if inner is None:
        return Rule(effect, name, None, "", (), text)
    argument = _ARGUMENT.fullmatch(inner.strip())
    if argument is not None:
        return Rule(effect, name, argument.group(1), argument.group(2), (), text)
    try:
        words = tuple(shlex.split(inner))
    except ValueError as error:
        raise _wrong_rule(effect, text, str(error)) from None
    if not words:
        raise _wrong_rule(effect, text, "nothing is between the parentheses")
    return Rule(effect, name, None, "", words, text)


def _wrong_rule(effect: str, text: str, reason: str) -> ConfigError:
    return ConfigError(
        f"The rule {text!r} cannot be read: {reason}.",
        where=f"policy.{effect}",
        hint='Write it as "NAME", "NAME(argument=GLOB)" or "shell(git log *)".',
    )


class Policy:
    """All rules. Pure."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self._rules = tuple(rules)

    @classmethod
    def of_config(cls, config: Any) -> Policy:
        """The rules under ``policy``. Raises ConfigError."""
        return cls(
            [
                parse_rule(effect, text)
                for effect in EFFECTS
                for text in config.get(f"policy.{effect}", ())
            ]
        )

    def judge(
        self, name: str, arguments: Mapping[str, Any], command_line: Optional[CommandLine]
    ) -> Verdict:
        """What the rules say about one call; ``command_line`` is what it would run, if it
        chooses that freely."""
        rules = [rule for rule in self._rules if fnmatchcase(name, rule.name)]
        plain = [rule for rule in rules if not rule.on_commands]
        line = _read(command_line)
        for effect in EFFECTS:
            for rule in plain:
                if rule.effect != effect or not _matches_arguments(rule, arguments):
                    continue
                if effect != ALLOW or line is None or _allows_line(rule, arguments, line):
                    return Verdict(effect, str(rule))
            if line is not None:
                of_effect = [rule for rule in rules if rule.on_commands and rule.effect == effect]
                verdict = _judge_line(effect, of_effect, line, rules)
                if verdict is not None:
                    return verdict
        return Verdict(None, "no rule")


def _read(command_line: Optional[CommandLine]) -> Optional[ShellLine]:
    if command_line is None:
        return None
    if isinstance(command_line, str):
        return read_shell_line(command_line)
    return argv_line(command_line)


def _allows_line(rule: Rule, arguments: Mapping[str, Any], line: ShellLine) -> bool:
    """Whether a rule that matches allows this line too: a glob on the text of a line says
    nothing of the commands behind the first one."""
    if rule.argument is None or arguments[rule.argument] == rule.glob:
        return True
    return len(line.commands) == 1 and not _uncertain(line)


def _judge_line(
    effect: str, rules: List[Rule], line: ShellLine, all_rules: Sequence[Rule]
) -> Optional[Verdict]:
    if effect == ALLOW:
        return _allowed(rules, line)
    for command in line.commands:
        for rule in rules:
            if _matches_command(rule, command):
                return Verdict(effect, f"{rule}, which {str(command)!r} matches")
    if effect == ASK and any(rule.on_commands for rule in all_rules):
        reason = _uncertain(line) or _runs_others(line, all_rules)
        if reason:
            return Verdict(ASK, f"no rule can be sure of this line: {reason}")
    return None


def _allowed(rules: List[Rule], line: ShellLine) -> Optional[Verdict]:
    """Allowed if it is certain what runs and a rule allows each part of it."""
    if not line.commands or _uncertain(line):
        return None
    used = []
    for command in line.commands:
        rule = next((rule for rule in rules if _matches_command(rule, command)), None)
        if rule is None:
            return None
        used.append(str(rule))
    return Verdict(ALLOW, " and ".join(dict.fromkeys(used)))


def _uncertain(line: ShellLine) -> str:
    if line.unclear:
        return line.unclear
    unfixed = next((command for command in line.commands if not command.fixed), None)
    return "" if unfixed is None else f"the shell would expand something in {str(unfixed)!r}"


def _runs_others(line: ShellLine, rules: Sequence[Rule]) -> str:
    """The first command that runs what its words say, unless a rule allows just that, and not
    any command."""
    for command in line.commands:
        allowed = (
            rule.effect == ALLOW
            and rule.words[:1] not in ((), ("*",))
            and _matches_command(rule, command)
            for rule in rules
        )
        if command.runs_others and not any(allowed):
            return f"{command.program} can run any other command"
    return ""


def _matches_command(rule: Rule, command: Command) -> bool:
    """Word for word; a last ``*`` stands for any number of words.

    A program is denied, or asked about, under its path as well.
    """
    words, globs = list(command.words), list(rule.words)
    if rule.effect != ALLOW:
        words[0] = command.program
    elif command.redirects and ".." in words[-1].split("/"):
        return False  # a path that leads out of what the glob seems to say
    if globs[-1] == "*":
        globs.pop()
        words = words[: len(globs)]
    return len(words) == len(globs) and all(map(fnmatchcase, words, globs))


def _matches_arguments(rule: Rule, arguments: Mapping[str, Any]) -> bool:
    if rule.argument is None:
        return True
    if rule.argument not in arguments:
        return False
    value = arguments[rule.argument]
    text = value if isinstance(value, str) else json_text(value)
    if rule.effect == ALLOW:
        # A path that leads out is not what the glob seems to say, as above.
        return ".." not in re.split(r"[/\\]", text) and fnmatchcase(text, rule.glob)
    # A path is denied, or asked about, in any way of writing it.
    return fnmatchcase(text, rule.glob) or fnmatchcase(os.path.normpath(text), rule.glob)
