"""Where settings come from, each source as a nested table that knows where it was written."""

from __future__ import annotations

import importlib
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from jpq.config import table
from jpq.config.check import checked, shown, unknown_name
from jpq.config.files import decoded, read_text
from jpq.config.lookup import find_owner, find_row, is_group, matches
from jpq.config.nested import (
    DEEPEST,
    MISSING,
    Path,
    is_deep,
    join_name,
    leaves,
    merged,
    put_at,
    split_name,
)
from jpq.config.paths import Paths
from jpq.errors import ConfigError, UsageError, WriteError
from jpq.named import NamedTuple

# Asks whether to trust a project file: its path and its text. True trusts it.
Confirm = Callable[[str, str], bool]


class Source(NamedTuple):
    """Checked settings of one origin; ``text`` is the file's, for line numbers."""

    label: str
    values: Mapping[str, Any]
    text: Optional[str] = None

    def place(self, path: Path) -> str:
        """Where this source sets ``path``: file and line, variable or option."""
        return self.label if self.text is None else file_place(self.label, self.text, path)


def _toml_text() -> Any:
    # Not needed where there is no file and no value but plain text.
    return importlib.import_module("jpq.config.toml_text")


def file_place(file: str, text: str, path: Path) -> str:
    """``file:line`` of a setting."""
    return f"{file}:{_toml_text().line_of(text, path) or 1}"


def file_source(file: str, text: str, warnings: List[str]) -> Source:
    """The settings in a file's text. Raises ConfigError with file and line."""
    values = _toml_text().parse(text, file)
    return Source(file, checked(values, lambda path: file_place(file, text, path), warnings), text)


def user_source(paths: Paths, warnings: List[str]) -> Iterator[Source]:
    """The person's ``config.toml``, if there is one."""
    text = read_text(paths.config_file)
    if text is not None:
        yield file_source(paths.config_file, text, warnings)


CONFIG = "config.toml"
INSTRUCTIONS = "instructions.md"  # what a project tells the model
_LONGEST_INSTRUCTIONS = 256 * 1024  # bytes; whatever is longer is something else


def find_project_file(paths: Paths, cwd: str, name: str = CONFIG) -> Optional[str]:
    """The nearest ``.jpq/NAME`` upwards from ``cwd`` that is not the person's own."""
    folder = os.path.abspath(cwd)
    while True:
        file = os.path.join(folder, ".jpq", name)
        if os.path.isfile(file):
            own = os.path.join(os.path.dirname(paths.config_file), name)
            if os.path.realpath(file) != os.path.realpath(own):
                return file
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def project_sources(
    paths: Paths, cwd: str, confirm: Optional[Confirm], warnings: List[str]
) -> Iterator[Source]:
    """The project's settings and its instructions, each if the person trusts the file.

    Until then it is not even parsed.
    """
    file = find_project_file(paths, cwd)
    text = None if file is None else _trusted_text(file, paths, confirm, warnings)
    if file is not None and text is not None:
        yield file_source(file, text, warnings)
    file = find_project_file(paths, cwd, INSTRUCTIONS)
    text = None if file is None else _trusted_text(file, paths, confirm, warnings)
    if file is not None and text is not None:
        yield Source(file, {"instructions": text})


def _trusted_text(
    file: str, paths: Paths, confirm: Optional[Confirm], warnings: List[str]
) -> Optional[str]:
    """What is in a project's file; None if the person does not trust it."""
    data = read_bytes(file)
    if os.path.basename(file) == INSTRUCTIONS and len(data) > _LONGEST_INSTRUCTIONS:
        kib = _LONGEST_INSTRUCTIONS // 1024
        raise ConfigError(f"The instructions are longer than {kib} KiB.", where=file)
    # Few folders are those of a project.
    trust = importlib.import_module("jpq.config.trust").TrustStore(paths.state)
    trusted = trust.answer(file, data)
    text = decoded(data, file) if trusted is not False else ""
    if trusted is None and confirm is not None:
        trusted = confirm(file, text)
        try:
            trust.remember(file, data, trusted)
        except WriteError as error:
            warnings.append(f"The answer about {file} is not remembered: {error.message}")
    if trusted is None:
        warnings.append(f"Not used, because not trusted: {file} (jpq config trust uses it).")
    return text if trusted else None


def read_bytes(file: str) -> bytes:
    """What is in a project file. Raises ConfigError."""
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise ConfigError(f"Cannot read the file: {error.strerror}.", where=file) from None


def conversation_source(values: Mapping[str, Any], warnings: List[str]) -> Source:
    """What a conversation sets for itself. What it may not set is left out, with a warning.

    ``values`` are nested tables or dotted names. A conversation can come from elsewhere
    and cannot be edited easily, so that nothing in it is an error.
    """
    label = "conversation"
    result: Dict[str, Any] = {}
    for path, value in leaves(_nested(values, warnings)):
        if value == {}:
            continue
        if not _conversation_may_set(path):
            warnings.append(f"The conversation sets {join_name(path)}, which it may not; ignored.")
            continue
        single: Dict[str, Any] = {}
        put_at(single, path, value)
        try:
            (kept,) = leaves(checked(single, lambda _: label, warnings))
        except ConfigError as error:
            warnings.append(f"The conversation's setting is ignored: {error.message}")
        else:
            put_at(result, *kept)
    return Source(label, result)


