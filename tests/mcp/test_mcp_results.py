"""Results that are more than text: what models may be given goes along, the rest is named."""

from __future__ import annotations

import base64
from typing import Any, Dict, List

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpq.mcp.content import result_text
from jpq.tools import media
from jpq.tools.mcp_content import Parts
from tests.mcp.test_mcp_values import JSON
from tests.support.mixed_conversations import GIF, PAPER, PNG

assert PNG and GIF and PAPER
SVG = base64.b64encode(b"<svg/>").decode()


def image(data: str, kind: str = "image/png") -> Dict[str, Any]:
    return {"type": "image", "data": data, "mimeType": kind}


def resource(uri: str, **contents: Any) -> Dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, **contents}}


def read(*parts: Any) -> Any:
    found = Parts()
    text, _ = result_text({"content": list(parts)}, found.text)
    return text, found.attachments


def test_pictures_and_pdfs_go_along_under_their_names() -> None:
    text, attached = read(
        {"type": "text", "text": "See:"},
        image(PNG.content, "image/jpeg"),  # what it holds counts
        image(GIF.content),
        resource("file:///a/paper.pdf", blob=PAPER.content, mimeType="application/pdf"),
        resource("file:///b/paper.pdf", blob=PAPER.content),
        resource("http://h/\x1b[31m", blob=PNG.content),
    )
    assert [(each.name, each.media_type) for each in attached] == [
        ("image-1.png", "image/png"),
        ("image-2.gif", "image/gif"),
        ("paper.pdf", "application/pdf"),
        ("paper.pdf-4", "application/pdf"),
        ("_[31m", "image/png"),
    ]
    assert text.startswith("See:\n\n[image-1.png: image/png, 16 bytes]\n\n[image-2.gif: ")
    assert "[paper.pdf: the resource file:///a/paper.pdf, application/pdf, 14 bytes]" in text


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (image(SVG, "image/svg+xml"), "[image: image/svg+xml, 6 bytes, not shown here]"),
        (image("AAAA"), "[image: image/png, 3 bytes, not shown here]"),
        (image("*"), "[image: image/png, 0 bytes, not shown here]"),
        ({"type": "audio", "data": "AAAA"}, "[audio: of no named type, 3 bytes, not shown here]"),
        (resource("a:b", text="t"), "[resource a:b]\nt"),
        (resource("a:b", blob="YWI=", mimeType="text/x"), "[resource a:b]\nab"),
        (resource("a:b", blob="AA=="), "[resource a:b: of no named type, 1 bytes, not shown here]"),
        ({"type": "resource_link", "uri": "a:b", "name": "n"}, "[link to the resource a:b: n]"),
    ],
)
def test_what_no_model_takes_is_named(part: Any, text: str) -> None:
    assert read(part) == (text, [])


def test_what_is_too_large_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "MEDIUM_BYTES", 15)
    text, attached = read(image(PNG.content), image(GIF.content))
    assert "[image: image/png, 16 bytes, not shown here]" in text
    assert [each.name for each in attached] == ["image-1.gif"]


ANY_PART = (
    JSON
    | st.builds(image, st.sampled_from([PNG.content, GIF.content, SVG, "x"]), st.text(max_size=5))
    | st.builds(
        lambda uri, blob: resource(uri, blob=blob),
        st.text(max_size=9) | st.none(),
        st.sampled_from([PNG.content, PAPER.content, "", "%"]),
    )
)


@settings(max_examples=100)
@given(st.lists(ANY_PART, max_size=6))
def test_any_result_is_told_whole(parts: List[Any]) -> None:
    text, attached = read(*parts)
    names = [each.name for each in attached]
    assert len(set(names)) == len(names)
    assert all(f"[{name}: " in text for name in names)
    assert all(each.kind != "text" and each.content for each in attached)
