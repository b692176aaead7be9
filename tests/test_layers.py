"""The architecture's rules as tests: what may import what, and how long things may get."""

from __future__ import annotations

import ast
import configparser
import os
import subprocess
import sys
from typing import Dict, Iterator, List, NamedTuple, Set

import pytest

from tests.support.programs import model_at
from tests.support.server import DONE, FINISH, Server, delta, reply

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60

# What is longer than that, each with its reason.
LONG_FILES: Dict[str, str] = {}
LONG_FUNCTIONS: Dict[str, str] = {}

# Our own modules that are imported inside a function, each with its reason.
LATE_IMPORTS = {
    ("jpq.cli.main", "jpq.cli.run"): "`jpq --version` must not pay for what it does not use",
    ("jpq.cli.main", "jpq.interrupt.signals"): "only a Ctrl+C at the very start needs it",
}

# Third-party packages and the only modules (or packages) that may import them.
FENCES = {
    "requests": ("jpq.wire",),
    "urllib3": ("jpq.wire",),
    "sseclient": ("jpq.wire.sse",),
    "tenacity": ("jpq.turn",),
    "colorama": ("jpq.render", "jpq.terminal"),
    "markdown_it": ("jpq.render.markdown",),
    "pygments": ("jpq.render.markdown",),
    "wcwidth": ("jpq.render.markdown",),
    "fastjsonschema": ("jpq.tools.arguments",),
    "shtab": ("jpq.cli.completion_script",),
    "keyring": ("jpq.config.keyring_store",),
    "platformdirs": ("jpq.config",),
    "tomli": ("jpq.config", "jpq.provider"),
    "tomllib": ("jpq.config", "jpq.provider"),
    "xllamacpp": ("jpq.provider",),
}
NEVER = ("asyncio", "filelock", "httpx", "anyio", "trio", "aiohttp")


class Import(NamedTuple):
    """One import statement's target."""

    module: str  # who imports
    line: int
    target: str  # the dotted name imported
    local: bool  # inside a function

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def _python_files(folder: str) -> List[str]:
    return sorted(
        os.path.join(parent, name)
        for parent, _, names in os.walk(os.path.join(ROOT, folder))
        for name in names
        if name.endswith(".py")
    )


def _module_name(path: str) -> str:
    parts = os.path.relpath(path, ROOT)[: -len(".py")].split(os.sep)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _tree(path: str) -> ast.Module:
    with open(path, encoding="utf-8") as file:
        return ast.parse(file.read(), path)


def _imports(path: str) -> Iterator[Import]:
    module = _module_name(path)
    pending = [(node, False) for node in _tree(path).body]
    while pending:
        node, local = pending.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, node.lineno, alias.name, local)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            for alias in node.names:
                yield Import(module, node.lineno, _resolved(node.module or "", alias.name), local)
        local = local or isinstance(node, (ast.FunctionDef, ast.Lambda))
        pending.extend((child, local) for child in ast.iter_child_nodes(node))


def _resolved(package: str, name: str) -> str:
    """``package.name`` when that is a module of ours, else ``package``."""
    path = os.path.join(ROOT, *package.split("."), name)
    is_module = os.path.exists(path + ".py") or os.path.exists(os.path.join(path, "__init__.py"))
    return f"{package}.{name}" if is_module else package


FILES = _python_files("jpq")
MODULES = {_module_name(path) for path in FILES}
IMPORTS = [found for path in FILES for found in _imports(path)]


def _ranks() -> Dict[str, int]:
    """Each top-level name's layer, the lowest being 1, as .importlinter lists them."""
    settings = configparser.ConfigParser()
    with open(os.path.join(ROOT, ".importlinter"), encoding="utf-8") as file:
        settings.read_file(file)
    layers = settings["importlinter:contract:layers"]["layers"].split("\n")
    names = [layer.replace("(", "").replace(")", "").split("|") for layer in layers if layer]
    return {name.strip(): rank for rank, row in enumerate(reversed(names), 1) for name in row}


def test_imports_point_down() -> None:
    ranks = _ranks()
    wrong = []
    for found in IMPORTS:
        mine, theirs = found.module.split("."), found.target.split(".")
        if theirs[0] != "jpq" or len(theirs) == 1:
            continue  # third-party, or the package itself for its version
        if len(mine) == 1 or mine[1] != theirs[1] and ranks[mine[1]] <= ranks[theirs[1]]:
            wrong.append(str(found))
    assert not wrong


def test_our_own_modules_are_imported_at_the_top_of_a_file() -> None:
    late = [found for found in IMPORTS if found.local and found.target.startswith("jpq")]
    assert not [str(found) for found in late if (found.module, found.target) not in LATE_IMPORTS]


