"""The HTML page: shows what was said, loads and runs nothing, and no text becomes markup."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any, Dict, List, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.cli.conversation_html import as_html
from jpq.conversation.event import (
    AssistantMessage,
    AssistantReasoning,
    ChatRequest,
    ConversationEvent,
    Draft,
    ToolCall,
    ToolResponse,
)
from jpq.conversation.stream import ConversationStream
from jpq.store.reading import SavedConversation

ALLOWED = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "h1",
    "h2",
    "h3",
    "p",
    "main",
    "section",
    "div",
    "pre",
    "code",
    "strong",
    "em",
    "a",
    "blockquote",
    "table",
    "tr",
    "th",
    "td",
    "hr",
    "details",
    "summary",
}
EVIL = "</pre></style><script>alert(1)</script><img src=x onerror=alert(1)>\"'&lt; \x1b[2J\u202e"


def page(*events: ConversationEvent, **metadata: Any) -> str:
    stream = ConversationStream()
    for event in events:
        stream.append(Draft(event))
    return as_html(SavedConversation("id", "/f", metadata, stream, 0, ()))


class Reader(HTMLParser):
    """Tags with their attributes, the text of the body, and whether tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: List[Tuple[str, Dict[str, Any]]] = []
        self.open: List[str] = []
        self.texts: Dict[str, List[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


@pytest.mark.parametrize(
    "event",
    [
        ChatRequest(EVIL),
        AssistantMessage(EVIL),
        AssistantMessage(f"# {EVIL}\n```{EVIL}\n{EVIL}\n```\n`{EVIL}` **{EVIL}**"),
        AssistantMessage(f"> {EVIL}\n\n|{EVIL}|b|\n|-|-|\n|*{EVIL}*|d|\n\n[{EVIL}]({EVIL})"),
        AssistantMessage(f"[x](javascript:alert(1)) [y](https://x/{EVIL}) {EVIL}"),
        AssistantReasoning(EVIL),
        ToolCall("1", EVIL, {EVIL: EVIL}),
        ToolResponse("1", EVIL),
    ],
)
def test_no_content_becomes_markup(event: ConversationEvent) -> None:
    read = Reader(page(event, title=EVIL, model=EVIL))
    assert {tag for tag, _ in read.tags} <= ALLOWED
    names = {name for _, attributes in read.tags for name in attributes}
    assert not [name for name in names if name.startswith("on") or name in ("src", "href")]
    assert "alert(1)" in "".join(sum(read.texts.values(), []))
    assert not set("\x1b\u202e") & set(page(event))


def test_it_is_one_page_that_loads_nothing_and_needs_no_scripts() -> None:
    text = page(ChatRequest("q"), AssistantMessage("a"), title="T")
    assert "default-src 'none'" in text and "<script" not in text and "http://" not in text
    assert text.startswith("<!DOCTYPE html>") and "<title>T</title>" in text
    assert 'charset="utf-8"' in text


def test_code_headings_and_emphasis_look_like_it() -> None:
    read = Reader(
        page(
            AssistantMessage("## Title\n\nUse `x` **now**:\n\n~~~py\n# not a title\n```\n~~~\nend")
        )
    )
    assert read.texts["h3"] == ["Title"] and read.texts["strong"] == ["now"]
    assert read.texts["code"] == ["x", "# not a title\n```"]


def test_quotes_tables_rules_and_links_look_like_it() -> None:
    text = "> said\n> so\n\n---\n\n| a | b |\n|---|--:|\n| *x* | 1\\|2 | more\n\n"
    text += 'See [this](https://a.b/?c=1&d="e") and [that](javascript:f).'
    read = Reader(page(AssistantMessage(text)))
    assert read.texts["blockquote"] == ["said\nso"]
    assert read.texts["th"] == ["a", "b"] and read.texts["em"] == ["x"]
    assert read.texts["td"] == ["1|2", "more"]
    assert ("hr", {}) in read.tags and ("td", {"class": "right"}) in read.tags
    links = [attributes["href"] for tag, attributes in read.tags if tag == "a"]
    assert links == ['https://a.b/?c=1&d="e"']
    assert " and [that](javascript:f)." in read.texts["div"]


WORDS = st.text(st.sampled_from("`~#*|->[]() <>&\"'ab\n\x00\u202e\ud800"), max_size=40)


@given(WORDS)
def test_any_text_is_whole_and_only_text(text: str) -> None:
    read = Reader(page(AssistantMessage(text), ChatRequest(text), ToolResponse("1", text)))
    assert {tag for tag, _ in read.tags} <= ALLOWED
    kept = "".join(read.texts.get("pre", []) + read.texts.get("div", []))
    for letter in "ab<&":
        assert kept.count(letter) >= text.count(letter)
