"""The offer to make a conversation shorter, when it has become too long."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

from jpq.config.load import Config
from jpq.conversation.thread import build_thread
from jpq.conversation.tokens import estimate_tokens
from jpq.errors import ConfigError
from jpq.provider.base import ModelRef
from jpq.provider.listing_cache import kept
from jpq.provider.registry import resolve
from jpq.provider.weights import find_weights


def compaction_offer(
    journal: Any, too_long: bool, limit: Optional[float], window: Callable[[], Optional[int]]
) -> Optional[str]:
    """What to tell the person; None where there is nothing to offer.

    ``too_long``: the provider did not take the conversation. ``limit`` is
    ``conversation.compact_at``: tokens, or up to 1 a share of the model's context window,
    which ``window`` gives in tokens; where that is not known, no share can be reached. Only
    a saved conversation of more than one turn has something to compact.
    """
    if journal.id is None or len(journal.stream.turns()) < 2:
        return None
    if too_long:
        return (
            f"Make it shorter with: jpq conversation compact --summarize --keep 1 {journal.id}, "
            f"then go on with: jpq --retry -r {journal.id}"
        )
    if limit is None:
        return None
    tokens, most = estimate_tokens(build_thread(journal.stream.entries)), limit
    told = f"{limit:,.0f}"
    if limit <= 1:
        size = window()
        if size is None:
            return None
        most, told = limit * size, f"{limit:g} of the model's {size:,}"
    if tokens < most:
        return None
    return (
        f"The conversation is about {tokens:,} tokens long (conversation.compact_at is "
        f"{told}); make it shorter with: jpq conversation compact {journal.id}"
    )


def context_window(
    model: ModelRef, config: Config, cache: str, environ: Mapping[str, str]
) -> Optional[int]:
    """The context window of ``model`` in tokens, as far as it is known without asking anybody.

    It is for a model of jpq's own, and for one in the list that ``jpq models ls --remote``
    kept last, if its provider tells it.
    """
    try:
        if model.provider == "local":
            return find_weights(model.model).context
        row = resolve(model.provider, config.table("providers").get(model.provider, {}), environ)
    except ConfigError:
        return None
    found = kept(cache, row)
    offered = () if found is None else found.models
    return next((each.context_window for each in offered if each.id == model.model), None)
