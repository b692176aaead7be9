"""The offer to make a conversation shorter, when it has become too long."""

from __future__ import annotations

from typing import Any, Callable, Optional

from jpq.conversation.thread import build_thread
from jpq.conversation.tokens import estimate_tokens


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
