"""Token counts as a provider reported them."""

from __future__ import annotations

from typing import Dict, Iterable, Optional

from jpq.named import NamedTuple


class Usage(NamedTuple):
    """Tokens of one cycle or one turn; a count that was not reported is None, never 0."""

    input_tokens: Optional[int] = None
    output_tokens: Optional[int] = None
    reasoning_tokens: Optional[int] = None
    cache_read_tokens: Optional[int] = None
    cache_write_tokens: Optional[int] = None

    def merged(self, later: Usage) -> Usage:
        """Field by field, the later report where it has a value.

        Providers repeat cumulative counts, so reports of one cycle replace and never add.
        """
        return Usage(*(new if new is not None else old for old, new in zip(self, later)))

    def to_json(self) -> Dict[str, int]:
        """Only the fields that were reported."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def total_usage(cycles: Iterable[Usage]) -> Usage:
    """The sum over the cycles of a turn; a field no cycle reported stays None."""
    columns = zip(*cycles)
    sums = ([count for count in column if count is not None] for column in columns)
    return Usage(*(sum(counts) if counts else None for counts in sums))
