"""Argument vectors with places in them: ``"{name}"`` becomes one argument, whatever is in it."""

from __future__ import annotations

import os
import re
from typing import Any, FrozenSet, Iterator, List, Mapping, Match, Sequence

from jpq.errors import ConfigError
from jpq.tools.schema import json_text

# {name}, {name...}, {{literal}}; ${NAME} is the shell's own.
_PLACE = re.compile(r"\{\{([^{}]*)\}\}|(?<!\$)\{([A-Za-z_][\w-]*)(\.\.\.)?\}")
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"))


def check_argv(template: Sequence[str], names: Sequence[str], where: str) -> None:
    """Raise ConfigError for a place that no parameter fills, and for one in a shell's script."""
    if not template or not template[0]:
        raise ConfigError(
            "A command tool needs a command.",
            where=where,
            hint='Write it as argv: command = ["program", "{argument}"]',
        )
    for name in _names(template):
        if name not in names:
            raise ConfigError(
                f"The command has the place {{{name}}}, but no parameter has that name.",
                where=where,
                hint=f"Parameters are {', '.join(names) or 'none'}; write {{{{{name}}}}} "
                "for the text itself.",
            )
    script = _shell_script(template)
    if any(_names([script])):
        raise ConfigError(
            "The command puts an argument into a line of shell, where it could run anything.",
            where=where,
            hint='Pass it on instead: command = ["sh", "-c", "echo \\"$1\\"", "_", "{name}"]',
        )


def filled(template: Sequence[str], arguments: Mapping[str, Any]) -> List[str]:
    """The argv. An element with a place whose argument was not given is left out.

    ``{name...}`` alone in an element becomes one argument for each item of a list.
    """
    argv: List[str] = []
    for element in template:
        whole = _PLACE.fullmatch(element)
        if whole is not None and whole.group(3):
            items = arguments.get(whole.group(2), [])
            argv += [_text(item) for item in (items if isinstance(items, list) else [items])]
        elif all(name in arguments for name in _names([element])):
            argv.append(_PLACE.sub(lambda place: _filled(place, arguments), element))
    return argv


def places_in(template: Sequence[str]) -> FrozenSet[str]:
    """The names of the arguments that have a place in it."""
    return frozenset(_names(template))


def _filled(place: Match[str], arguments: Mapping[str, Any]) -> str:
    literal, name = place.group(1), place.group(2)
    return f"{{{literal}}}" if name is None else _text(arguments[name])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _names(template: Sequence[str]) -> Iterator[str]:
    for element in template:
        for place in _PLACE.finditer(element):
            if place.group(2) is not None:
                yield place.group(2)


def _shell_script(template: Sequence[str]) -> str:
    """What a shell would read as its script, if a shell is started."""
    if os.path.basename(template[0]) not in _SHELLS:
        return ""
    for option, script in zip(template[1:], template[2:]):
        if option.startswith("-") and not option.startswith("--") and "c" in option:
            return script
    return ""
