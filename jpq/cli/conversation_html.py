"""A saved conversation as one HTML page: nothing is loaded, nothing runs, nothing is markup
but what is written here."""

from __future__ import annotations

import html
import re
from typing import List

from jpq.cli.conversation_text import NOTE, Region, regions, title_of
from jpq.render.sanitize import sanitize
from jpq.store.reading import SavedConversation

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --line: #8884; --soft: #8881; }}
body {{ font: 16px/1.55 system-ui, sans-serif; }}
body {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.4rem; }}
header p, .note {{ opacity: .7; font-size: .875rem; }}
section {{ margin: 1.25rem 0; padding-left: 1rem; border-left: 3px solid var(--line); }}
section.you {{ border-color: #3b82f6; background: var(--soft); padding-block: .25rem; }}
section > h2, summary {{ font-size: .875rem; font-weight: 600; margin: 0 0 .25rem; opacity: .8; }}
summary {{ cursor: pointer; }}
.text {{ white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }}
.text h3 {{ font-size: 1.05rem; margin: 0; display: inline; }}
pre {{ background: var(--soft); padding: .75rem; overflow-x: auto; border-radius: 4px; }}
code, pre {{ font: .875rem/1.45 ui-monospace, monospace; }}
</style>
</head>
<body>
<header><h1>{title}</h1><p>{about}</p></header>
<main>
{body}
</main>
</body>
</html>
"""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`\n]*)$")
_HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$")
_INLINE = re.compile(r"(`+)(.+?)\1|\*\*(?=\S)(.+?)(?<=\S)\*\*")


def as_html(saved: SavedConversation) -> str:
    """The page. It is UTF-8, whatever the locale."""
    metadata = saved.metadata
    about = [str(metadata[name]) for name in ("model", "created_at") if metadata.get(name)]
    return _PAGE.format(
        title=_escaped(title_of(saved) or "Conversation"),
        about=_escaped(" \u00b7 ".join([saved.id, *about])),
        body="\n".join(map(_region, regions(saved.stream.entries))),
    )


def _region(region: Region) -> str:
    if region.speaker == NOTE:
        return f'<p class="note">{_escaped(region.text)}</p>'
    speaker = _escaped(region.speaker)
    if region.speaker == "You":
        body = f'<div class="text">{_escaped(region.text)}</div>'
        return f'<section class="you">\n<h2>{speaker}</h2>\n{body}\n</section>'
    if region.speaker == "Assistant":
        return f"<section>\n<h2>{speaker}</h2>\n{_markdown(region.text)}\n</section>"
    text = f"<pre>{_escaped(region.text)}</pre>"
    return f"<section><details>\n<summary>{speaker}</summary>\n{text}\n</details></section>"


def _markdown(text: str) -> str:
    """Fenced code as code, headings, bold and inline code as such; all else as it is."""
    parts: List[str] = []
    prose: List[str] = []
    code: List[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if not fence and found:
            _end_prose(parts, prose)
            fence = found.group(1)
        elif fence and found and found.group(1).startswith(fence) and not found.group(2).strip():
            parts.append(f"<pre><code>{_escaped(chr(10).join(code))}</code></pre>")
            fence, code = "", []
        elif fence:
            code.append(line)
        else:
            prose.append(line)
    if fence:  # an answer that was cut in it
        parts.append(f"<pre><code>{_escaped(chr(10).join(code))}</code></pre>")
    _end_prose(parts, prose)
    return "\n".join(parts)


def _end_prose(parts: List[str], prose: List[str]) -> None:
    text = "\n".join(map(_line, prose)).strip("\n")
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
        pieces.append(_escaped(text[end : found.start()]))
        end = found.end()
        if found.group(1):
            pieces.append(f"<code>{_escaped(found.group(2))}</code>")
        else:
            pieces.append(f"<strong>{_escaped(found.group(3))}</strong>")
    return "".join([*pieces, _escaped(text[end:])])


def _escaped(text: str) -> str:
    """``text`` as nothing but text: no markup, no control or bidi characters."""
    return html.escape(sanitize(text), quote=True)
