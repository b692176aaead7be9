"""The project's own files agree with each other and with the code."""

from __future__ import annotations

import ast
import configparser
import glob
import os
import re
import runpy
import subprocess
import sys
from typing import Dict, List, Set

import pytest

import jpq

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = sorted(
    os.path.relpath(path, ROOT)
    for pattern in ("*.md", "docs/**/*.md")
    for path in glob.glob(os.path.join(ROOT, pattern), recursive=True)
)
# Where they differ from the packages' names.
IMPORT_NAMES = {"sseclient-py": "sseclient", "markdown-it-py": "markdown_it"}


def _read(path: str) -> str:
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def _settings(path: str) -> configparser.ConfigParser:
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(os.path.join(ROOT, path), encoding="utf-8")
    return settings


def _lines(text: str) -> List[str]:
    return [line for line in text.split("\n") if line and not line.startswith("#")]


def _floors() -> Dict[str, str]:
    """Each library that jpq installs and the oldest release it allows."""
    lines = _lines(_settings("setup.cfg")["options"]["install_requires"])
    return dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in lines)


def _anchors(page: str) -> Set[str]:
    """The fragments that lead to a heading of ``page``."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"(?ms)^```.*?^```", "", _read(page)), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(?ms)^```.*?^```", "", _read(page))):
        path, _, fragment = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue  # another site
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        exists = os.path.exists(os.path.join(ROOT, target))
        if not exists or (fragment and fragment not in _anchors(target)):
            broken.append(link)
    assert not broken


def test_min_environment_pins_every_floor() -> None:
    pins = dict(line.split("==") for line in _lines(_settings("tox.ini")["testenv:min"]["deps"]))
    assert set(pins) == set(_floors())
    for name, floor in _floors().items():
        assert pins[name] == floor or pins[name] == floor + ".0", name


def test_dependencies_page_names_every_library_with_its_floor() -> None:
    rows = dict(re.findall(r"^\| ([\w-]+) \| ([\d.]+) \|", _read("docs/dependencies.md"), re.M))
    assert rows == _floors()


def test_every_library_that_is_installed_is_used() -> None:
    imported = set()
    for path in glob.glob(os.path.join(ROOT, "jpq", "**", "*.py"), recursive=True):
        for node in ast.walk(ast.parse(_read(path))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").split(".")[0])
    assert {IMPORT_NAMES.get(name, name) for name in _floors()} <= imported


def test_changelog_has_this_version() -> None:
    assert f"\n## {jpq.__version__}" in _read("CHANGELOG.md")


def test_architecture_page_draws_the_layers_that_are_checked() -> None:
    layers = _lines(_settings(".importlinter")["importlinter:contract:layers"]["layers"])
    names = [layer.replace("(", "").replace(")", "") for layer in layers]
    drawn = [f"{len(names) - number}  {name}" for number, name in enumerate(names)]
    page = _read("docs/architecture.md")
    block = page.partition("<!-- layers -->")[2].partition("<!-- /layers -->")[0]
    assert _lines(block.replace("```", "")) == drawn


@pytest.mark.parametrize("marker", ["transitions", "layers"])
def test_generated_parts_have_their_markers(marker: str) -> None:
    page = _read("docs/architecture.md")
    assert page.count(f"<!-- {marker} -->") == page.count(f"<!-- /{marker} -->") == 1


def test_ci_scripts_can_be_run() -> None:
    for name in ("run", "step"):
        assert os.access(os.path.join(ROOT, ".ci", name), os.X_OK)


def test_the_one_file_says_which_pythons_it_needs() -> None:
    main = runpy.run_path(os.path.join(ROOT, ".ci", "zipapp.py"))["MAIN"]
    older = f"import sys; sys.version_info = (3, 7, 9, 'final', 0); exec({main!r})"
    ran = subprocess.run([sys.executable, "-c", older], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (1, "jpq: This is Python 3.7; jpq needs 3.8 or newer.\n")


def test_tox_environments_and_classifiers_name_the_same_pythons() -> None:
    classifiers = _settings("setup.cfg")["metadata"]["classifiers"]
    classified = set(re.findall(r"Python :: 3\.(\d+)", classifiers))
    tested = set(re.findall(r"py3(\d+)", _settings("tox.ini")["tox"]["env_list"]))
    assert {"8", "11", "13"} <= tested <= classified
