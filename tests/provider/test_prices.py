"""What a usage costs, and when nobody can say."""

from __future__ import annotations

import os
import re
from typing import Any, Dict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.config.load import load_config
from jpq.config.paths import find_paths
from jpq.events.usage import Usage
from jpq.provider.prices import AS_OF, PRICES, Price, cost_of, price_table
from jpq.provider.registry import provider_names

TABLE: Dict[str, Price] = {
    "acme/m": Price(2, 10, 0.5, 3),
    "acme/long": Price(2, 10, up_to=1000),
    "apart/m": Price(2, 10, 0.5, 3, cache_apart=True),
    "home/*": Price(0, 0, 0, 0),
}
MILLION = 1_000_000


@pytest.mark.parametrize(
    "model,usage,cost",
    [
        ("acme/m", Usage(MILLION, MILLION), 12.0),
        ("acme/m", Usage(MILLION, 0), 2.0),
        ("acme/m", Usage(MILLION, 0, cache_read_tokens=MILLION), 0.5),
        ("acme/m", Usage(MILLION, 0, None, MILLION // 2, MILLION // 4), 0.25 + 0.75 + 0.5),
        ("acme/m", Usage(0, MILLION, reasoning_tokens=MILLION), 10.0),
        ("apart/m", Usage(MILLION, 0, None, MILLION, MILLION), 5.5),
        ("acme/m-2025-08-07", Usage(MILLION, 0), 2.0),
        ("acme/m-20250807", Usage(MILLION, 0), 2.0),
        ("acme/long", Usage(1000, 0), 0.002),
        ("home/anything", Usage(5, 5), 0.0),
    ],
)
def test_what_tokens_cost(model: str, usage: Usage, cost: float) -> None:
    provider, _, name = model.partition("/")
    assert cost_of(usage, provider, name, TABLE) == pytest.approx(cost)


@pytest.mark.parametrize(
    "model,usage",
    [
        ("acme/m-mini", Usage(1, 1)),
        ("acme/m-2025", Usage(1, 1)),
        ("other/m", Usage(1, 1)),
        ("acme/m", Usage(None, 1)),
        ("acme/m", Usage(1, None)),
        ("acme/m", Usage()),
        # More read from the cache than there was: this provider counts in another way.
        ("acme/m", Usage(1, 1, cache_read_tokens=2)),
        ("acme/long", Usage(1001, 0)),
        ("acme/long", Usage(10, 0, cache_read_tokens=5)),
    ],
)
def test_what_nobody_knows_is_not_guessed(model: str, usage: Usage) -> None:
    provider, _, name = model.partition("/")
    assert cost_of(usage, provider, name, TABLE) is None


def test_without_a_served_model_there_is_no_price() -> None:
    assert cost_of(Usage(1, 1), "acme", None, TABLE) is None


def configured(text: str, home: str) -> Dict[str, Any]:
    environ = {"JPQ_HOME": home}
    paths = find_paths(environ)
    os.makedirs(home, exist_ok=True)
    with open(paths.config_file, "w") as file:
        file.write(text)
    config = load_config(paths, environ, home)
    assert not config.warnings
    return config.table("prices")


def test_the_configuration_replaces_and_adds(tmp_path: Any) -> None:
    text = """
    [prices."openai/gpt-5-mini"]
    output = 3
    [prices."anthropic/claude-next"]
    input = 1
    output = 4.5
    cache_read = 0.1
    [prices."box/*"]
    input = 0
    output = 0
    [prices."box/half"]
    input = 1
    """
    prices = price_table(configured(text, str(tmp_path / "home")))
    known = PRICES["openai/gpt-5-mini"]
    assert prices["openai/gpt-5-mini"] == known._replace(output=3)
    assert prices["anthropic/claude-next"] == Price(1, 4.5, 0.1, cache_apart=True)
    assert cost_of(Usage(9, 9), "box", "any", prices) == 0
    assert cost_of(Usage(9, 9), "box", "half", prices) is None
    assert prices["openai/gpt-4.1"] == PRICES["openai/gpt-4.1"]
    assert "box/*" not in PRICES


def test_without_configuration_the_table_is_the_built_in_one() -> None:
    assert price_table({}) == PRICES


@pytest.mark.parametrize("name", PRICES)
def test_every_row_is_a_whole_price_of_a_provider_that_exists(name: str) -> None:
    price = PRICES[name]
    provider = name.partition("/")[0]
    assert provider in provider_names()
    assert price.input is not None and price.output is not None and price.cache_read is not None
    assert price.cache_read <= price.input <= price.output
    assert price.cache_apart == (provider == "anthropic")
    assert cost_of(Usage(1000, 1000), provider, name.partition("/")[2]) is not None


def test_the_documentation_says_how_old_the_prices_are() -> None:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "docs", "providers.md"), encoding="utf-8") as file:
        text = file.read()
    assert re.fullmatch(r"\d{4}-\d{2}", AS_OF) and f"as of {AS_OF}" in text


COUNTS = st.one_of(st.none(), st.integers(0, 10**7))


@given(st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS), st.sampled_from(sorted(TABLE)))
def test_a_cost_is_never_negative_and_grows_with_the_output(usage: Usage, name: str) -> None:
    provider, _, model = name.partition("/")
    cost = cost_of(usage, provider, model, TABLE)
    more = cost_of(usage._replace(output_tokens=10**8), provider, model, TABLE)
    assert cost is None or (more is not None and 0 <= cost <= more)
