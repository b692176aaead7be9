"""Each recipe of docs/recipes.md does what it says, as it stands there."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import pytest

from tests.support.programs import JPQ, ROOT, WAIT_S, environment

PAGE = os.path.join(ROOT, "docs", "recipes.md")
_BLOCK = re.compile(r"^<!-- recipe: (\S+) -->\n+```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def recipes() -> Dict[str, str]:
    with open(PAGE, encoding="utf-8") as file:
        return dict(_BLOCK.findall(file.read()))


class Place:
    """The folder that a recipe runs in."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> None:
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name: str) -> str:
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
        done = subprocess.run(
            ["git", *who, *arguments], cwd=self.folder, check=True, capture_output=True, text=True
        )
        return done.stdout


class Expected(NamedTuple):
    """What a recipe needs, is answered, prints and leaves."""

    reply: str = "The Loire."
    out: str = ""  # a pattern
    files: Dict[str, str] = {}  # name -> a pattern
    needs: Sequence[str] = ()
    prepare: Optional[Callable[[Place], None]] = None


def repository(place: Place) -> None:
    place.git("init", "-q", ".")
    place.git("config", "user.name", "A")
    place.git("config", "user.email", "a@example.com")
    place.git("add", "title.txt")
    place.git("commit", "-q", "-m", "First")
    place.git("tag", "v1.0")
    place.git("add", "cities.txt")
    place.git("commit", "-q", "-m", "Add cities")
    place.git("add", "app.log")


def database(place: Place) -> None:
    with sqlite3.connect(os.path.join(place.folder, "shop.db")) as shop:
        shop.execute("CREATE TABLE orders (month, total)")
        shop.execute("INSERT INTO orders VALUES ('May', 3)")
    shop.close()


TRIAGE = json.dumps({"cause": "disk full", "severity": "high", "next_step": "make room"})
PEOPLE = json.dumps({"items": [{"name": "Ada", "born": 1815, "field": "mathematics"}]})
SUMMARIES = {f"docs/{name}.txt.summary": "^The Loire.\n$" for name in ("one", "two words")}
EXPECTED: Dict[str, Expected] = {
    "commit-message": Expected("Add a log", needs=["git"], prepare=repository),
    "commit-hook": Expected("Add a log", out="^Add a log\n$", needs=["git"], prepare=repository),
    "release-notes": Expected(
        "# Notes", files={"NOTES.md": "^# Notes\n$"}, needs=["git"], prepare=repository
    ),
    "log-triage": Expected(TRIAGE, out="^disk full: make room\n$", needs=["jq"]),
    "awk": Expected(out="^The Loire.\n$"),
    "sqlite": Expected(out="^The Loire.\n$", needs=["sqlite3"], prepare=database),
    "follow": Expected(out="^The Loire.\nThe Loire.\n$", needs=["jq"]),
    "find": Expected(files=SUMMARIES),
    "xargs": Expected(files=SUMMARIES),
    "while-read": Expected("France", files={"countries.tsv": "^Lyon\tFrance\nL'A \\$x\tFrance\n$"}),
    "batch": Expected(
        "France", files={"countries.tsv": "^Lyon\tFrance\nL'A \\$x\tFrance\n$"}, needs=["jq"]
    ),
    "job-array": Expected(files={"answers.jsonl": '^({"line": \\d, .*\n){5}$'}),
    "make": Expected(files={"docs/one.summary": "^The Loire.\n$"}, needs=["make"]),
    "ci-step": Expected(
        json.dumps({"leaks_secret": False, "reason": ""}), needs=["git", "jq"], prepare=repository
    ),
    "exit-codes": Expected(out="^The Loire.\n$"),
    "cron": Expected(out="^The Loire.\n$", files={"daily.err": "^$"}),
    "here-document": Expected(out="^The Loire.\n$"),
    "translate": Expected("# Guten Tag", files={"README.de.md": "^# Guten Tag\n$"}),
    "script": Expected("So:\n\n```sh\ntar -czf docs.tar.gz docs\n```\n", out="^tar -czf"),
    "two-questions": Expected(out="^The Loire.\n$", needs=["jq"]),
    "table": Expected(PEOPLE, out="^Ada\t1815\tmathematics\n$", needs=["jq"]),
    "jq-events": Expected(out="^The Loire.\ncomplete, 5 tokens\n$", needs=["jq"]),
    "dry-run": Expected(out="^\\d{3,}\n$", needs=["jq"]),
    "models": Expected(out="^(scripted/\\S+: The Loire.\n){2}$"),
}


