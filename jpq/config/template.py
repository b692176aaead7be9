"""Templates: questions that are kept for later, as files ``templates/NAME.toml``.

A template says what is asked and how; ``$name`` in its texts is a parameter, ``$input`` the
person's own words, and ``$$`` a dollar sign.
"""

from __future__ import annotations

import os
import string
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from jpq.config import table
from jpq.config.check import checked, checked_value, shown
from jpq.config.files import read_text
from jpq.config.lookup import nearest_of
from jpq.config.paths import Paths
from jpq.config.sources import Source, file_place
from jpq.config.table import Row
from jpq.config.toml_text import parse
from jpq.errors import ConfigError, UsageError
from jpq.named import NamedTuple

INPUT = "input"
SUFFIX = ".toml"
EXAMPLE = """\
# A template for jpq: jpq --template NAME -p language=French "some words"

description = "Translate into a language"
system = "You are a careful translator. Answer with the translation alone."
prompt = \"\"\"
Translate into $language:

$input
\"\"\"

# model = "openai/gpt-5-mini"   # or an alias
# tools = ["read_file"]         # names or globs
# schema = "text, confidence float"   # or: extract = true, as -x does

# [options]                     # as -o does
# temperature = 0.2

[defaults]                      # of parameters that need not be given
language = "French"
"""

_FIELDS = (
    Row("description", table.STRING, None, help=""),
    Row("prompt", table.STRING, None, help=""),
    Row("system", table.STRING, None, help=""),
    Row("model", table.STRING, None, help=""),
    Row("tools", table.STRINGS, None, help=""),
    Row("options", table.TABLE, None, help=""),
    Row("defaults", table.STRING_TABLE, None, help=""),
    Row("schema", table.ANY, None, help=""),
    Row("extract", table.ANY, None, help=""),
)
_ROWS = {row.name: row for row in _FIELDS}
_NAME_CHARS = frozenset(string.ascii_letters + string.digits + "._-")


class Template(NamedTuple):
    """A template as it is written, checked. ``values`` are its keys."""

    name: str
    file: str
    text: str
    values: Mapping[str, Any]

    def place(self, key: str) -> str:
        """The file and line where ``key`` is set."""
        return file_place(self.file, self.text, (key,))

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts that can hold parameters: the prompt, and a system prompt that is no file."""
        texts = {key: self.values.get(key, "") for key in ("prompt", "system")}
        if texts["system"].startswith("@"):
            del texts["system"]
        return texts

    @property
    def parameters(self) -> Tuple[str, ...]:
        """The names of its parameters, in the order of their first use."""
        names = (name for text in self.texts.values() for name in _names(text))
        return tuple(dict.fromkeys(name for name in names if name != INPUT))

    @property
    def takes_input(self) -> bool:
        """Whether its prompt says where the person's own words go."""
        return INPUT in _names(self.texts["prompt"])

    @property
    def summary(self) -> str:
        """A line about it: its description, else how its prompt or system prompt begins."""
        for key in ("description", "prompt", "system"):
            lines = str(self.values.get(key, "")).strip().splitlines()
            if lines:
                return lines[0]
        return ""

    def arguments(self, given: Mapping[str, str]) -> Dict[str, str]:
        """The value of each parameter. Raises UsageError for one too many or too few."""
        known = self.parameters
        for name in given:
            if name not in known:
                near = nearest_of(name, known)
                raise UsageError(
                    f"The template {self.name} has no parameter {shown(name)}.",
                    where=self.file,
                    hint=f"Did you mean {near}?" if near else _listed(known),
                )
        values = {**self.values.get("defaults", {}), **given}
        missing = [name for name in known if name not in values]
        if missing:
            raise UsageError(
                f"The template {self.name} needs a value for {', '.join(missing)}.",
                where=self.place(self._user_of(missing[0])),
                hint="Give it with " + " ".join(f"-p {name}=VALUE" for name in missing),
            )
        return values

    def _user_of(self, parameter: str) -> str:
        """The first key whose text has ``parameter``."""
        return next(key for key, text in self.texts.items() if parameter in _names(text))

    def prompt(self, arguments: Mapping[str, str], words: Optional[str] = None) -> str:
        """Its prompt with every parameter filled in, and ``words`` for ``$input``; or ''."""
        values = dict(arguments) if words is None else {**arguments, INPUT: words}
        return _filled(self.texts["prompt"], values)

    def source(self, arguments: Mapping[str, str]) -> Source:
        """The model, its options and the system prompt, as a source of settings.

        Raises ConfigError.
        """
        values = {key: self.values[key] for key in ("model", "options") if key in self.values}
        if "system" in self.values:
            values["system"] = self._system(arguments)
        kept = checked(values, lambda path: file_place(self.file, self.text, path), [])
        return Source(self.file, kept, self.text)

    def _system(self, arguments: Mapping[str, str]) -> str:
        text = str(self.values["system"])
        if not text.startswith("@"):
            return _filled(text, arguments)
        path = beside(self.file, text[1:])
        found = read_text(path)
        if found is None:
            raise ConfigError(
                f"The system prompt of the template {self.name} is not there: {path}.",
                where=self.place("system"),
            )
        return found


