"""Markdown as HTML that a browser shows well, where no text becomes any other markup.

Done are fenced code, headings, quotes, tables, rules, bold, italic and inline code, and links
to the web. All else, lists too, stands as it was written, line by line.
"""

from __future__ import annotations

import html
import re
from typing import List, Sequence, Tuple

from jpq.render.sanitize import sanitize

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`\n]*)$")
_HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$")
_RULE = re.compile(r"^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$")
_QUOTE = re.compile(r"^ {0,3}> ?(.*)$")
_DELIMITERS = re.compile(r"^ {0,3}\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$")
_CELL_END = re.compile(r"(?<!\\)\|")
_INLINE = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)"
    r"|\*\*(?=\S)(?P<strong>.+?)(?<=\S)\*\*"
    r"|(?<![\w*])\*(?=[^\s*])(?P<em>[^*\n]+?)(?<=\S)\*(?![\w*])"
    r"|\[(?P<words>[^][\n]+)\]\((?P<url>(?:https?://|mailto:)[^\s()<>]+)\)"
)


def escaped(text: str) -> str:
    """``text`` as nothing but text: no markup, no control or bidi characters."""
    return html.escape(sanitize(text), quote=True)


def markdown_html(text: str) -> str:
    """The blocks of ``text``, one below the other."""
    lines = text.split("\n")
    parts: List[str] = []
    prose: List[str] = []
    at = 0
    while at < len(lines):
        for block in (_code, _rule, _quote, _table):
            part, end = block(lines, at)
            if end > at:
                _end_prose(parts, prose)
                parts.append(part)
                at = end
                break
        else:
            prose.append(_line(lines[at]))
            at += 1
    _end_prose(parts, prose)
    return "\n".join(parts)


def _code(lines: Sequence[str], at: int) -> Tuple[str, int]:
    """Fenced code at line ``at`` and the line behind it; that is ``at`` where there is none."""
    opened = _FENCE.match(lines[at])
    if not opened:
        return "", at
    end = at + 1
    while end < len(lines):
        found = _FENCE.match(lines[end])
        if found and found.group(1).startswith(opened.group(1)) and not found.group(2).strip():
            break
        end += 1  # to the last line, in an answer that was cut in it
    code = "\n".join(lines[at + 1 : end])
    return f"<pre><code>{escaped(code)}</code></pre>", min(end + 1, len(lines))


def _rule(lines: Sequence[str], at: int) -> Tuple[str, int]:
    return ("<hr>", at + 1) if _RULE.match(lines[at]) else ("", at)


def _quote(lines: Sequence[str], at: int) -> Tuple[str, int]:
    quoted: List[str] = []
    while at + len(quoted) < len(lines):
        found = _QUOTE.match(lines[at + len(quoted)])
        if not found:
            break
        quoted.append(_line(found.group(1)))
    text = "\n".join(quoted)
    return f'<blockquote class="text">{text}</blockquote>', at + len(quoted)


def _table(lines: Sequence[str], at: int) -> Tuple[str, int]:
    if at + 1 >= len(lines) or "|" not in lines[at] or not _DELIMITERS.match(lines[at + 1]):
        return "", at
    sides = [_side(cell) for cell in _cells(lines[at + 1])]
    head = _cells(lines[at])
    if len(head) != len(sides):
        return "", at
    rows = [_row(head, sides, "th")]
    end = at + 2
    while end < len(lines) and "|" in lines[end]:
        cells = _cells(lines[end])
        # Never fewer than were written, so that no word is lost.
        rows.append(_row(cells, sides + [""] * (len(cells) - len(sides)), "td"))
        end += 1
    return "<table>\n" + "\n".join(rows) + "\n</table>", end


def _cells(line: str) -> List[str]:
    line = line.strip()
    line = line[1:] if line.startswith("|") else line
    line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(line)]


def _side(delimiter: str) -> str:
    if delimiter.endswith(":"):
        return ' class="centre"' if delimiter.startswith(":") else ' class="right"'
    return ""


def _row(cells: Sequence[str], sides: Sequence[str], tag: str) -> str:
    written = (f"<{tag}{side}>{_inline(cell)}</{tag}>" for cell, side in zip(cells, sides))
    return f"<tr>{''.join(written)}</tr>"


def _end_prose(parts: List[str], prose: List[str]) -> None:
    text = "\n".join(prose).strip("\n")
    prose.clear()
    if text:
        parts.append(f'<div class="text">{text}</div>')


def _line(line: str) -> str:
    heading = _HEADING.match(line)
    return f"<h3>{_inline(heading.group(1))}</h3>" if heading else _inline(line)


def _inline(text: str) -> str:
    pieces: List[str] = []
    end = 0
    for found in _INLINE.finditer(text):
        pieces.append(escaped(text[end : found.start()]))
        end = found.end()
        if found["ticks"]:
            pieces.append(f"<code>{escaped(found['code'])}</code>")
        elif found["strong"]:
            pieces.append(f"<strong>{escaped(found['strong'])}</strong>")
        elif found["em"]:
            pieces.append(f"<em>{escaped(found['em'])}</em>")
        else:
            url, words = escaped(found["url"]), escaped(found["words"])
            pieces.append(f'<a href="{url}" rel="noopener noreferrer">{words}</a>')
    return "".join([*pieces, escaped(text[end:])])
