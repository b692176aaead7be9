"""How lines become messages in ``jpq chat``, and queries' words become the chat's."""

from __future__ import annotations

from typing import List, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.cli.chat.message import Composer
from jpq.cli.chat.wording import as_in_chat, in_chat_words
from jpq.events.turn import Error, Notice, TextChunk


def messages(*lines: str) -> List[Optional[str]]:
    composer = Composer()
    return [composer.feed(line) for line in lines]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (("one",), ["one"]),
        (("",), [""]),
        (("one\\", "two"), [None, "one\ntwo"]),
        (("one\\", "\\", "two"), [None, None, "one\n\ntwo"]),
        (("C:\\\\",), ["C:\\\\"]),  # two backslashes are none that goes on
        (('"""', "one", '"""'), [None, None, "one"]),
        (('"""one', "", 'two"""'), [None, None, "one\n\ntwo"]),
        (('"""one"""',), ["one"]),
        (('"""one""" ',), ["one"]),
        (('  """', "  kept", '  """'), [None, None, "  kept"]),
        (('say """ here',), ['say """ here']),
        (('"""', "a\\", '"""'), [None, None, "a\\"]),
        (("pasted\nlines\\\nend\\",), ["pasted\nlines\\\nend\\"]),
        (('"""', "pasted\nlines", '"""', "next"), [None, None, "pasted\nlines", "next"]),
    ],
)
def test_lines_become_messages(lines: List[str], wanted: List[Optional[str]]) -> None:
    assert messages(*lines) == wanted


def test_the_end_of_the_input_ends_a_message() -> None:
    composer = Composer()
    assert not composer.is_open and composer.end() == ""
    composer.feed('"""one')
    composer.feed("two")
    assert composer.is_open and composer.end() == "one\ntwo"
    assert not composer.is_open and composer.feed("three") == "three"


@given(lines=st.lists(st.text(st.characters(blacklist_characters='"\n\r')), min_size=1))
def test_what_stands_between_quotes_is_kept_as_it_is(lines: List[str]) -> None:
    composer = Composer()
    composer.feed('"""')
    for line in lines:
        assert composer.feed(line) is None
    assert composer.feed('"""') == "\n".join(lines)


def test_what_to_do_next_is_told_in_the_words_of_a_chat() -> None:
    error = Error("cut", "It was cut: jpq --retry", "here", "Go on with: jpq --retry")
    assert as_in_chat(error) == error._replace(hint="Go on with: /retry")
    assert as_in_chat(Notice("Go on with: jpq --retry")) == Notice("Go on with: /retry")
    text = TextChunk("jpq --retry")
    assert as_in_chat(text) is text
    assert in_chat_words("with: jpq conversation compact mx2j (now)") == "with: /compact (now)"
