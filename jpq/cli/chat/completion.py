"""Completion: what the Tab key finds after a command's name, and names of files anywhere."""

from __future__ import annotations

import os
from typing import Callable, Dict, Iterable, List, Sequence

from jpq.cli.chat.commands import COMMANDS, SLASH
from jpq.cli.chat.state import Chat
from jpq.errors import JpqError
from jpq.provider.listing_cache import kept
from jpq.provider.registry import provider_names, resolve
from jpq.provider.weights import CATALOGUE
from jpq.tools.registry import BUILTINS, is_configured


class Completion:
    """Completes lines of ``chat``. Main thread; asks nobody but the disk."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._of: Dict[str, Callable[[str], Iterable[str]]] = {
            "model": self._models,
            "tools": self._tools,
            "system": self._system,
            "attach": self._files,
            "save": self._files,
            "help": lambda word: COMMANDS,
            "compact": lambda word: ["summary"],
            "edit": lambda word: ["last"],
        }

    def __call__(self, line: str, word: str) -> Sequence[str]:
        """What could stand in the place of ``word``, with which ``line`` ends."""
        if line.startswith(SLASH) and " " not in line:
            found = _beginning(word, (SLASH + name for name in COMMANDS))
        elif line.startswith(SLASH):
            of_command = self._of.get(line[1:].split(" ", 1)[0])
            found = [] if of_command is None else _beginning(word, of_command(word))
        else:
            found = self._files(word) if os.sep in word else []
        if len(found) == 1 and not found[0].endswith(os.sep):
            return [found[0] + " "]
        return found

    def _models(self, word: str) -> Iterable[str]:
        config, env = self._chat.config, self._chat.env
        yield from config.table("aliases")
        providers = config.table("providers")
        for name in provider_names(providers):
            if name == "local":
                yield from (f"local/{each.name}" for each in CATALOGUE)
                continue
            try:
                row = resolve(name, providers.get(name, {}), env.environ)
            except JpqError:
                continue  # it has to be mended before it can be asked
            listed = kept(env.paths.cache, row)
            yield from (f"{name}/{model.id}" for model in (listed.models if listed else ()))
            if not word.startswith(f"{name}/"):
                yield f"{name}/"

    def _tools(self, word: str) -> Iterable[str]:
        tables = self._chat.config.table("tools")
        yield from (name for name, table in tables.items() if is_configured(table))
        yield from self._chat.answering.server_tools
        yield from BUILTINS
        yield "off"

    def _system(self, word: str) -> Iterable[str]:
        if word.startswith("@"):
            return ["@" + path for path in self._files(word[1:])]
        return ["off"]

    def _files(self, word: str) -> List[str]:
        """Files and folders that ``word`` begins the path of, written as ``word`` is."""
        folder, name = os.path.split(word)
        place = os.path.join(self._chat.env.cwd, os.path.expanduser(folder))
        try:
            names = sorted(os.listdir(place))
        except OSError:
            return []
        found = []
        for each in names:
            hidden = each.startswith(".") and not name
            if each.startswith(name) and each.isprintable() and not hidden:
                path = os.path.join(folder, each)
                found.append(path + os.sep if os.path.isdir(os.path.join(place, each)) else path)
        return found


def _beginning(word: str, candidates: Iterable[str]) -> List[str]:
    return [each for each in dict.fromkeys(candidates) if each.startswith(word)]
