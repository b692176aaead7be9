"""What tokens cost: a table of list prices, and the cost of a usage.

A price is data with a date, since providers change theirs; ``[prices]`` in the
configuration replaces and adds. A price that is not known is never guessed.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Optional

from jpq.events.usage import Usage
from jpq.named import NamedTuple

_MILLION = 1_000_000
# The date at the end of a snapshot's name, which costs what the model does:
# gpt-5-mini-2025-08-07, claude-opus-4-5-20251101.
_SNAPSHOT = r"-\d{4}-?\d{2}-?\d{2}$"


# The month in which the table was compared with what the providers publish.
AS_OF = "2026-10"


class Price(NamedTuple):
    """USD for a million tokens.

    None is not known. A prompt of more than ``up_to`` tokens costs something else, which
    is not known. ``cache_apart`` says that the provider counts cached tokens beside the
    input tokens and not among them.
    """

    input: Optional[float] = None
    output: Optional[float] = None
    cache_read: Optional[float] = None
    cache_write: Optional[float] = None
    up_to: Optional[int] = None
    cache_apart: bool = False


def _anthropic(
    input: float, output: float, read: float, write: float, up_to: Optional[int] = None
) -> Price:
    """A row of "Pricing" in Anthropic's documentation; ``write`` is for five minutes."""
    return Price(input, output, read, write, up_to, cache_apart=True)


def _priced(input: float, output: float, read: float, up_to: Optional[int] = None) -> Price:
    """A standard price of OpenAI ("Models", "Pricing") or a paid one of Google ("Gemini
    Developer API pricing"). GitHub's "Models and pricing" has the same with thresholds."""
    return Price(input, output, read, up_to=up_to)


# Only prices that depend neither on the time of day (as DeepSeek's do) nor on an offer's end.
PRICES: Mapping[str, Price] = {
    "anthropic/claude-fable-5-1": _anthropic(10, 50, 0.25, 12.5),
    "anthropic/claude-fable-5": _anthropic(10, 50, 1, 12.5),
    "anthropic/claude-opus-5-5": _anthropic(4, 20, 0.2, 5),
    "anthropic/claude-opus-5": _anthropic(5, 25, 0.5, 6.25),
    "anthropic/claude-opus-4-8": _anthropic(5, 25, 0.5, 6.25),
    "anthropic/claude-opus-4-7": _anthropic(5, 25, 0.5, 6.25),
    "anthropic/claude-opus-4-6": _anthropic(5, 25, 0.5, 6.25),
    "anthropic/claude-opus-4-5": _anthropic(5, 25, 0.5, 6.25),
    "anthropic/claude-opus-4-1": _anthropic(15, 75, 1.5, 18.75),
    "anthropic/claude-sonnet-5-5": _anthropic(2, 10, 0.1, 2.5),
    "anthropic/claude-sonnet-5": _anthropic(2, 10, 0.2, 2.5),
    "anthropic/claude-sonnet-4-6": _anthropic(3, 15, 0.3, 3.75),
    "anthropic/claude-sonnet-4-5": _anthropic(3, 15, 0.3, 3.75, up_to=200_000),
    "anthropic/claude-sonnet-4": _anthropic(3, 15, 0.3, 3.75, up_to=200_000),
    "anthropic/claude-haiku-5-5": _anthropic(0.1, 0.5, 0.01, 0.125, up_to=100_000),
    "anthropic/claude-haiku-4-5": _anthropic(1, 5, 0.1, 1.25),
    "openai/gpt-5.5": _priced(5, 30, 0.5, up_to=272_000),
    "openai/gpt-5.4": _priced(2.5, 15, 0.25, up_to=272_000),
    "openai/gpt-5.4-mini": _priced(0.75, 4.5, 0.075),
    "openai/gpt-5.4-nano": _priced(0.2, 1.25, 0.02),
    "openai/gpt-5.2": _priced(1.75, 14, 0.175),
    "openai/gpt-5-mini": _priced(0.25, 2, 0.025),
    "openai/gpt-4.1": _priced(2, 8, 0.5),
    "google/gemini-3.5-flash": _priced(1.5, 9, 0.15),
    "google/gemini-3.1-pro-preview": _priced(2, 12, 0.2, up_to=200_000),
    # What runs on this machine.
    "local/*": Price(0, 0, 0, 0),
}


def price_table(configured: Mapping[str, Any]) -> Mapping[str, Price]:
    """The built-in prices with ``[prices]`` laid over them, field by field.

    A model of a provider that has built-in prices is counted as those are.
    """
    prices: Dict[str, Price] = dict(PRICES)
    for name, fields in configured.items():
        known = prices.get(name) or Price(cache_apart=_counts_apart(name))
        given = {f: v for f, v in fields.items() if f in Price._fields and v is not None}
        prices[name] = known._replace(**given)
    return prices


def cost_of(
    usage: Usage,
    provider: str,
    served_model: Optional[str],
    prices: Mapping[str, Price] = PRICES,
) -> Optional[float]:
    """What ``usage`` cost, in USD; None where a price or a count that it takes is missing."""
    price = _find(provider, served_model or "", prices)
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    fresh = usage.input_tokens - (0 if price.cache_apart else read + written)
    if fresh < 0 or (price.up_to is not None and fresh + read + written > price.up_to):
        return None
    bill = (
        (fresh, price.input),
        (usage.output_tokens, price.output),
        (read, price.cache_read),
        (written, price.cache_write),
    )
    total = 0.0
    for tokens, usd in bill:
        if tokens and usd is None:
            return None
        total += tokens * (usd or 0.0)
    return total / _MILLION


def _find(provider: str, model: str, prices: Mapping[str, Price]) -> Optional[Price]:
    """The price of ``model`` itself, of what it is a snapshot of, or of all its provider's."""
    undated = re.sub(_SNAPSHOT, "", model) if model[-1:].isdigit() else model
    for name in (model, undated, "*"):
        price = prices.get(f"{provider}/{name}")
        if price is not None:
            return price
    return None


def _counts_apart(name: str) -> bool:
    provider = name.partition("/")[0]
    return any(p.cache_apart for n, p in PRICES.items() if n.startswith(f"{provider}/"))
