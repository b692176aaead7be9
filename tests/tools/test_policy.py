"""Rules on calls, and shell lines read stage by stage."""

from __future__ import annotations

import subprocess
from typing import Any, List, Optional, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpq.errors import ConfigError
from jpq.tools.policy import Policy, parse_rule
from jpq.tools.shell_line import Command, read_shell_line


def policy(**rules: Sequence[str]) -> Policy:
    return Policy([parse_rule(effect, text) for effect in rules for text in rules[effect]])


def line(text: Any, **rules: Sequence[str]) -> Optional[str]:
    return policy(**rules).judge("shell", {"command": text}, text).effect


GIT = {"allow": ["shell(git log *)", "shell(head *)", "shell(ls *)"], "deny": ["shell(rm *)"]}


@pytest.mark.parametrize(
    "text, effect",
    [
        ("git log", "allow"),
        ("git log -5 --oneline", "allow"),
        ("git log | head -5", "allow"),
        ("git log 2>/dev/null && ls -l", "allow"),
        ("git log 'a b'", "allow"),
        ("git logs", None),
        ("git push", None),
        ("./git log", None),
        ("git log > /etc/passwd", None),
        ("git log; rm -rf /", "deny"),
        ("git log\nrm -rf /", "deny"),
        ("git log & rm -rf /", "deny"),
        ("git log | rm x", "deny"),
        ("git log && /bin/rm x", "deny"),
        ("git log || r\\m x", "deny"),
        ("git log $(rm -rf /)", "deny"),
        ("git log `rm -rf /`", "deny"),
        ('git log "$(rm x)"', "deny"),
        ("rm x #", "deny"),
        ("rm x (", "deny"),
        ("git log $HOME", "ask"),
        ("git log $(date)", "ask"),
        ("git log *", "ask"),
        ("git log {a,b}", "ask"),
        ("git log <<EOF", "ask"),
        ("git log <(date)", "ask"),
        ("PAGER=x git log", "ask"),
        ("(git log)", "ask"),
        ("if git log; then ls; fi", "ask"),
        ("! git log", "ask"),
        ("git log $((1+1))", "ask"),
        ("git log ${x:=rm}", "ask"),
        ("git log $'\\n'", "ask"),
        ("git log 'open", "ask"),
        ("git log \x07", "ask"),
        ("git log # comment", "ask"),
        ("sh -c 'rm x'", "ask"),
        ("xargs rm", "ask"),
        ("exec rm x", "ask"),
        ("let 'a[$(rm x)]'", "ask"),
        ("python3.11 -c x", "ask"),
        ("/usr/bin/time rm x", "ask"),
        ('"r\\\nm" x', "ask"),
        ('git log "$\\\n(rm x)"', "ask"),
        ('git log "$[a[$(rm)]]"', "ask"),
        ("git log &>/dev/null | head", "allow"),
        ("git log &>/dev/null rm", "ask"),  # a second command, except for bash
        ('git log "$[1+1]"', "ask"),
        ("git log\u3000x", "ask"),
        ("git log \\\n  -5", "allow"),
        ("r\\\nm x", "deny"),
        ("", None),
    ],
)
def test_every_stage_of_a_line_is_judged(text: str, effect: Optional[str]) -> None:
    assert line(text, **GIT) == effect


def test_a_program_without_a_shell_is_judged_by_its_words() -> None:
    assert line(["git", "log", "; rm -rf /"], **GIT) == "allow"
    assert line(["rm", "x"], **GIT) == "deny"
    assert line(["git", "push"], **GIT) is None


def test_redirections_have_rules_of_their_own() -> None:
    rules = {"allow": ["shell(ls *)", "shell(> out/*)"], "deny": ["shell(< secret*)"]}
    assert line("ls > out/list.txt", **rules) == "allow"
    assert line("ls >> out/list.txt", **rules) == "allow"
    assert line("ls > out/../../list.txt", **rules) is None
    assert line("ls > list.txt", **rules) is None
    assert line("ls < secret.txt", **rules) == "deny"


def test_deny_wins_over_ask_and_ask_over_allow() -> None:
    rules = {"allow": ["*"], "ask": ["write_*"], "deny": ["write_file(path=*.key)"]}
    judge = policy(**rules).judge
    assert judge("read_file", {"path": "a"}, None).effect == "allow"
    assert judge("write_file", {"path": "a"}, None).effect == "ask"
    denied = judge("write_file", {"path": "my.key"}, None)
    assert (denied.effect, denied.by) == ("deny", "the rule deny = 'write_file(path=*.key)'")
    assert policy().judge("x", {}, None).effect is None


