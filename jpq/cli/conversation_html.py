"""A saved conversation as one HTML page: nothing is loaded, nothing runs, nothing is markup
but what is written here."""

from __future__ import annotations

from jpq.cli.conversation_text import NOTE, Region, regions, title_of
from jpq.cli.html_markdown import escaped, markdown_html
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
blockquote {{ padding-left: 1rem; border-left: 3px solid var(--line); opacity: .85; }}
table {{ border-collapse: collapse; margin: .5rem 0; display: block; overflow-x: auto; }}
th, td {{ border: 1px solid var(--line); padding: .25rem .6rem; text-align: start; }}
.right {{ text-align: end; }} .centre {{ text-align: center; }}
hr {{ border: 0; border-top: 1px solid var(--line); }}
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


def as_html(saved: SavedConversation) -> str:
    """The page. It is UTF-8, whatever the locale."""
    metadata = saved.metadata
    about = [str(metadata[name]) for name in ("model", "created_at") if metadata.get(name)]
    return _PAGE.format(
        title=escaped(title_of(saved) or "Conversation"),
        about=escaped(" \u00b7 ".join([saved.id, *about])),
        body="\n".join(map(_region, regions(saved.stream.entries))),
    )


def _region(region: Region) -> str:
    if region.speaker == NOTE:
        return f'<p class="note">{escaped(region.text)}</p>'
    speaker = escaped(region.speaker)
    if region.speaker == "You":
        body = f'<div class="text">{escaped(region.text)}</div>'
        return f'<section class="you">\n<h2>{speaker}</h2>\n{body}\n</section>'
    if region.speaker == "Assistant":
        return f"<section>\n<h2>{speaker}</h2>\n{markdown_html(region.text)}\n</section>"
    text = f"<pre>{escaped(region.text)}</pre>"
    return f"<section><details>\n<summary>{speaker}</summary>\n{text}\n</details></section>"
