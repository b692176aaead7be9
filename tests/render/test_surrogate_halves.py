"""Halves of surrogate pairs are joined or replaced, and everything can be encoded."""

from hypothesis import given
from hypothesis import strategies as st

from jpq.render.surrogates import join_halves, split_held

ANY = st.text(alphabet=st.one_of(st.sampled_from("\ud83d\udbff\ude00\udc00a"), st.characters()))


@given(text=ANY)
def test_agrees_with_the_utf_16_codec(text):
    expected = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    joined = join_halves(text)
    joined.encode("utf-8")
    assert joined.replace("\ufffd", "") == expected.replace("\ufffd", "")


def test_each_lone_half_is_replaced_once():
    assert join_halves("a\ud83d\ud83d\ude00\ude00b") == "a\ufffd\U0001f600\ufffdb"


def test_only_a_last_high_half_is_held():
    assert split_held("a\ud83d") == ("a", "\ud83d")
    assert split_held("a\ude00") == ("a\ude00", "")
    assert split_held("") == ("", "")