def test_a_glob_allows_no_path_that_leads_out_of_it() -> None:
    judge = policy(allow=["read(path=src/*)", "read(n=1)"]).judge
    assert judge("read", {"path": "src/a.py"}, None).effect == "allow"
    assert judge("read", {"path": "src/../.env"}, None).effect is None
    assert judge("read", {"path": "src\\..\\.env"}, None).effect is None
    assert judge("read", {}, None).effect is None
    assert judge("read", {"n": 1}, None).effect == "allow"


def test_any_command_can_be_allowed() -> None:
    assert line("git push && rm x", allow=["shell(*)"]) == "allow"
    assert line("git push $X", allow=["shell(*)"]) == "ask"
    assert line("git push $X", allow=["shell"]) == "allow"
    assert line("xargs rm", allow=["shell(xargs *)"]) == "allow"
    assert line("xargs rm", allow=["shell(*)"]) == "ask"


def test_a_glob_on_the_text_of_a_line_allows_one_command() -> None:
    rules = {"allow": ["shell(command=git *)", "shell(command=make && ./run *)"]}
    assert line("git log -5", **rules) == "allow"
    assert line("make && ./run *", **rules) == "allow"  # just as it is written
    for text in ("git log; rm x", "git log $(rm x)", "git log $X", "make && ./run x"):
        assert line(text, **rules) is None
    assert line("git log; rm x", deny=["shell(command=*rm x)"]) == "deny"


def test_a_path_is_denied_however_it_is_written() -> None:
    judge = policy(deny=["read(path=secret/*)"]).judge
    for path in ("secret/key", "./secret/key", "secret//key", "src/../secret/key"):
        assert judge("read", {"path": path}, None).effect == "deny"


@pytest.mark.parametrize("text", ["", "a b", "shell(", "shell()", "shell('x)", "x(y) z"])
def test_a_rule_that_cannot_be_read_is_a_mistake_in_the_configuration(text: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        parse_rule("allow", text)


WORD = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)


@given(st.lists(WORD, min_size=1, max_size=5))
def test_quoted_words_are_read_as_the_shell_reads_them(words: List[str]) -> None:
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    if words[0] in ("<", ">"):
        return
    read = read_shell_line("x " + quoted)
    assert read.commands == (Command(("x", *words)),) and not read.unclear


@given(st.text(st.sampled_from("ab $`'\"\\|&;<>(){}*?[]!#~=\n\t-rm/"), max_size=30))
def test_no_line_breaks_the_reader_or_hides_a_denied_command(text: str) -> None:
    read_shell_line(text)
    for separator in ("\n", ";", " && ", " | "):
        assert line("rm x" + separator + text, **GIT) == "deny"


def test_substitutions_within_each_other_are_read_up_to_a_depth() -> None:
    assert not read_shell_line("x " + "$(rm " * 15 + ")" * 15).unclear
    for deep in ("$(a " * 100_000, '"$(a ' * 100_000, "$(" * 5000 + ")" * 5000):
        assert read_shell_line("x " + deep).unclear == "it is nested too deeply"
    assert line("git log " + "$(rm " * 100_000, **GIT) == "deny"


def test_a_line_may_be_continued_ever_so_often() -> None:
    read = read_shell_line("git \\\n " + "\\\n \t" * 3000 + "log")
    assert read.commands == (Command(("git", "log")),) and not read.unclear


# Says what a shell runs instead of running it.
RECORDER = "git() { printf '%s\\0' git \"$@\" END; }; rm() { printf 'rm\\0END\\0'; }; "
PIECES = [
    "git log",
    "rm",
    " ",
    "a",
    "'",
    '"',
    "\\",
    ";",
    "&&",
    "||",
    "\n",
    "$(",
    ")",
    "`",
    "$x",
    "#",
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=8))
def test_a_real_shell_runs_nothing_but_what_was_allowed(pieces: List[str]) -> None:
    text = "git log " + "".join(pieces)
    if line(text, allow=["shell(git log *)"]) != "allow":
        return
    ran = subprocess.run(["/bin/sh", "-c", RECORDER + text], capture_output=True)
    assert b"not found" not in ran.stderr, (text, ran)  # a syntax error runs nothing
    commands = [words.split("\0") for words in ran.stdout.decode().split("END\0") if words]
    assert [words[:2] for words in commands] == [["git", "log"]] * len(commands)
