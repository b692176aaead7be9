"""Base URLs as people write them."""

from __future__ import annotations

import pytest

from jpq.errors import ConfigError
from jpq.provider.endpoint import complete_base_url, join

OPENAI = "https://api.openai.com/v1"
OPENROUTER = "https://openrouter.ai/api/v1"
PERPLEXITY = "https://api.perplexity.ai"
OLLAMA = "http://127.0.0.1:11434/v1"
OWN = "http:///v1"  # of a provider whose host is not known


@pytest.mark.parametrize(
    "written,usual,meant",
    [
        ("https://api.openai.com/v1", OPENAI, OPENAI),
        (" https://api.openai.com/v1/ ", OPENAI, OPENAI),
        ("https://api.openai.com", OPENAI, OPENAI),
        ("https://api.openai.com/", OPENAI, OPENAI),
        ("https://api.openai.com/v1/chat/completions", OPENAI, OPENAI),
        ("https://api.openai.com/v1/chat/completions/", OPENAI, OPENAI),
        ("http://proxy.test:8080", OPENAI, "http://proxy.test:8080/v1"),
        ("http://[::1]:8080/", OPENAI, "http://[::1]:8080/v1"),
        ("https://u:p@proxy.test/v1", OPENAI, "https://u:p@proxy.test/v1"),
        ("https://gateway.test/openai", OPENAI, "https://gateway.test/openai"),
        ("https://gateway.test/v1beta/openai", OWN, "https://gateway.test/v1beta/openai"),
        ("https://gateway.test/api/paas/v4", OWN, "https://gateway.test/api/paas/v4"),
        ("https://x.test/v1?api-version=1", OPENAI, "https://x.test/v1?api-version=1"),
        ("https://openrouter.ai", OPENROUTER, OPENROUTER),
        ("https://openrouter.ai/api", OPENROUTER, OPENROUTER),
        ("https://openrouter.ai/api/v1", OPENROUTER, OPENROUTER),
        ("https://api.perplexity.ai/", PERPLEXITY, PERPLEXITY),
        ("https://api.perplexity.ai/chat/completions", PERPLEXITY, PERPLEXITY),
        ("http://my.server", OWN, "http://my.server/v1"),
        ("my.server:9000", OWN, "http://my.server:9000/v1"),
        # What OLLAMA_HOST may be, which the server listens on.
        ("127.0.0.1", OLLAMA, OLLAMA),
        ("0.0.0.0", OLLAMA, OLLAMA),
        ("0.0.0.0:11434", OLLAMA, OLLAMA),
        (":11434", OLLAMA, OLLAMA),
        ("[::]:11434", OLLAMA, "http://[::1]:11434/v1"),
        ("box:1234/", OLLAMA, "http://box:1234/v1"),
        ("http://box:1234", OLLAMA, "http://box:1234/v1"),
        ("https://box", OLLAMA, "https://box/v1"),
        ("http://0.0.0.0:1234", OLLAMA, "http://127.0.0.1:1234/v1"),
        ("::1", OLLAMA, "http://[::1]:11434/v1"),
        ("::", OLLAMA, "http://[::1]:11434/v1"),
        ("fe80::1", OLLAMA, "http://[fe80::1]:11434/v1"),
    ],
)
def test_a_base_url_is_completed(written: str, usual: str, meant: str) -> None:
    completed = complete_base_url(written, usual, "test")
    assert completed == meant
    assert complete_base_url(completed, usual, "test") == meant, "once is enough"


@pytest.mark.parametrize(
    "written",
    ["http://", "ftp://x.test/v1", "http://x.test:port/v1", "http://[::1/v1", "a b", "://"],
)
def test_what_is_no_url_is_refused_with_where_it_stands(written: str) -> None:
    with pytest.raises(ConfigError) as caught:
        complete_base_url(written, OPENAI, "OPENAI_BASE_URL")
    assert caught.value.where == "OPENAI_BASE_URL"
    assert caught.value.hint


def test_the_resource_is_never_doubled_and_a_query_stays_behind_it() -> None:
    url = "https://x.test/v1/chat/completions?v=1"
    assert join("https://x.test/v1?v=1", "/chat/completions") == url
    assert join(url, "/chat/completions") == url
