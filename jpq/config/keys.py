"""API keys: where they are kept, and how one is found."""

from __future__ import annotations

import importlib
import json
import os
from typing import ContextManager, Dict, List, Mapping, Optional, Sequence, Tuple

from jpq.config.files import read_text, write_private
from jpq.config.paths import Paths
from jpq.errors import ConfigError, DeniedError
from jpq.named import NamedTuple

COMMAND_TIMEOUT_S = 30.0  # long enough to unlock a password store by hand


class Key(NamedTuple):
    """An API key and where it came from. Printing it never shows the key."""

    value: str
    source: str

    def __repr__(self) -> str:
        return f"Key(from {self.source})"


class KeyStore:
    """The keys that ``jpq keys set`` keeps: a JSON file, 0600, in a folder of this user only."""

    source = "jpq keys set"  # where its keys come from, in words

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def place(self) -> str:
        """Where a new key is kept, in words."""
        return self.path

    def get(self, name: str) -> Optional[str]:
        """The key called ``name``, or None. Raises ConfigError for a damaged file."""
        return self._keys().get(name)

    def names(self) -> List[str]:
        """The names of all keys, sorted."""
        return sorted(self._keys())

    def set(self, name: str, value: str) -> None:
        """Keep a key, trimmed. Raises DeniedError for one that cannot be right, WriteError."""
        key = usable_key(name, value, "the key given")
        with self._alone():
            self._write({**self._keys(), name: key})

    def remove(self, name: str) -> bool:
        """Forget a key; False if there is none. Raises WriteError."""
        with self._alone():
            keys = self._keys()
            if keys.pop(name, None) is None:
                return False
            self._write(keys)
            return True

    def _keys(self) -> Dict[str, str]:
        text = read_text(self.path)
        if text is None:
            return {}
        try:
            keys = json.loads(text)
        except (ValueError, RecursionError):
            keys = None
        if isinstance(keys, dict) and all(isinstance(value, str) for value in keys.values()):
            return keys
        raise ConfigError(
            "The file with the API keys is damaged.",
            where=self.path,
            hint="Correct it, or remove it and set the keys again: jpq keys set NAME",
        )

    def _alone(self) -> ContextManager[None]:
        """What keeps another process's change from being lost in ours."""
        # Of no use to a query, which only reads keys.
        locks = importlib.import_module("jpq.config.file_lock")
        alone: ContextManager[None] = locks.only_writer(self.path + ".lock")
        return alone

    def _write(self, keys: Mapping[str, str]) -> None:
        write_private(self.path, json.dumps(keys, indent=2, sort_keys=True) + "\n")


def key_store(paths: Paths) -> KeyStore:
    """The person's keys."""
    return KeyStore(os.path.join(paths.data, "keys.json"))


def kept_keys(paths: Paths, store: str) -> KeyStore:
    """The person's keys, in what ``keys.store`` names. Raises ConfigError."""
    if store != "keyring":
        return key_store(paths)
    # Loads a library of many modules, which few people have.
    chosen: KeyStore = importlib.import_module("jpq.config.keyring_store").KeyringStore(paths)
    return chosen


def find_key(
    name: str,
    key_env: Optional[str],
    key_cmd: Sequence[str],
    environ: Mapping[str, str],
    store: KeyStore,
    command_timeout_s: float = COMMAND_TIMEOUT_S,
) -> Optional[Key]:
    """The API key of provider ``name``: its variable, then its command, then the kept keys.

    None where there is none. Raises DeniedError for a key that cannot be right, and for a
    command that fails, instead of silently using another key.
    """
    from_env = environ.get(key_env, "") if key_env else ""
    if from_env.strip():
        source = f"environment variable {key_env}"
        return Key(usable_key(name, from_env, source), source)
    if key_cmd:
        source = f"command {key_cmd[0]}"
        printed = _printed_by(name, key_cmd, environ, command_timeout_s)
        return Key(usable_key(name, printed, source), source)
    kept = store.get(name)
    if kept is None or not kept.strip():
        return None
    return Key(usable_key(name, kept, store.place), store.source)


def require_key(
    name: str,
    key_env: Optional[str],
    key_cmd: Sequence[str],
    environ: Mapping[str, str],
    store: KeyStore,
) -> Optional[Key]:
    """As ``find_key``, but None only where no key is needed. Raises DeniedError for none."""
    key = find_key(name, key_env, key_cmd, environ, store)
    if key is None and key_env is not None:
        raise DeniedError(
            f"There is no API key for {name}.", hint=" or ".join(key_ways(name, key_env))
        )
    return key


def usable_key(name: str, value: str, where: str) -> str:
    """``value`` without blanks around it. Raises DeniedError, which never shows it."""
    key = value.strip().lstrip("\ufeff")
    if not key:
        raise DeniedError(f"The API key for {name} is empty.", where=where)
    for position, char in enumerate(key, 1):
        if "!" <= char <= "~":
            continue
        raise DeniedError(
            f"The API key for {name} cannot be right: character {position} is {_named(char)}.",
            where=where,
            hint="Copy the key again, without quotes or spaces.",
        )
    return key


def _named(char: str) -> str:
    if char in "\u2018\u2019\u201c\u201d":
        return "a typographic quote"
    if char.isspace():
        return "a space or a line break"
    return "a control character" if char < " " or char == "\x7f" else "not a plain letter"


def _printed_by(
    name: str, command: Sequence[str], environ: Mapping[str, str], timeout_s: float
) -> str:
    """The first line that ``command`` prints. What it says on stderr reaches the person."""
    import subprocess  # late: only a configured command needs it

    problem = ""
    try:
        # No shell, and not our stdin: that may be the prompt. A program that has to ask for
        # a password opens the terminal itself, so it stays in our process group.
        done = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=dict(environ),
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        problem = f"did not end within {timeout_s:g} seconds"
    except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
        problem = f"cannot be run: {getattr(error, 'strerror', None) or 'a bad argument'}"
    else:
        first_line = done.stdout.split(b"\n", 1)[0].decode("utf-8", "replace")
        if done.returncode == 0 and first_line.strip():
            return first_line
        problem = _failure(done.returncode)
    raise DeniedError(
        f"The command that prints the API key for {name} {problem}.",
        where=f"providers.{name}.api_key_cmd: {command[0]}",
        hint="Run it by hand to see why, or use another way: jpq keys set " + name,
    )


def _failure(status: int) -> str:
    if status == 0:
        return "printed nothing"
    return f"failed with status {status}" if status > 0 else f"was ended by signal {-status}"


def key_ways(name: str, key_env: Optional[str]) -> Tuple[str, ...]:
    """The ways to give provider ``name`` a key, one line each, for hints."""
    ways = (f"jpq keys set {name}",)
    return (f"export {key_env}=...",) + ways if key_env else ways