def test_there_are_twenty_recipes_and_each_is_tried() -> None:
    assert set(recipes()) == set(EXPECTED) and len(EXPECTED) >= 20
    with open(PAGE, encoding="utf-8") as file:
        assert file.read().count("```sh") == len(EXPECTED)


@pytest.fixture
def place(tmp_path: Any) -> Place:
    folder = tmp_path / "work"
    folder.mkdir()
    place = Place(str(folder))
    place.write("app.log", "10:00 ok\n10:01 ERROR no space\n10:02 ERROR gave up\n")
    place.write("access.log", '::1 - - [x] "GET /a HTTP/1.1" 500 0\n' * 3)
    place.write("cities.txt", "Lyon\nL'A $x\n")
    place.write("title.txt", "Moby-Dick\n")
    place.write("people.md", "| Ada | 1815 |\n")
    place.write("README.md", "# Good day\n")
    place.write("docs/one.txt", "Some text.\n")
    place.write("docs/two words.txt", "More text.\n")
    place.write("questions.jsonl", "".join(f'"question {n}"\n' for n in range(5)))
    return place


def variables(tmp_path: Any, reply: str) -> Dict[str, str]:
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "jpq"
    program.write_text('#!/bin/sh\nexec "{}" {} "$@"\n'.format(JPQ[0], " ".join(JPQ[1:])))
    program.chmod(0o700)
    script = tmp_path / "script.toml"
    script.write_text(f"[[reply]]\ntext = {json.dumps(reply)}\nusage = {{ output_tokens = 5 }}\n")
    model = f"scripted/{script}"
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    models = f"{model} {model}"
    return environment(PATH=path, JPQ_MODEL=model, MODELS=models, GIT_CONFIG_GLOBAL=os.devnull)


def run(recipe: str, place: Place, environ: Dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-e", "-u", "-o", "pipefail", "-c", recipe],
        env=environ,
        cwd=place.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_recipe_does_what_it_says(name: str, place: Place, tmp_path: Any) -> None:
    expected = EXPECTED[name]
    missing: List[str] = [tool for tool in expected.needs if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed here: {missing}")
    if expected.prepare is not None:
        expected.prepare(place)
    done = run(recipes()[name], place, variables(tmp_path, expected.reply))
    assert (done.returncode, done.stderr) == (0, ""), done
    assert re.search(expected.out, done.stdout), done.stdout
    for file, pattern in expected.files.items():
        assert re.search(pattern, place.read(file)), place.read(file)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed here")
def test_nothing_is_committed_without_a_message(place: Place, tmp_path: Any) -> None:
    repository(place)
    environ = variables(tmp_path, "Add a log")
    assert run(recipes()["commit-message"], place, environ).returncode == 0
    assert place.git("log", "-1", "--format=%s") == "Add a log\n"
    place.git("add", "README.md")
    failing = tmp_path / "script.toml"
    failing.write_text('[[reply]]\ntext = "Add"\nfinish = "length"\n')
    assert run(recipes()["commit-message"], place, environ).returncode == 76
    assert place.git("log", "-1", "--format=%s") == "Add a log\n"


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed here")
def test_the_build_fails_for_a_leak(place: Place, tmp_path: Any) -> None:
    repository(place)
    leak = json.dumps({"leaks_secret": True, "reason": "a key"})
    done = run(recipes()["ci-step"], place, variables(tmp_path, leak))
    assert (done.returncode, done.stderr) == (1, "a key\n")


def test_what_will_not_get_better_is_not_tried_again(place: Place, tmp_path: Any) -> None:
    environ = variables(tmp_path, "x")
    (tmp_path / "script.toml").write_text('[[reply]]\nstatus = 401\nerror = "no"\n')
    done = run(recipes()["exit-codes"], place, environ)
    assert done.returncode == 1 and done.stdout == ""
