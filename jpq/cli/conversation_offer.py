"""The offer to make a conversation shorter, when it has become too long."""

from __future__ import annotations

from typing import Any, Optional

from jpq.conversation.thread import build_thread
from jpq.conversation.tokens import estimate_tokens


def compaction_offer(journal: Any, too_long: bool, limit: Optional[float]) -> Optional[str]:
    """What to tell the person; None where there is nothing to offer.

    ``too_long``: the provider did not take the conversation. ``limit`` is
    ``conversation.compact_at`` in tokens. Only a saved conversation of more than one turn
    has something to compact.
    """
    if journal.id is None or len(journal.stream.turns()) < 2:
        return None
    if too_long:
        return (
            f"Make it shorter with: jpq conversation compact --summarize --keep 1 {journal.id}, "
            f"then go on with: jpq --retry -r {journal.id}"
        )
    tokens = estimate_tokens(build_thread(journal.stream.entries))
    if limit is None or tokens < limit:
        return None
    return (
        f"The conversation is about {tokens:,} tokens long (conversation.compact_at is "
        f"{limit:,.0f}); make it shorter with: jpq conversation compact {journal.id}"
    )
