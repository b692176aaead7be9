"""Keeps the lists of models that providers gave, each with its time.

One file a provider, ``models/NAME.json`` in the cache folder. A list is only good for the
address that it came from; a damaged one is as good as none.
"""

from __future__ import annotations

import json
import os
from typing import Any, Optional, Sequence, Tuple
from urllib.parse import quote

from jpq.config.files import read_text, write_private
from jpq.errors import ConfigError
from jpq.events import json_depth
from jpq.named import NamedTuple
from jpq.provider.base import ProviderRow

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400


class RemoteModel(NamedTuple):
    """A model that a provider offers.

    ``context_window`` is in tokens, None if it is not told. ``abilities`` are those that the
    provider says the model has: ``images``, ``pdf``, ``tools``, ``reasoning``.
    """

    id: str
    context_window: Optional[int] = None
    abilities: Tuple[str, ...] = ()


class KeptList(NamedTuple):
    """What a provider offered at ``fetched_at``, in seconds since 1970."""

    models: Tuple[RemoteModel, ...]
    fetched_at: float


def keep(cache: str, row: ProviderRow, models: Sequence[RemoteModel], fetched_at: float) -> None:
    """Write the list down. Raises WriteError."""
    value = {
        "base_url": row.base_url,
        "fetched_at": fetched_at,
        "models": [model._asdict() for model in models],
    }
    write_private(_path(cache, row), json.dumps(value) + "\n")


def kept(cache: str, row: ProviderRow) -> Optional[KeptList]:
    """The list that was kept last, or None."""
    try:
        value = json_depth.loads(read_text(_path(cache, row)) or "null")
        if value["base_url"] != row.base_url:
            return None
        models = tuple(_model(each) for each in value["models"])
        return KeptList(models, float(value["fetched_at"]))
    except (ConfigError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _model(value: Any) -> RemoteModel:
    abilities = tuple(str(ability) for ability in value.get("abilities", ()))
    return RemoteModel(str(value["id"]), value["context_window"], abilities)


def age_words(seconds: float) -> str:
    """How long ago, as a person would say it: ``5 minutes ago``."""
    if seconds < _MINUTE_S:
        return "just now"
    units = ((_DAY_S, "day"), (_HOUR_S, "hour"), (_MINUTE_S, "minute"))
    length, name = next(unit for unit in units if seconds >= unit[0])
    number = int(seconds // length)
    return f"{number} {name}{'' if number == 1 else 's'} ago"


def _path(cache: str, row: ProviderRow) -> str:
    return os.path.join(cache, "models", quote(row.name, safe="") + ".json")
