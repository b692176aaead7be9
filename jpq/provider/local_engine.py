"""Whether this Python can run the embedded model, and what to do where it cannot."""

from __future__ import annotations

import importlib.util
import sys
from typing import Tuple

from jpq.errors import ConfigError

ENGINE = "xllamacpp"
OLDEST_PYTHON = (3, 10)


def require_engine(version: Tuple[int, int] = sys.version_info[:2], engine: str = ENGINE) -> None:
    """Raises ConfigError, which says what to do instead, where no model can be run."""
    instead = "or use Ollama, llama-server or a provider with a key (`jpq models ls`)"
    if version < OLDEST_PYTHON:
        raise ConfigError(
            "The embedded model needs Python 3.10 or newer; this is {}.{}.".format(*version),
            where=sys.executable,
            hint=f"Install jpq[local] with a newer Python, {instead}.",
        )
    if importlib.util.find_spec(engine) is None:  # never imported here: it is big
        raise ConfigError(
            f"The embedded model needs the package {engine}, which is not installed.",
            where=sys.executable,
            hint=f"Run `{sys.executable} -m pip install 'jpq[local]'`, {instead}.",
        )


def engine_obstacle() -> str:
    """Why no model can be run here, in a sentence; empty where one can."""
    try:
        require_engine()
    except ConfigError as error:
        return error.message
    return ""
