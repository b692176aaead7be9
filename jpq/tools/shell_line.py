"""Reads a shell line as the commands that it would run, so that each can be judged.

It understands less than a shell does, on purpose: what it is not certain of is ``unclear``
with a reason, and never allowed by a rule.
"""

from __future__ import annotations

import re
from typing import List, Sequence, Tuple

from jpq.named import NamedTuple

# fmt: off
_RESERVED = frozenset((
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "function", "select", "time", "coproc", "[[", "]]", "{", "}", "!",
))
# Programs whose words say what else is run; of those with a version (python3.11) the name.
_RUNNERS = frozenset((
    ".", "alias", "awk", "bash", "builtin", "bun", "busybox", "chroot", "chrt", "command",
    "compgen", "csh", "dash", "deno", "doas", "env", "eval", "exec", "expect", "fc", "find",
    "fish", "flock", "gawk", "ionice", "ksh", "let", "lua", "mapfile", "mawk", "nice", "node",
    "nodejs", "nohup", "nsenter", "parallel", "perl", "php", "pkexec", "pwsh", "pypy", "python",
    "readarray", "ruby", "runuser", "script", "setpriv", "setsid", "sh", "source", "ssh",
    "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "tclsh", "tcsh", "time",
    "timeout", "trap", "unshare", "watch", "xargs", "zsh",
))
# fmt: on
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[.*\])?\+?=")
_VARIABLE = re.compile(r"\$(\w+|\{\w+\}|[@*#?$!-])")
_SEPARATOR = re.compile(r"&&|\|\||\|&|[;|&\n]")
_REDIRECT = re.compile(r"&>>?|[0-9]*(>>|>\||<>|[<>]&|[<>])")
_EXPANDED = frozenset("*?[]{}~")
_BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
_DEEPEST = 20  # substitutions within each other; a few calls are made for each
_HARMLESS_TARGETS = ("/dev/null", "/dev/stdout", "/dev/stderr")


class Command(NamedTuple):
    """One command: its words as the shell would pass them on, never none.

    ``fixed`` is False where a word holds something that only the shell can expand. A
    redirection is a command of two words, ``>`` or ``<`` and the file.
    """

    words: Tuple[str, ...]
    fixed: bool = True

    @property
    def program(self) -> str:
        """The first word without its folder."""
        return self.words[0].rpartition("/")[2] or self.words[0]

    @property
    def runs_others(self) -> bool:
        """Whether its words say what else is run."""
        return self.program in _RUNNERS or self.program.rstrip("0123456789.") in _RUNNERS

    @property
    def redirects(self) -> bool:
        """Whether it is a redirection."""
        return self.words[0] in ("<", ">")

    def __str__(self) -> str:
        return " ".join(self.words)


class ShellLine(NamedTuple):
    """Every command of a line, substitutions included; ``unclear`` says why some may be missing."""

    commands: Tuple[Command, ...]
    unclear: str = ""


class _Unclear(Exception):
    """The line holds something that is not understood here."""


def read_shell_line(line: str) -> ShellLine:
    """The commands of ``line``. Never fails."""
    reader = _Reader(line)
    try:
        reader.read(closing="")
        unclear = ""
    except _Unclear as reason:
        unclear = str(reason)
    return ShellLine(tuple(reader.commands), unclear)


