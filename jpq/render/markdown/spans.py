"""parse_spans: the inline text of a block as pieces of one style each, as markdown-it reads it."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Sequence, Tuple

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

from jpq.named import NamedTuple
from jpq.render.theme import CODE, EMPHASIS, HTML, IMAGE, LINK, PLAIN, STRIKE, STRONG

# Kinds of pieces.
TEXT, SOFT_BREAK, HARD_BREAK, ADDRESS = "text", "soft", "hard", "address"

_MARKDOWN = MarkdownIt("commonmark").enable("strikethrough")
_RULES2 = _MARKDOWN.inline.ruler2.getRules("")

_STYLES = {"strong": STRONG, "em": EMPHASIS, "s": STRIKE}

# Entities can spell what the sanitizer, which reads before us, takes out.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Span(NamedTuple):
    """A piece of text. An ADDRESS follows the text of a link that does not show it."""

    kind: str
    text: str
    style: int = PLAIN
    href: str = ""


def parse_spans(
    text: str, env: Dict[str, Any], before: str = "", after: str = ""
) -> Tuple[List[Span], bool]:
    """The spans of ``text``, and whether all its delimiters found their partners.

    ``before`` and ``after`` are the characters around it, or stand for them.
    """
    tokens: List[Any] = []
    state = StateInline(before + text + after, _MARKDOWN, env, tokens)
    _MARKDOWN.inline.tokenize(state)
    for rule in _RULES2:
        rule(state)
    closed = not any(mark.open and mark.end < 0 for mark in state.delimiters)
    if before:
        tokens[0].content = tokens[0].content[1:]
    if after:
        tokens[-1].content = tokens[-1].content[:-1]
    return _spans(tokens), closed


def _spans(tokens: Sequence[Any]) -> List[Span]:
    spans: List[Span] = []
    style = PLAIN
    href = ""
    link_at = 0
    for token in tokens:
        kind = token.type
        if kind in ("text", "text_special"):
            if token.content:
                spans.append(Span(TEXT, clean(token.content), style, href))
        elif kind == "code_inline":
            spans.append(Span(TEXT, clean(token.content), style | CODE, href))
        elif kind == "softbreak":
            spans.append(Span(SOFT_BREAK, "\n"))
        elif kind == "hardbreak":
            spans.append(Span(HARD_BREAK, "\n"))
        elif kind == "html_inline":
            spans.append(Span(TEXT, clean(token.content), style | HTML, href))
        elif kind == "image":
            source = clean(str(token.attrGet("src") or ""))
            shown = clean(_plain(token.children or ()))
            spans.append(Span(TEXT, shown, style | IMAGE | LINK, href or source))
            if not href:
                spans += _address(shown, source, style)
        elif kind == "link_open":
            href = clean(str(token.attrGet("href") or ""))
            style |= LINK
            link_at = len(spans)
        elif kind == "link_close":
            style &= ~LINK
            spans += _address("".join(span.text for span in spans[link_at:]), href, style)
            href = ""
        else:
            mark, _, way = kind.rpartition("_")
            bit = _STYLES.get(mark, PLAIN)
            # The same style can be open twice: markdown-it nests em in em.
            style = style | bit if way == "open" else _closed(style, bit, token, tokens)
    return spans


def _closed(style: int, bit: int, token: Any, tokens: Sequence[Any]) -> int:
    """``style`` without ``bit`` unless an outer one of the same kind is still open."""
    depth = 0
    name = token.type.rpartition("_")[0]
    for other in tokens:
        if other.type == name + "_open":
            depth += 1
        elif other.type == name + "_close":
            depth -= 1
            if other is token:
                break
    return style if depth else style & ~bit


def _address(shown: str, href: str, style: int) -> List[Span]:
    if not href or href in (shown, "mailto:" + shown):
        return []
    return [Span(ADDRESS, href, style, href)]


def _plain(tokens: Sequence[Any]) -> str:
    """The text alone, as in an image's description."""
    text = ""
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            text += " "
        elif token.type == "image":
            text += _plain(token.children or ())
        elif token.type != "html_inline":
            text += token.content
    return text


def clean(text: str) -> str:
    """``text`` without what could drive a terminal."""
    return text if text.isascii() and text.isprintable() else _CONTROLS.sub("", text)
