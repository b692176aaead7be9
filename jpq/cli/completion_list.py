"""``jpq completion --list KIND PREFIX``: what a word on the command line could become.

A shell runs this at each press of Tab: it asks the disk alone, and what goes wrong is silent.
"""

from __future__ import annotations

import os
from typing import Callable, Dict, Iterable, Iterator, List, Tuple

from jpq.cli.environment import Environment
from jpq.config.load import Config, load_config
from jpq.config.table import ROWS
from jpq.config.template import read_template, template_names
from jpq.errors import JpqError
from jpq.provider.listing_cache import kept
from jpq.provider.registry import provider_names, resolve
from jpq.provider.weights import CATALOGUE
from jpq.store.library import Library
from jpq.store.reading import METADATA, read_object
from jpq.tools.registry import BUILTINS, is_configured

_MOST_CONVERSATIONS = 100  # the latest; a list of more helps nobody

_PLAIN = "._/:@+=,-"

# A candidate, and a few words about it.
Candidate = Tuple[str, str]


def candidates(kind: str, prefix: str, env: Environment) -> List[Candidate]:
    """What begins with ``prefix``, each once, with a description that is one harmless line."""
    found: Dict[str, str] = {}
    try:
        for name, about in _SOURCES[kind](env):
            if name.startswith(prefix) and _is_word(name):
                found.setdefault(name, " ".join(_printable(about).split()))
    except (JpqError, OSError):
        pass  # nobody could read an error in the middle of a line
    return list(found.items())


def _is_word(name: str) -> bool:
    """Whether ``name`` means itself to every shell: bash puts it on the line as it is, and a
    provider may call a model anything."""
    return bool(name) and all(char.isalnum() or char in _PLAIN for char in name)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _config(env: Environment) -> Config:
    return load_config(env.paths, env.environ, env.cwd)


def _models(env: Environment) -> Iterator[Candidate]:
    config = _config(env)
    for alias, model in config.table("aliases").items():
        yield alias, str(model)
    if config["model"] is not None:
        yield config["model"], "configured"
    for weights in CATALOGUE:
        yield f"local/{weights.name}", weights.summary
    providers = config.table("providers")
    for name in provider_names(providers):
        try:
            listed = kept(env.paths.cache, resolve(name, providers.get(name, {}), env.environ))
        except JpqError:
            continue
        for model in () if listed is None else listed.models:
            yield f"{name}/{model.id}", ""
    for name in provider_names(providers):
        yield f"{name}/", ""


def _tools(env: Environment) -> Iterator[Candidate]:
    for name, table in _config(env).table("tools").items():
        if isinstance(table, dict) and is_configured(table):
            yield name, str(table.get("description", ""))
    for name in BUILTINS:
        yield name, "builtin"


def _conversations(env: Environment) -> Iterator[Candidate]:
    library = Library(os.path.join(env.paths.data, "conversations"))
    for id in library.ids()[-_MOST_CONVERSATIONS:][::-1]:
        try:
            about = read_object(os.path.join(library.path(id), METADATA))
            yield id, str((about or {}).get("title") or "")
        except (JpqError, OSError):
            yield id, ""


def _templates(env: Environment) -> Iterator[Candidate]:
    for name in template_names(env.paths):
        try:
            yield name, read_template(name, env.paths, env.cwd, []).summary
        except JpqError:
            yield name, ""


def _providers(env: Environment) -> Iterable[Candidate]:
    return ((name, "") for name in provider_names(_config(env).table("providers")))


def _servers(env: Environment) -> Iterable[Candidate]:
    return ((name, "") for name in _config(env).table("mcp"))


def _embedded(env: Environment) -> Iterable[Candidate]:
    return ((weights.name, weights.summary) for weights in CATALOGUE)


def _settings(env: Environment) -> Iterable[Candidate]:
    return ((row.name, row.help) for row in ROWS if "*" not in row.name)


def _assignments(env: Environment) -> Iterable[Candidate]:
    return ((f"{name}=", about) for name, about in _settings(env))


_SOURCES: Dict[str, Callable[[Environment], Iterable[Candidate]]] = {
    "assignments": _assignments,
    "conversations": _conversations,
    "embedded": _embedded,
    "models": _models,
    "providers": _providers,
    "servers": _servers,
    "settings": _settings,
    "templates": _templates,
    "tools": _tools,
}