class _Reader:
    """One pass over a line. ``position`` is the next character."""

    def __init__(self, line: str) -> None:
        self.commands: List[Command] = []
        self._line = line
        self._at = 0
        self._depth = 0

    def read(self, closing: str) -> None:
        """Read commands up to ``closing`` (``)`` or the end) and step over it."""
        if self._depth == _DEEPEST:
            raise _Unclear("it is nested too deeply")
        words: List[str] = []
        self._depth += 1
        try:
            self._read_commands(closing, words)
        except _Unclear:
            self._end_command(words, fixed=False)
            raise
        finally:
            self._depth -= 1

    def _read_commands(self, closing: str, words: List[str]) -> None:
        """``words`` are those of the command that is being read."""
        fixed = True
        while True:
            self._skip_blanks()
            rest = self._line[self._at :]
            separator = _SEPARATOR.match(rest)
            redirect = _REDIRECT.match(rest)
            if not rest or (closing and rest[0] == closing):
                self._end_command(words, fixed)
                if closing and not rest:
                    raise _Unclear("a substitution is not closed")
                self._at += len(closing)
                return
            if redirect:
                self._redirect(redirect.group())
            elif separator:
                self._end_command(words, fixed)
                fixed = True
                words.clear()
                self._at += separator.end()
            else:
                word, word_fixed = self._word()
                self._check_word(word, first=not words)
                words.append(word)
                fixed = fixed and word_fixed

    def _end_command(self, words: List[str], fixed: bool) -> None:
        if words:
            self.commands.append(Command(tuple(words), fixed))

    def _check_word(self, word: str, first: bool) -> None:
        if first and word in _RESERVED:
            raise _Unclear(f"{word} is more than a plain command")
        if first and _ASSIGNMENT.match(word):
            raise _Unclear("it sets a variable")

    def _skip_blanks(self) -> None:
        blanks = _BLANKS.match(self._line, self._at)
        assert blanks is not None  # it matches nothing, too
        self._at = blanks.end()

    def _redirect(self, operator: str) -> None:
        self._at += len(operator)
        sign = operator.lstrip("0123456789")
        if self._line[self._at : self._at + 1] in ("<", "("):
            raise _Unclear("it holds a here-document or a process substitution")
        self._skip_blanks()
        if not self._line[self._at :] or self._line[self._at] in ";|&\n<>()":
            raise _Unclear("a redirection names no file")
        target, fixed = self._word()
        if sign[0] == "&":
            self._skip_blanks()
            if self._line[self._at : self._at + 1] not in ("", *";|&\n)"):
                raise _Unclear("what follows &> is read in two ways")
        if sign in (">&", "<&") and re.fullmatch(r"[0-9]+|-", target):
            return
        if target not in _HARMLESS_TARGETS:
            self.commands.append(Command(("<" if sign == "<" else ">", target), fixed))

    def _word(self) -> Tuple[str, bool]:
        """The next word without its quotes, and whether no part of it is expanded."""
        parts: List[str] = []
        fixed = True
        while self._at < len(self._line):
            char = self._line[self._at]
            if char in " \t\n;|&<>)":
                break
            if char == "(":
                raise _Unclear("it holds a subshell or a function")
            if char == "#" and not parts:
                raise _Unclear("it holds a comment")
            if char not in "\t\n" and not char.isprintable():
                raise _Unclear("it holds a control character")
            text, part_fixed = self._part(char)
            parts.append(text)
            fixed = fixed and part_fixed
        if not parts:
            raise _Unclear(f"{self._line[self._at : self._at + 1]} is out of place")
        return "".join(parts), fixed

    def _part(self, char: str) -> Tuple[str, bool]:
        """One piece of a word, which begins with ``char``."""
        if char == "'":
            return self._single_quoted(), True
        if char == '"':
            return self._double_quoted()
        if char in "$`":
            return self._expansion(char, quoted=False)
        if char == "\\":
            escaped = self._line[self._at + 1 : self._at + 2]
            if not escaped:
                raise _Unclear("it ends with a backslash")
            self._at += 2
            return ("" if escaped == "\n" else escaped), True
        self._at += 1
        return char, char not in _EXPANDED

    def _single_quoted(self) -> str:
        end = self._line.find("'", self._at + 1)
        if end < 0:
            raise _Unclear("a quote is not closed")
        text = self._line[self._at + 1 : end]
        self._at = end + 1
        return text

    def _double_quoted(self) -> Tuple[str, bool]:
        parts: List[str] = []
        fixed = True
        self._at += 1
        while self._at < len(self._line):
            char = self._line[self._at]
            if char == '"':
                self._at += 1
                return "".join(parts), fixed
            if char in "$`":
                text, part_fixed = self._expansion(char, quoted=True)
                parts.append(text)
                fixed = fixed and part_fixed
                continue
            if char == "\\" and self._line[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\"):
                self._at += 1
                char = self._line[self._at]
            elif self._line.startswith("\\\n", self._at):
                raise _Unclear("a quoted text is continued on the next line")
            parts.append(char)
            self._at += 1
        raise _Unclear("a quote is not closed")

    def _expansion(self, char: str, quoted: bool) -> Tuple[str, bool]:
        if char == "`":
            return self._backquoted()
        rest = self._line[self._at :]
        if rest.startswith(("$((", "$[")):
            raise _Unclear("it computes")
        if rest.startswith("$\\\n"):
            raise _Unclear("what a $ begins is continued on the next line")
        if rest.startswith("$("):
            start = self._at
            self._at += 2
            self.read(closing=")")
            return self._line[start : self._at], False
        variable = _VARIABLE.match(rest)
        if variable:
            self._at += variable.end()
            return variable.group(), False
        if rest.startswith("${") or (not quoted and rest[1:2] in ("'", '"')):
            raise _Unclear("it holds an expansion")
        self._at += 1
        return "$", True

    def _backquoted(self) -> Tuple[str, bool]:
        end = self._line.find("`", self._at + 1)
        inner = self._line[self._at + 1 : end]
        if end < 0 or "\\" in inner:
            raise _Unclear("a substitution in backquotes is not plain")
        within = _Reader(inner)
        try:
            within.read(closing="")
        finally:
            self.commands.extend(within.commands)
        text = self._line[self._at : end + 1]
        self._at = end + 1
        return text, False


def argv_line(argv: Sequence[str]) -> ShellLine:
    """The one command of a program that is started without a shell."""
    return ShellLine((Command(tuple(argv)),) if argv else ())
