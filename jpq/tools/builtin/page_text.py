"""A web page as text that can be read: its words, headings, lists and where its links lead."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any, List, Optional, Tuple
from urllib.parse import urljoin

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_HIDDEN = ("script", "style", "noscript", "template", "svg", "head", "iframe")
# fmt: off
_BLOCKS = (
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figure", "footer",
    "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p",
    "pre", "section", "table", "tr", "ul",
)
# fmt: on
_BLANKS = re.compile(r"[ \t\r\n\f]+")


class _Reader(HTMLParser):
    """Collects the text of a page."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: List[str] = []
        self.title = ""
        self._url = url
        self._hidden: List[str] = []
        self._in_title = False
        self._pre = 0
        self._links: List[Optional[str]] = []

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        self._in_title = tag == "title"
        if tag == "body":
            self._hidden.clear()  # a head that was not closed
        if tag in _HIDDEN:
            self._hidden.append(tag)
        if tag in _BLOCKS:
            self.parts.append("\n")
        if tag in _HEADINGS:
            self.parts.append("\n" + "#" * int(tag[1:]) + " ")
        elif tag == "li":
            self.parts.append("- ")
        elif tag in ("td", "th"):
            self.parts.append(" | ")
        elif tag == "pre":
            self._pre += 1
        elif tag == "a":
            self._links.append(dict(attrs).get("href"))

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        if tag in _BLOCKS:
            self.parts.append("\n")
        if tag == "pre":
            self._pre = max(0, self._pre - 1)
        elif tag == "a" and self._links:
            link = self._links.pop()
            if link and not link.startswith(("#", "javascript:")):
                self.parts.append(f" <{_joined(self._url, link)}>")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._hidden:
            self.parts.append(data if self._pre else _BLANKS.sub(" ", data))


def page_text(html: str, url: str) -> str:
    """The text of the page at ``url``; its title first."""
    reader = _Reader(url)
    # A tag without an end is none, and older Pythons look for the end of each anew.
    end = html.rfind(">") + 1
    reader.feed(html[:end] + re.split("<(?=[a-zA-Z/!?])", html[end:], maxsplit=1)[0])
    reader.close()
    lines = [line.strip() if line.strip() else "" for line in "".join(reader.parts).split("\n")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    title = " ".join(reader.title.split())
    return f"{title}\n\n{text}" if title else text


def _joined(url: str, link: Any) -> str:
    try:
        return str(urljoin(url, link))
    except ValueError:
        return str(link)
