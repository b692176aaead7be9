"""Where jpq keeps things: the configuration file and the data, state and cache folders."""

from __future__ import annotations

import errno
import os
import sys
from typing import Mapping, Optional

from jpq.errors import WriteError
from jpq.named import NamedTuple


class Paths(NamedTuple):
    """Absolute paths. None of them needs to exist; ``make_folder`` creates one when it is needed.

    Conversations are in ``data/conversations``, API keys in ``data/keys.json``, and the
    remembered trust in project files in ``state/trust.json``.
    """

    config_file: str
    data: str
    state: str
    cache: str


# What stands in for the home folder where there is none: nothing exists below it and
# nothing can be created there, so reading finds nothing and writing says what to set.
_NO_HOME = os.path.join(os.devnull, "home")
_NO_HOME_WHERE = "there is no home folder: HOME is not set"

# Folder, its variable, and what the XDG base directory specification falls back to.
_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", os.path.join(".local", "share")),
    "state": ("XDG_STATE_HOME", os.path.join(".local", "state")),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


def find_paths(environ: Mapping[str, str]) -> Paths:
    """The folders that ``environ`` decides on. Never fails and touches no disk.

    ``JPQ_HOME`` puts everything under one folder; otherwise each XDG variable that holds
    an absolute path counts, then the platform's usual folders.
    """
    home = environ.get("JPQ_HOME")
    if home:
        if home == "~" or home.startswith("~" + os.sep):
            home = _home(environ) + home[1:]
        home = os.path.abspath(home)
        return Paths(
            config_file=os.path.join(home, "config.toml"),
            data=os.path.join(home, "data"),
            state=os.path.join(home, "state"),
            cache=os.path.join(home, "cache"),
        )
    return Paths(
        config_file=os.path.join(_folder("config", environ), "config.toml"),
        data=_folder("data", environ),
        state=_folder("state", environ),
        cache=_folder("cache", environ),
    )


def make_folder(path: str) -> None:
    """Create ``path`` and what is missing above it, for this user only (0700).

    Raises WriteError, which names the variable to set, where that cannot be done.
    """
    try:
        _make(path)
    except OSError as error:
        raise WriteError(
            f"Cannot create a folder: {error.strerror or error}.",
            where=_NO_HOME_WHERE if path.startswith(_NO_HOME) else path,
            hint="Set JPQ_HOME to a folder that you can write to.",
        ) from None


def _make(path: str) -> None:
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent != path:
        _make(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):  # else another process was quicker
            reason = os.strerror(errno.ENOTDIR)
            raise NotADirectoryError(errno.ENOTDIR, reason, path) from None


def _folder(kind: str, environ: Mapping[str, str]) -> str:
    variable, default = _XDG[kind]
    base = environ.get(variable, "")
    if os.path.isabs(base):  # the specification: a relative path is to be ignored
        return os.path.join(base, "jpq")
    if sys.platform in ("win32", "darwin", "android"):
        return _platform_folder(kind)
    return os.path.join(_home(environ), default, "jpq")


def _platform_folder(kind: str) -> str:
    # Late: needed on some platforms only, and looks at the process's own environment.
    import platformdirs

    folder = getattr(platformdirs, f"user_{kind}_dir")
    return os.path.abspath(str(folder("jpq", appauthor=False)))


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "")
    if os.path.isabs(home):
        return home
    return _account_home() or _NO_HOME


def _account_home() -> Optional[str]:
    """The home folder in the system's user database, which lacks some containers' users."""
    try:
        import pwd  # absent on Windows

        home = pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return None
    return home if os.path.isabs(home) else None