def beside(file: str, path: str) -> str:
    """``path`` as a template means it: relative to the folder of its ``file``."""
    return os.path.join(os.path.dirname(file), os.path.expanduser(path))


def templates_folder(paths: Paths) -> str:
    """Where templates are kept."""
    return os.path.join(os.path.dirname(paths.config_file), "templates")


def template_names(paths: Paths) -> List[str]:
    """The names of the templates that are kept, sorted."""
    folder = templates_folder(paths)
    try:
        # A pipe would be waited for, and has no end.
        files = [file for file in os.listdir(folder) if os.path.isfile(os.path.join(folder, file))]
    except OSError:
        return []
    names = (file[: -len(SUFFIX)] for file in files if file.endswith(SUFFIX))
    return sorted(name for name in names if is_name(name))


def is_name(name: str) -> bool:
    """Whether a template can be called ``name``."""
    return bool(name) and name[0] not in ".-" and _NAME_CHARS.issuperset(name)


def template_file(name: str, paths: Paths, cwd: str) -> str:
    """The file of the template ``name``, which may be a path. Raises UsageError."""
    if name.endswith(SUFFIX) or "/" in name or os.sep in name:
        return os.path.join(cwd, os.path.expanduser(name))
    if not is_name(name):
        raise UsageError(
            f"{shown(name)} is no name of a template.",
            hint="Names are letters, digits, '-', '_' and '.'; jpq templates ls lists them.",
        )
    return os.path.join(templates_folder(paths), name + SUFFIX)


def read_template(name: str, paths: Paths, cwd: str, warnings: List[str]) -> Template:
    """The template ``name``. Raises UsageError where there is none, ConfigError with the line."""
    file = template_file(name, paths, cwd)
    text = read_text(file)
    if text is None:
        near = nearest_of(name, template_names(paths))
        raise UsageError(
            f"There is no template {name}.",
            where=file,
            hint=f"Did you mean {near}?" if near else "jpq templates ls lists them.",
        )
    return parse_template(name, file, text, warnings)


def parse_template(name: str, file: str, text: str, warnings: List[str]) -> Template:
    """The template in ``text``; unknown keys add a line to ``warnings``. Raises ConfigError."""
    values: Dict[str, Any] = {}
    for key, value in parse(text, file).items():
        row = _ROWS.get(key)
        if row is None:
            near = nearest_of(key, _ROWS)
            told = f"; did you mean {near}?" if near else " is ignored."
            warnings.append(f"Unknown key {shown(key)} ({file_place(file, text, (key,))}){told}")
            continue
        values[key] = checked_value(row, (key,), value, lambda path: file_place(file, text, path))
    template = Template(name, file, text, values)
    for problem, key in _problems(template):
        raise ConfigError(problem, where=template.place(key))
    template.source(dict.fromkeys(template.parameters, ""))
    return template


def _problems(template: Template) -> Iterator[Tuple[str, str]]:
    """What is wrong with it beyond types, and the key where."""
    values = template.values
    for key, text in template.texts.items():
        for found in string.Template.pattern.finditer(text):
            if found.group("invalid") is not None:
                yield f"A $ in {key} is followed by no name; write $$ for a dollar sign.", key
    if INPUT in _names(template.texts.get("system", "")):
        yield "$input can stand in prompt alone, not in system.", "system"
    if INPUT in values.get("defaults", {}):
        yield "input is what is asked and can have no default.", "defaults"
    if values.get("schema") and values.get("extract"):
        yield "schema makes the whole answer JSON, and extract is for a block in a text.", "extract"
    if not isinstance(values.get("schema", ""), (str, Mapping)):
        yield "schema must be a string or a table.", "schema"
    if not isinstance(values.get("extract", False), (bool, str)):
        yield "extract must be true, false or the name of a language.", "extract"


def _names(text: str) -> List[str]:
    matches = string.Template.pattern.finditer(text)
    names = (found.group("named") or found.group("braced") for found in matches)
    return [name for name in names if name]


def _filled(text: str, values: Mapping[str, str]) -> str:
    return string.Template(text).substitute(values)


def _listed(names: Tuple[str, ...]) -> str:
    return f"It has: {', '.join(names)}." if names else "It has none."
