"""Folds every source of settings into one ``Config``."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from jpq.config.check import shown
from jpq.config.lookup import find_row, nearest_of
from jpq.config.nested import MISSING, Path, copied, join_name, leaves, merged, split_name, value_at
from jpq.config.paths import Paths
from jpq.config.sources import (
    OPTION,
    Confirm,
    Source,
    conversation_source,
    environment_sources,
    option_sources,
    project_sources,
    set_sources,
    user_source,
)
from jpq.config.table import ROWS
from jpq.errors import ConfigError
from jpq.named import NamedTuple

DEFAULT = "default"


class Setting(NamedTuple):
    """One setting in effect: its dotted name, its value and where that comes from."""

    name: str
    value: Any
    source: str


class Config:
    """The settings in effect. Never changes; what it hands out is a copy. Any thread.

    ``config["request.idle_timeout_s"]`` is the value in the type that the table gives it,
    or its default, None if that is unset. An unknown name is a KeyError: a mistake of ours.
    ``warnings`` are the lines to tell the person.
    """

    def __init__(self, sources: Iterable[Source], warnings: Iterable[str] = ()) -> None:
        self._sources = tuple(sources)
        self.warnings: Tuple[str, ...] = tuple(warnings)
        self._values: Dict[str, Any] = {}
        for source in self._sources:
            self._values = merged(self._values, source.values)

    def __getitem__(self, name: str) -> Any:
        path = split_name(name)
        row = find_row(path)
        value = value_at(self._values, path)
        if value is not MISSING:
            return copied(value)
        if row is None:
            raise KeyError(name)
        return row.default

    def get(self, name: str, default: Any = None) -> Any:
        """The value of ``name``, its default, or ``default`` where both are unset."""
        value = self[name]
        return default if value is None else value

    def table(self, name: str) -> Dict[str, Any]:
        """What the sources set under ``name``, merged, without defaults; {} for nothing."""
        value = value_at(self._values, split_name(name))
        return copied(value) if isinstance(value, dict) else {}

    def option(self, name: str) -> Any:
        """What the command line says ``name`` is; None where it says nothing of it."""
        said = self.explain(name)
        return said[-1][1] if said and said[-1][0].startswith(OPTION) else None

    def explain(self, name: str) -> List[Tuple[str, Any]]:
        """Who sets ``name`` and to what, from the weakest source to the one in effect."""
        path = split_name(name)
        row = find_row(path)
        found: List[Tuple[str, Any]] = []
        if row is not None:
            found.append((DEFAULT, row.default))
        for source in self._sources:
            value = value_at(source.values, path)
            if value is not MISSING:
                found.append((source.place(path), copied(value)))
        return found

    def settings(self) -> List[Setting]:
        """Every setting that has a value, in the table's order, then by name."""
        paths = {path for path, _ in leaves(self._values)}
        names = {join_name(path) for path in paths}
        names.update(row.name for row in ROWS if row.default is not None and "*" not in row.name)
        found = []
        for name in sorted(names, key=lambda name: (_position(split_name(name)), name)):
            source, value = self.explain(name)[-1]
            found.append(Setting(name, value, source))
        return found


def load_config(
    paths: Paths,
    environ: Mapping[str, str],
    cwd: str,
    *,
    options: Optional[Mapping[str, Any]] = None,
    sets: Sequence[str] = (),
    conversation: Optional[Mapping[str, Any]] = None,
    template: Optional[Source] = None,
    confirm: Optional[Confirm] = None,
    whose: str = "",
) -> Config:
    """The settings in effect, from the weakest source to the strongest.

    ``options`` are dotted names with the values that the command line's options gave, or a
    program's, which errors name with ``whose``; ``sets`` are the texts of ``--set``;
    ``conversation`` is the conversation's own configuration, as nested tables or dotted names;
    ``template`` is what one sets, which options win over. ``confirm`` asks whether to trust a
    project file that is new; None asks nobody, and such a file is not used.

    Raises ConfigError for a file, variable or option that cannot be used, and UsageError
    for a ``--set`` without a value. The main thread only, because it may ask.
    """
    warnings: List[str] = []
    sources: List[Source] = []
    sources.extend(user_source(paths, warnings))
    sources.extend(project_sources(paths, cwd, confirm, warnings))
    if conversation:
        sources.append(conversation_source(conversation, warnings))
    sources.extend(environment_sources(environ, warnings))
    if template is not None:
        sources.append(template)
    sources.extend(option_sources(options or {}, warnings, whose))
    sources.extend(set_sources(sets, warnings))
    config = Config(sources, warnings)
    check_model(config)
    return config


def _position(path: Path) -> int:
    """Where the table lists ``path`` or the row that it is a part of."""
    for length in range(len(path), 0, -1):
        row = find_row(path[:length])
        if row is not None:
            return ROWS.index(row)
    return len(ROWS)


def check_model(config: Config) -> None:
    """Raise ConfigError unless the model in effect is an alias or ``PROVIDER/MODEL``."""
    model = config["model"]
    if model is None or _is_model(model):
        return
    aliases = config.table("aliases")
    target = aliases.get(model)
    if target is None:
        suggestion = nearest_of(model, aliases)
        raise ConfigError(
            f"{shown(model)} is neither PROVIDER/MODEL nor an alias.",
            where=config.explain("model")[-1][0],
            hint=f"Did you mean {suggestion}?"
            if suggestion
            else "Name the provider too, as in openai/gpt-5-mini, or set an alias.",
        )
    if not _is_model(target):
        raise ConfigError(
            f"The alias {shown(model)} stands for {shown(target)}, which is not PROVIDER/MODEL.",
            where=config.explain(join_name(("aliases", model)))[-1][0],
            hint="Name the provider too, as in openai/gpt-5-mini.",
        )


def _is_model(text: str) -> bool:
    provider, slash, model = text.partition("/")
    return bool(provider and slash and model) and text.isprintable() and " " not in text
