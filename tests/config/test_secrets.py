"""Secrets are masked wherever they turn up."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.config.secrets import Secrets, masked

SECRET = "sk-0123456789abcdef"


@pytest.mark.parametrize(
    "text,shown",
    [
        (f"key {SECRET}!", "key ***cdef!"),
        ("Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer ***mnop"),
        ("{'authorization': 'Bearer abcdefghijklmnop'}", "{'authorization': 'Bearer ***mnop'}"),
        ("('x-api-key', 'abcdefghijklmnop')", "('x-api-key', '***mnop')"),
        ("X-Api-Key: short", "X-Api-Key: ***"),
        ("x-goog-api-key: abcdefghijklmnop", "x-goog-api-key: ***mnop"),
        ("http://me:pass@proxy:8080/", "http://***:***@proxy:8080/"),
        ("https://h/v1?key=abcdefghijklmnop&x=1", "https://h/v1?key=***mnop&x=1"),
        ("nothing to hide: author=me, keyboard", "nothing to hide: author=me, keyboard"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
    ],
)
def test_what_is_masked(text, shown) -> None:
    secrets = Secrets()
    secrets.add(SECRET + "\n")
    assert secrets.mask(text) == shown
    assert secrets.mask(shown) == shown


def test_a_secret_that_holds_another_is_masked_whole() -> None:
    secrets = Secrets()
    secrets.add("abcd")
    secrets.add("abcdefghijklmnop")
    assert secrets.mask("abcdefghijklmnop") == "***mnop"


def test_empty_and_tiny_values_mask_nothing() -> None:
    secrets = Secrets()
    for value in ("", " ", "a", "abc"):
        secrets.add(value)
    assert secrets.mask("a b c abc") == "a b c abc"


@pytest.mark.parametrize(
    "name,shown",
    [
        ("providers.p.headers.Authorization", "***"),
        ("mcp.x.env.GITHUB_TOKEN", "***"),
        ("providers.p.api_key_env", "plain words"),
        ("system", "plain words"),
    ],
)
def test_a_setting_with_a_secret_name_is_masked_whole(name, shown) -> None:
    assert Secrets().mask_setting(name, "plain words") == shown


def test_masking_a_long_text_takes_no_time() -> None:
    """A text of dots was searched for a URL from each of them to its end."""
    text = "a." * 50_000
    begun = time.process_time()
    assert Secrets().mask(text) == text
    assert time.process_time() - begun < 2


@given(st.text("abcdefghij-_0123456789", min_size=4, max_size=40), st.text(), st.text())
def test_no_known_secret_is_left(secret, before, after) -> None:
    secrets = Secrets()
    secrets.add(secret)
    text = secrets.mask(f"{before} {secret} {after}")
    assert secret not in text


@given(st.text(min_size=1))
def test_a_mask_shows_at_most_four_characters(secret) -> None:
    shown = masked(secret)
    assert len(shown) <= 7 and (len(secret) > 12 or shown == "***" or secret.startswith("***"))
