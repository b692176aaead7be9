"""docs/architecture.md shows the turn's table as it is; ``JPQ_TEST_UPDATE_DOCS=1`` rewrites it."""

from __future__ import annotations

import os

from jpq.turn.coordinator import TRANSITIONS

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "architecture.md")
BEGIN, END = "<!-- transitions -->\n", "<!-- /transitions -->"


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
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    shown, after = rest.split(END)
    if os.environ.get("JPQ_TEST_UPDATE_DOCS"):
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + table() + END + after)
        return
    assert shown == table(), (
        "run this test with JPQ_TEST_UPDATE_DOCS=1 to bring the page up to date"
    )
