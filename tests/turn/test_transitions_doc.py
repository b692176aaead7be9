"""docs/architecture.md shows the turn's table as it is; ``JPQ_TEST_UPDATE_DOCS=1`` rewrites it."""

from __future__ import annotations

from jpq.turn.coordinator import TRANSITIONS
from tests.support.marked_parts import HOW, up_to_date


def table() -> str:
    """The transitions as a Markdown table, in the order of the code."""
    lines = ["| from | when | to | what is done |", "| --- | --- | --- | --- |"]
    for (phase, trigger), move in TRANSITIONS.items():
        above = f" (above {move.only})" if move.only else ""
        to = move.to or "the phase it interrupted"
        done = ", then ".join(move.acts)
        lines.append(f"| {phase}{above} | {trigger} | {to} | {done} |")
    return "\n".join(lines) + "\n"


def test_the_page_shows_the_table_of_the_code() -> None:
    assert up_to_date("architecture.md", "transitions", table()) == table(), HOW