def _conversation_may_set(path: Path) -> bool:
    for name in table.CONVERSATION_MAY_SET:
        pattern = tuple(name.split("."))
        if matches(pattern, path[: len(pattern)]):
            return True
    return False


def _nested(values: Mapping[str, Any], warnings: List[str]) -> Dict[str, Any]:
    """``values`` with dotted names made into tables."""
    result: Dict[str, Any] = {}
    for key, value in values.items():
        try:
            path = split_name(key)
        except ValueError:
            warnings.append(f"The conversation sets {shown(key)}, which is no setting; ignored.")
            continue
        if is_deep([value]):
            warnings.append(f"The conversation sets {shown(key)} too deeply nested; ignored.")
            continue
        single: Dict[str, Any] = {}
        put_at(single, path, value)
        result = merged(result, single)
    return result


_SET = "JPQ_SET_"
OPTION = "option "  # how the label of whatever an option sets begins


def environment_sources(environ: Mapping[str, str], warnings: List[str]) -> Iterator[Source]:
    """``JPQ_MODEL``, then each ``JPQ_SET_KEY__SUBKEY`` by name."""
    model = environ.get("JPQ_MODEL", "").strip()
    if model:
        yield _single("JPQ_MODEL", ("model",), model, warnings)
    for variable in sorted(name for name in environ if name.startswith(_SET)):
        name = variable[len(_SET) :]
        if name == name.upper():
            name = name.lower()
        path = tuple(name.split("__"))
        if not all(path) or len(path) > DEEPEST:
            warnings.append(f"{variable} names no setting; write it as {_SET}KEY__SUBKEY.")
            continue
        label = f"environment variable {variable}"
        yield _single(label, path, value_in_text(path, environ[variable], label), warnings)


def option_sources(
    options: Mapping[str, Any], warnings: List[str], whose: str = ""
) -> Iterator[Source]:
    """Settings that options made: dotted names with values; those of the command line, or of
    whom errors are to name. Raises UsageError for no name."""
    for name, value in options.items():
        try:
            path = split_name(name)
        except ValueError as error:
            raise UsageError(
                f"An option sets {shown(name)}, but {error}.", where=whose or "command line"
            ) from None
        row = find_row(path) or find_owner(path)
        option = whose or (row.option.split(" ")[0] if row else "")
        label = f"{OPTION}{option}" if option else "command line"
        yield _single(label, path, value, warnings)


def set_sources(sets: Sequence[str], warnings: List[str]) -> Iterator[Source]:
    """Each ``--set KEY=VALUE``, in order. Raises UsageError for one that has no such shape."""
    for text in sets:
        path, value = split_set(text)
        label = f"{OPTION}--set {join_name(path)}"
        yield _single(label, path, value_in_text(path, value, label), warnings)


def split_set(text: str) -> Tuple[Path, str]:
    """The path and the value's text in ``KEY=VALUE``. Raises UsageError."""
    name, equals, value = text.partition("=")
    try:
        path = split_name(name)
    except ValueError as error:
        raise UsageError(f"--set needs KEY=VALUE: {error}.", where="option --set") from None
    if not equals:
        raise UsageError(
            "--set needs KEY=VALUE, and there is no '='.",
            where="option --set",
            hint="For example: --set request.idle_timeout_s=120",
        )
    return path, value.strip()


def value_in_text(path: Path, text: str, label: str) -> Any:
    """The value that ``text`` writes for ``path``: TOML, or the text itself for strings.

    Raises ConfigError where it can be neither.
    """
    kind = _type_at(path)
    if kind == table.STRING and not text.startswith(('"', "'")):
        return text
    value = _toml_text().parse_value(text)
    if value is not MISSING:
        return value
    if kind in (table.STRING, table.STRING_OR_INTEGER, table.ANY):
        return text
    raise ConfigError(
        f"{join_name(path)} must be {_with_article(kind)}, and its value is not one.",
        where=label,
        hint=f"Write it as TOML, for example: {_EXAMPLES[kind]}",
    )


def _type_at(path: Path) -> str:
    """The type of ``path``; what lies in a free table has the type of its members."""
    row = find_row(path)
    if row is not None:
        return row.type
    owner = find_owner(path)
    return table.STRING if owner is not None and owner.type == table.STRING_TABLE else table.ANY


def _with_article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "ai" else f"a {kind}"


_EXAMPLES = {
    table.BOOLEAN: "true or false",
    table.INTEGER: "10",
    table.NUMBER: "2.5",
    table.STRINGS: '["one", "two"]',
    table.STRING_TABLE: '{ NAME = "value" }',
    table.TABLE: '{ name = "value" }',
}


def _single(label: str, path: Path, value: Any, warnings: List[str]) -> Source:
    """The source of one setting."""
    if find_owner(path) is None and not is_group(path):
        warnings.append(unknown_name(path, lambda _: label))
        return Source(label, {})
    values: Dict[str, Any] = {}
    put_at(values, path, value)
    return Source(label, checked(values, lambda _: label, warnings))
