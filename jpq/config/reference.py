"""Writes the table of settings into docs/configuration.md.

Run ``python -m jpq.config.reference docs/configuration.md`` after changing the table.
"""

from __future__ import annotations

import sys
from typing import List

from jpq.config import table
from jpq.config.table import ROWS, Row
from jpq.config.toml_edit import to_toml

BEGIN = "<!-- settings: from jpq/config/table.py by python -m jpq.config.reference -->\n"
END = "<!-- end of settings -->\n"

# Rows by the first part of their names, in the order of the page.
_TITLES = {
    "": "The answer",
    "providers": "Providers",
    "keys": "Keys",
    "prices": "Prices",
    "request": "Requests",
    "input": "Input",
    "conversation": "Conversations",
    "context_windows": "Conversations",
    "tools": "Tools",
    "mcp": "MCP servers",
    "style": "What it looks like",
    "interrupt": "Ctrl+C",
}


def reference() -> str:
    """Every setting with default, type, unit and meaning, in Markdown."""
    lines: List[str] = []
    title = None
    for row in ROWS:
        current = _title(row)
        if current != title:
            title = current
            lines += ["", f"### {title}", "", "| key | default | type | meaning |"]
            lines += ["| --- | --- | --- | --- |"]
        name = row.name.replace("*", "NAME")
        lines.append(f"| `{name}` | {_default(row)} | {_type(row)} | {_meaning(row)} |")
    return "\n".join(lines[1:]) + "\n"


def with_reference(page: str) -> str:
    """``page`` with the table of settings between its two marks brought up to date."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page lacks the marks around the settings")
    return f"{before}{begin}\n{reference()}\n{end}{after}"


def _title(row: Row) -> str:
    return _TITLES.get(row.name.split(".")[0], _TITLES[""])


def _default(row: Row) -> str:
    return "unset" if row.default is None else f"`{to_toml(row.default)}`"


def _type(row: Row) -> str:
    text = row.type
    if row.unit:
        text += f" ({row.unit})"
    return f"{text}, {row.bound}" if row.bound else text


def _meaning(row: Row) -> str:
    text = row.help
    if row.choices:
        label = "Words" if row.type == table.STRING_OR_INTEGER else "One of"
        text += f" {label}: " + ", ".join(f"`{choice}`" for choice in row.choices) + "."
    if row.option:
        text += f" Option: `{row.option}`."
    return text.replace("|", "\\|")


def main(path: str) -> None:
    """Bring the page at ``path`` up to date."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(with_reference(page))


if __name__ == "__main__":
    main(sys.argv[1])