def test_no_import_cycle() -> None:
    waiting: Dict[str, Set[str]] = {module: set() for module in MODULES}
    for found in IMPORTS:
        if found.target in MODULES and found.target != "jpq":
            waiting[found.module].add(found.target)
    while True:
        ready = {module for module, targets in waiting.items() if not targets & set(waiting)}
        if not ready:
            break
        waiting = {m: targets for m, targets in waiting.items() if m not in ready}
    assert not waiting, "these modules import each other in a circle"


@pytest.mark.parametrize("package", sorted(FENCES))
def test_third_party_packages_stay_behind_their_fence(package: str) -> None:
    allowed = FENCES[package]
    assert not [
        str(found)
        for found in IMPORTS
        if found.target.split(".")[0] == package and not found.module.startswith(allowed)
    ]


def test_named_tuples_are_made_by_our_own_module() -> None:
    """Making typing's took a question a tenth of its time; see jpq.named."""
    takers = [
        _module_name(path)
        for path in FILES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ImportFrom) and node.module == "typing"
        if "NamedTuple" in [alias.name for alias in node.names]
    ]
    assert takers == ["jpq.named"]


def test_nothing_event_driven_is_imported() -> None:
    assert not [str(found) for found in IMPORTS if found.target.split(".")[0] in NEVER]


@pytest.mark.parametrize("folder", ["jpq", "bench"])
def test_a_file_is_one_idea(folder: str) -> None:
    lengths = {}
    for path in _python_files(folder):
        with open(path, encoding="utf-8") as file:
            lengths[_module_name(path)] = sum(1 for _ in file)
    assert not {
        module: length
        for module, length in lengths.items()
        if length > MAX_FILE_LINES and module not in LONG_FILES
    }
    assert all(lengths.get(module, MAX_FILE_LINES + 1) > MAX_FILE_LINES for module in LONG_FILES)


@pytest.mark.parametrize("folder", ["jpq", "bench"])
def test_a_function_fits_on_a_screen(folder: str) -> None:
    too_long = {}
    for path in _python_files(folder):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.FunctionDef):
                name = f"{_module_name(path)}.{node.name}"
                length = max(_last_lines(node)) - node.lineno + 1
                if length > MAX_FUNCTION_LINES and name not in LONG_FUNCTIONS:
                    too_long[name] = length
    assert not too_long


def _last_lines(node: ast.AST) -> Iterator[int]:
    for part in ast.walk(node):
        yield getattr(part, "end_lineno", None) or 0


def _loaded_by(code: str) -> Set[str]:
    """What a fresh interpreter imports for ``code``, which may end the process as it likes."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-X", "importtime", "-c", code],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    return {line.rpartition("|")[2].strip() for line in run.stderr.split("\n")}


def test_importing_the_command_loads_nothing_heavy() -> None:
    loaded = _loaded_by("import jpq.cli.main")
    assert "jpq.cli.main" in loaded
    assert not loaded & {"asyncio", "concurrent.futures", "requests", "urllib3", "argparse"}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_options_that_only_print_load_little(option: str) -> None:
    loaded = _loaded_by(f"from jpq.cli.main import main; main([{option!r}])")
    assert "jpq.cli.main" in loaded
    heavy = {"asyncio", "requests", "urllib3", "dataclasses", "inspect", "logging", "subprocess"}
    assert not loaded & heavy


# What a plain question into a pipe does without: tools, menus, failures, tables of others.
_NOT_FOR_A_PLAIN_QUESTION = {
    "fastjsonschema",
    "jpq.cli.attach",
    "jpq.cli.batch.command",
    "jpq.cli.dry_run",
    "jpq.cli.failure",
    "jpq.cli.output_file",
    "jpq.cli.query_demand",
    "jpq.cli.query_mcp",
    "jpq.cli.template_use",
    "jpq.cli.title_model",
    "jpq.cli.trust_prompt",
    "jpq.config.keyring_store",
    "jpq.config.template",
    "jpq.config.toml_text",
    "jpq.config.trust",
    "jpq.interrupt.cancel",
    "jpq.interrupt.handler",
    "jpq.interrupt.menus",
    "jpq.interrupt.prompt",
    "jpq.provider.failure_kind",
    "jpq.provider.failure_wait",
    "jpq.provider.structured",
    "jpq.render.json_block",
    "jpq.render.whole",
    "jpq.store.fork",
    "jpq.store.repair",
    "jpq.store.summary",
    "jpq.tools.definition",
    "jpq.tools.registry",
    "jpq.tools.schema",
    "jpq.turn.demand",
    "jpq.turn.interruption",
    "jpq.turn.retry",
    "jpq.turn.tool_opening",
    "jpq.turn.tool_phase",
    "tenacity",
}


def test_a_plain_question_loads_nothing_that_it_does_not_need() -> None:
    answer = reply(delta("Hello"), FINISH, DONE)
    with Server(answer) as server:
        arguments = [*model_at(server), "--format", "text", "hi"]
        loaded = _loaded_by(f"from jpq.cli.main import main; main({arguments!r})")
    assert "jpq.turn.loop" in loaded
    assert not loaded & _NOT_FOR_A_PLAIN_QUESTION
