"""``jpq completion``: what real shells make of the scripts, and what they are told to offer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Dict, List

import pytest

from jpq.cli.completion_cmd import KINDS
from jpq.cli.completion_tree import actions_of, parsers, whole_parser
from jpq.cli.run import COMMANDS
from tests.support.programs import JPQ, WAIT_S, environment, jpq, script
from tests.support.ptys import Child

HOME_FILES = {
    "config.toml": 'model = "ollama/llama3:8b"\n[aliases]\nfast = "openai/gpt-5-mini"\n'
    '[tools.greet]\ncommand = ["true"]\ndescription = "Greet a person"\n'
    '[mcp.files]\ncommand = ["true"]\n',
    "templates/translate.toml": 'prompt = "Into French: $input"\n',
}


@pytest.fixture
def environ(tmp_path: Any) -> Dict[str, str]:
    """An environment with a ``jpq`` program and a home that has something of each kind."""
    home = os.environ["JPQ_HOME"]
    for name, text in HOME_FILES.items():
        path = os.path.join(home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "jpq"
    program.write_text('#!/bin/sh\nexec "{}" {} "$@"\n'.format(JPQ[0], " ".join(JPQ[1:])))
    program.chmod(0o700)
    changed = environment(PATH=f"{programs}{os.pathsep}{os.environ['PATH']}", TERM="xterm")
    return {**changed, "HOME": str(tmp_path), "INPUTRC": "/dev/null", "LC_ALL": "C.UTF-8"}


def conversation(tmp_path: Any, title: str) -> str:
    """A saved conversation; its id."""
    model = "scripted/" + script(tmp_path, 'text = "Yes."')
    assert jpq("-m", model, title).code == 0
    (row,) = json.loads(jpq("conversation", "ls", "--format", "json").text)
    return str(row["id"])


def listed(kind: str, prefix: str = "") -> List[str]:
    ran = jpq("completion", "--list", kind, "--", prefix)
    assert (ran.code, ran.err) == (0, b""), ran
    return ran.text.splitlines()


def test_what_is_listed(environ: Any, tmp_path: Any) -> None:
    id = conversation(tmp_path, "Is this\ta title?")
    assert listed("conversations") == [f"{id}\tIs this a title?"]
    assert listed("models", "f") == ["fast\topenai/gpt-5-mini"]
    assert listed("models", "ollama/l") == ["ollama/llama3:8b\tconfigured"]
    assert "openai/" in listed("models", "openai")
    assert any(row.startswith("local/smollm2\t") for row in listed("models", "local/"))
    assert listed("tools", "gr") == ["greet\tGreet a person"]
    assert listed("tools", "read_f") == ["read_file\tbuiltin"]
    assert listed("templates") == ["translate\tInto French: $input"]
    assert listed("providers", "anth") == ["anthropic"]
    assert listed("servers") == ["files"]
    assert [row.split("\t")[0] for row in listed("settings", "request.max_c")] == [
        "request.max_cycles",
        "request.max_cost_usd",
    ]
    assert listed("assignments", "request.max_cy")[0].startswith("request.max_cycles=\t")
    assert listed("embedded", "smo")[0].startswith("smollm2\t")


def test_every_kind_is_listed_and_no_other(environ: Any) -> None:
    for kind in KINDS:
        assert isinstance(listed(kind), list)
    jpq("completion", "--list", "nothing").failed_with(2, "nothing")
    jpq("completion").failed_with(2, "bash, zsh or fish")
    jpq("completion", "csh").failed_with(2, "bash, zsh or fish")


# What a shell would run, expand or take apart if it stood on its line.
HOSTILE = ["gpt$(touch x)", "gpt`x`", "gpt;x", "gpt x", "gpt*", "gpt\tx", "gpt'", "gpt~\x1b[2J"]


def test_models_of_a_kept_list(environ: Any) -> None:
    folder = os.path.join(os.environ["JPQ_HOME"], "cache", "models")
    os.makedirs(folder)
    kept = {
        "base_url": "https://api.openai.com/v1",
        "fetched_at": 0,
        "models": [{"id": id, "context_window": None} for id in ("gpt-x", *HOSTILE)],
    }
    with open(os.path.join(folder, "openai.json"), "w", encoding="utf-8") as file:
        json.dump(kept, file)
    assert listed("models", "openai/g") == ["openai/gpt-x"]


def test_what_is_damaged_is_silent(environ: Any) -> None:
    with open(os.path.join(os.environ["JPQ_HOME"], "config.toml"), "w") as file:
        file.write("[[[")
    assert listed("models") == [] and listed("templates") != []


def test_the_tree_has_every_command() -> None:
    commands = actions_of(whole_parser())
    assert set(COMMANDS) <= set(commands) and list(parsers()) == list(COMMANDS)
    assert "ls" in actions_of(commands["conversation"])


# What is typed, and words that a shell then offers or completes it to.
LINES = [
    ("jpq mod", ["models"]),
    ("jpq models in", ["install"]),
    ("jpq models install smol", ["smollm2"]),
    ("jpq --template tr", ["translate"]),
    ("jpq -t gre", ["greet"]),
    ("jpq -m fa", ["fast"]),
    ("jpq -m ollama/lla", ["llama3:8b"]),
    ("jpq --reasoning pro", ["progress"]),
    ("jpq --format json", ["json", "jsonl"]),
    ("jpq --non-int", ["--non-interactive"]),
    ("jpq mcp check fi", ["files"]),
    ("jpq completion ba", ["bash"]),
    ("jpq -a note", ["notes.txt"]),
    ("jpq hello -m fa", ["fast"]),
]
has = {shell: shutil.which(shell) for shell in ("bash", "zsh", "fish")}


def completion_script(shell: str, folder: Any) -> str:
    ran = jpq("completion", shell)
    assert (ran.code, ran.err) == (0, b""), ran
    path = str(folder / f"jpq.{shell}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(ran.text)
    return path


# Completes each of its other arguments as readline would, which splits words at : and =.
BASH = r"""
source "$1"; shift
for line in "$@"; do
  COMP_LINE="$line" COMP_POINT=${#line} COMP_WORDS=() rest="$line"
  while [[ -n "$rest" ]]; do
    case "$rest" in
      [[:blank:]]*) rest="${rest:1}" ;;
      [:=]*) COMP_WORDS+=("${rest:0:1}"); rest="${rest:1}" ;;
      *) word="${rest%%[ :=]*}"; COMP_WORDS+=("$word"); rest="${rest#"$word"}" ;;
    esac
  done
  [[ "$line" == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
  _jpq_completion 2>/dev/null
  echo "LINE $line"
  printf '%s\n' "${COMPREPLY[@]}"
done
"""
FISH = 'source $argv[1]; for line in $argv[2..]; echo "LINE $line"; complete -C $line; end'


def offered(argv: List[str], environ: Any, folder: Any, lines: Any) -> Dict[str, List[str]]:
    """What a shell offers for each line."""
    done = subprocess.run(
        [*argv, *(line for line, _ in lines)],
        env=environ,
        cwd=str(folder),
        capture_output=True,
        text=True,
        timeout=3 * WAIT_S,  # it runs jpq for each line
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    found: Dict[str, List[str]] = {}
    for row in done.stdout.splitlines():
        if row.startswith("LINE "):
            words = found.setdefault(row[5:], [])
        else:
            words.append(row.split("\t")[0])
    return found


def check(found: Dict[str, List[str]], lines: Any) -> None:
    for line, expected in lines:
        for word in expected:
            assert any(each == word or each.endswith("/" + word) for each in found[line]), found


@pytest.mark.skipif(not has["bash"], reason="there is no bash")
def test_bash_completes(environ: Any, tmp_path: Any) -> None:
    path = completion_script("bash", tmp_path)
    (tmp_path / "notes.txt").touch()
    id = conversation(tmp_path, "A title")
    lines = [
        *LINES,
        (f"jpq conversation show {id[:4]}", [id]),
        (f"jpq c show {id[:4]}", [id]),
        ("jpq -m ollama/llama3:", ["8b"]),
        ("jpq --model=fa", ["fast"]),
        ("jpq --model=", ["fast", "ollama/llama3:8b"]),
        ("jpq --set request.max_cy", ["request.max_cycles="]),
    ]
    argv = ["bash", "--norc", "-c", BASH, "bash", path]
    check(offered(argv, environ, tmp_path, lines), lines)


@pytest.mark.skipif(not has["fish"], reason="there is no fish")
def test_fish_completes(environ: Any, tmp_path: Any) -> None:
    path = completion_script("fish", tmp_path)
    (tmp_path / "notes.txt").touch()
    id = conversation(tmp_path, "A title")
    lines = [
        *LINES,
        (f"jpq conversation show {id[:4]}", [id]),
        ("jpq --model=fa", ["--model=fast"]),
    ]
    argv = ["fish", "--no-config", "-c", FISH, path]
    found = offered(argv, environ, tmp_path, lines)
    check(found, lines)


@pytest.mark.skipif(not has["bash"], reason="there is no bash")
def test_tab_in_bash(environ: Any, tmp_path: Any) -> None:
    path = completion_script("bash", tmp_path)
    argv = ["bash", "--norc", "--noprofile", "-i"]
    with Child(argv, {**environ, "PS1": "> "}, str(tmp_path), terminal=True) as child:
        child.wait_for(b"> ")
        child.type(f"source {path}; echo ready''now\n".encode())
        child.wait_for(b"readynow")
        for typed, shown in [(b"jpq templ\t", b"jpq templates "), (b"sh\tt\t", b"show translate ")]:
            child.type(typed)
            child.wait_for(shown)
        child.type(b"\x15exit\n")
        child.end()


@pytest.mark.skipif(not has["zsh"], reason="there is no zsh")
def test_tab_in_zsh(environ: Any, tmp_path: Any) -> None:
    os.rename(completion_script("zsh", tmp_path), str(tmp_path / "_jpq"))
    (tmp_path / "notes.txt").touch()
    start = "fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; echo ready''now\n"
    zsh = {**environ, "PS1": "> "}
    with Child(["zsh", "-f", "-i"], zsh, str(tmp_path), terminal=True) as child:
        child.wait_for(b"> ")
        child.type(start.encode())
        child.wait_for(b"readynow")
        for line, (word, *others) in LINES:
            if others:
                continue  # offered in a list, and not typed
            del child.output[:]
            child.type(line.encode() + b"\t")
            child.wait_for(word.encode())
            child.type(b"\x15")
        child.type(b"exit\n")
        child.end()
