"""``-a``: what is attached to a question, from outside."""

from __future__ import annotations

import base64
import os
from typing import Any, List

import pytest

from tests.support.programs import conversations, entries, jpq, model_at, question
from tests.support.server import Server, answer, error, head

PNG = b"\x89PNG\r\n\x1a\n-pixels-"
PDF = b"%PDF-1.7 pages"


def file(tmp_path: Any, name: str, data: bytes) -> str:
    path = os.path.join(str(tmp_path), name)
    with open(path, "wb") as opened:
        opened.write(data)
    return path


def parts(*arguments: str, **channels: Any) -> List[Any]:
    """The content of the question that the model is asked."""
    with Server(answer("Hi")) as server:
        ran = jpq(*model_at(server), *arguments, **channels)
        assert (ran.code, ran.text) == (0, "Hi\n"), ran
        content = server.seen[0].json["messages"][-1]["content"]
        return content if isinstance(content, list) else [{"type": "text", "text": content}]


def test_text_goes_under_its_name(tmp_path: Any) -> None:
    (part,) = parts("why?", "-a", file(tmp_path, "a.log", "\ufeffGrüße\n".encode()))
    assert part["text"] == "why?\n\na.log:\n\nGrüße\n"


def test_an_image_is_known_by_its_content(tmp_path: Any) -> None:
    text, image = parts("what?", "-a", file(tmp_path, "photo.txt", PNG))
    assert text == {"type": "text", "text": "what?"}
    data = base64.b64encode(PNG).decode()
    assert image == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def test_stdin_can_be_attached_and_is_no_question_then() -> None:
    (text,) = parts("why?", "-a", "-", stdin=b"a\nb\n")
    assert text["text"] == "why?\n\nstdin:\n\na\nb\n"
    (image,) = parts("-a", "-", stdin=PNG)
    assert image["type"] == "image_url"


def test_a_url_is_fetched_through_redirects_and_without_the_key() -> None:
    there = [head("image/png", chunked=False), PNG]
    with Server(there) as target:
        moved = [head("text/html", "302 Found", False, [f"Location: {target.url}/b.png"])]
        with Server(moved) as first:
            _, image = parts("what?", "-a", f"{first.url}/a.png")
        assert image["image_url"]["url"].endswith(base64.b64encode(PNG).decode())
        assert "authorization" not in {name.lower() for name in target.seen[0].headers}


def test_the_conversation_holds_what_was_attached(tmp_path: Any) -> None:
    path = file(tmp_path, "dot.png", PNG)
    with Server(answer("A dot."), answer("Sure.")) as server:
        jpq(*model_at(server), "what?", "-a", path)
        os.remove(path)
        jpq(*model_at(server), "-c", "sure?")
        messages = server.seen[1].json["messages"]
    assert messages[0]["content"][1]["type"] == "image_url"
    assert messages[-1]["content"] == "sure?"
    (folder,) = conversations()
    (attached,) = entries(folder)[0]["metadata"]["attachments"]
    assert attached["name"] == "dot.png" and attached["media_type"] == "image/png"


def test_a_conversation_without_words_is_called_after_what_was_attached(tmp_path: Any) -> None:
    with Server(answer("A dot.")) as server:
        ran = jpq(*model_at(server), "-a", file(tmp_path, "dot.png", PNG))
    assert ran.code == 0, ran
    assert "dot.png" in jpq("conversation", "ls").text


@pytest.mark.parametrize(
    "name,data,words",
    [
        ("a.zip", b"PK\x03\x04\x00\x00", ("a.zip", "neither text")),
        ("none.txt", b" \n", ("none.txt", "empty")),
        ("paper.pdf", PDF, ("paper.pdf", "cannot be sent", "takes text, png")),
        ("big.txt", b"x" * 15_000_001, ("larger than 15 MB",)),
    ],
    ids=["archive", "blank", "pdf", "large"],
)
def test_what_cannot_be_sent_is_refused_before_anything_is(
    tmp_path: Any, name: str, data: bytes, words: Any
) -> None:
    with Server() as server:
        ran = jpq(*model_at(server), "what?", "-a", file(tmp_path, name, data))
        assert server.seen == []
    ran.failed_with(65, *words)
    assert conversations() == []


def test_what_cannot_be_read(tmp_path: Any) -> None:
    with Server() as server:
        missing = os.path.join(str(tmp_path), "missing.txt")
        jpq(*model_at(server), "what?", "-a", missing).failed_with(65, missing)
        jpq(*model_at(server), "-a", "-", "-a", "-", stdin=b"x").failed_with(2, "once")
        jpq(*model_at(server), "-", "-a", "-", stdin=b"x").failed_with(2, "either attached")
        jpq(*model_at(server), "--retry", "-a", missing).failed_with(2, "--retry")


def test_a_server_that_does_not_hand_it_out() -> None:
    with Server(error("404 Not Found", b"gone", "text/plain")) as target, Server() as server:
        url = f"{target.url}/a.png"
        jpq(*model_at(server), "what?", "-a", url).failed_with(65, "404", url)


def test_bytes_that_are_no_utf_8_are_told(tmp_path: Any) -> None:
    with Server(answer("Hi")) as server:
        ran = jpq(*model_at(server), "why?", "-a", file(tmp_path, "l1.txt", b"Gr\xfc\xdfe"))
        assert question(server.seen[0]).endswith("Gr\ufffd\ufffde")
    assert len(ran.told) == 1 and "U+FFFD" in ran.told[0]
