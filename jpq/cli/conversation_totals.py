"""What a whole conversation took: the sums over its turns, for ``conversation show -u``."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from jpq.cli.environment import Environment
from jpq.config.load import load_config
from jpq.conversation.stream import ConversationStream, Turn
from jpq.events.usage import Usage, total_usage
from jpq.named import NamedTuple
from jpq.provider.prices import Price, cost_of, price_table
from jpq.render.aside import cost_words, usage_words


class Totals(NamedTuple):
    """Tokens and USD of ``turns`` turns; ``cost`` is None where that of any turn is unknown."""

    turns: int
    usage: Usage
    cost: Optional[float]

    @property
    def words(self) -> str:
        """The sums in one line."""
        turns = "1 turn" if self.turns == 1 else f"{self.turns} turns"
        return f"{turns}, {usage_words(self.usage)}{cost_words(self.usage, self.cost)}"

    def to_json(self) -> Dict[str, Any]:
        """The fields that ``show -u --format json`` adds."""
        return {"usage": self.usage.to_json(), "cost": self.cost}


def totals_of(stream: ConversationStream, env: Environment) -> Totals:
    """The sums over the turns of ``stream``, at the prices of this configuration."""
    prices = price_table(load_config(env.paths, env.environ, env.cwd).table("prices"))
    turns = stream.turns()
    usages = [_usage(turn) for turn in turns]
    costs = [_cost(turn, usage, prices) for turn, usage in zip(turns, usages)]
    known: List[float] = [cost for cost in costs if cost is not None]
    cost = sum(known) if known and len(known) == len(turns) else None
    return Totals(len(turns), total_usage(usages), cost)


def _usage(turn: Turn) -> Usage:
    counts = turn.end.usage if turn.end is not None else {}
    return Usage(**{name: counts.get(name) for name in Usage._fields})


def _cost(turn: Turn, usage: Usage, prices: Mapping[str, Price]) -> Optional[float]:
    makers = {e.metadata["provider"] for e in turn.entries if "provider" in e.metadata}
    if turn.end is None or len(makers) != 1:
        return None
    return cost_of(usage, str(makers.pop()), turn.end.model, prices)
