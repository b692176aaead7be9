"""Halves of surrogate pairs are joined or replaced, and everything can be encoded."""

from hypothesis import given
from hypothesis import strategies as st

from jpq.events.surrogates import mend, mend_piece

ANY = st.text(alphabet=st.one_of(st.sampled_from("\ud83d\udbff\ude00\udc00a"), st.characters()))


@given(text=ANY)
def test_what_is_mended_can_be_encoded_and_is_mended(text):
    mended = mend(text)
    mended.encode("utf-8")
    assert mend(mended) == mended


def test_each_lone_half_is_replaced_once():
    assert mend("a\ud83d\ud83d\ude00\ude00b") == "a\ufffd\U0001f600\ufffdb"


@given(pieces=st.lists(ANY))
def test_pieces_are_mended_as_their_whole(pieces):
    mended, held = "", ""
    for piece in pieces:
        text, held = mend_piece(held, piece)
        mended += text
    assert mended + mend(held) == mend("".join(pieces))


def test_only_a_last_first_half_is_held():
    assert mend_piece("", "a\ud83d") == ("a", "\ud83d")
    assert mend_piece("\ud83d", "\ude00") == ("\U0001f600", "")
    assert mend_piece("", "a\ude00") == ("a\ufffd", "")
    assert mend_piece("", "") == ("", "")
