"""``jpq models ls --provider X --remote``: what a provider says it has, and when it said so."""

from __future__ import annotations

import importlib
import time
from typing import Any, Dict, List, Optional

from jpq.cli.environment import Environment
from jpq.config.keys import kept_keys, require_key
from jpq.config.load import Config
from jpq.errors import JpqError, WriteError
from jpq.provider.base import ProviderRow
from jpq.provider.listing_cache import KeptList, age_words, keep, kept
from jpq.provider.registry import resolve
from jpq.render.lines import error_lines


def remote_rows(
    name: str, env: Environment, config: Config, *, fetch: bool, alone: bool
) -> List[Dict[str, Any]]:
    """The models of provider ``name``, one row each.

    With ``fetch`` they are asked for and kept; where that fails the person is told, and
    the list that was kept last is shown with its age. Without one the error is raised if
    this is the only provider (``alone``). Raises JpqError.
    """
    row = resolve(name, config.table("providers").get(name, {}), env.environ)
    found = kept(env.paths.cache, row)
    if fetch:
        try:
            found = _fetched(row, env, config)
        except JpqError as error:
            if found is None and alone:
                raise
            for line in error_lines(error.message, error.where, error.hint):
                env.tell(line)
            if found is not None:
                env.notice(f"This is the list of {age_words(time.time() - found.fetched_at)}.")
    return _rows(row, found)


def _fetched(row: ProviderRow, env: Environment, config: Config) -> KeptList:
    store = kept_keys(env.paths, config["keys.store"])
    key = require_key(row.name, row.key_env, row.key_cmd, env.environ, store)
    # These load requests, which is most of the time that the command would take without them.
    listing = importlib.import_module("jpq.provider.listing")
    transport = importlib.import_module("jpq.wire.transport").Transport(
        config["request.connect_timeout_s"]
    )
    try:
        models = listing.fetch_models(row, None if key is None else key.value, transport)
    finally:
        transport.close()
    if not models:
        env.notice(f"{row.name} offers no model.")
    found = KeptList(tuple(models), time.time())
    try:
        keep(env.paths.cache, row, found.models, found.fetched_at)
    except WriteError as error:  # the list is here all the same
        env.notice(f"The list could not be kept for later: {error.message}")
    return found


def _rows(row: ProviderRow, found: Optional[KeptList]) -> List[Dict[str, Any]]:
    if found is None:
        return []
    listed = f"listed {age_words(time.time() - found.fetched_at)}"
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(found.fetched_at))
    rows: List[Dict[str, Any]] = []
    for model in found.models:
        told = [f"{model.context_window} tokens of context"] if model.context_window else []
        rows.append(
            {
                "model": f"{row.name}/{model.id}",
                "provider": row.name,
                "status": "offered",
                "note": ", ".join([*told, *model.abilities, listed]),
                "context_window": model.context_window,
                "abilities": list(model.abilities),
                "fetched_at": when,
            }
        )
    return rows
