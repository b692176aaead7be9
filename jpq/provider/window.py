"""How much a model can take, as far as that is known without asking anybody."""

from __future__ import annotations

from typing import Mapping, Optional

from jpq.config.load import Config
from jpq.errors import ConfigError
from jpq.provider.base import ModelRef
from jpq.provider.listing_cache import kept
from jpq.provider.registry import resolve
from jpq.provider.weights import find_weights


def context_window(
    model: ModelRef, config: Config, cache: str, environ: Mapping[str, str]
) -> Optional[int]:
    """The context window of ``model`` in tokens, or None.

    It is known where the configuration tells it, for a model of jpq's own, and for one in the
    list that ``jpq models ls --remote`` kept last, if its provider tells it.
    """
    configured = config.table("context_windows")
    for name in (str(model), f"{model.provider}/*"):
        if name in configured:
            return int(configured[name])
    try:
        if model.provider == "local":
            return find_weights(model.model).context
        row = resolve(model.provider, config.table("providers").get(model.provider, {}), environ)
    except ConfigError:
        return None
    found = kept(cache, row)
    offered = () if found is None else found.models
    return next((each.context_window for each in offered if each.id == model.model), None)
