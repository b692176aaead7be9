"""The table of settings is sound."""

from __future__ import annotations

import os

import pytest

from jpq.config.check import checked_value
from jpq.config.load import load_config
from jpq.config.paths import find_paths
from jpq.config.table import CONVERSATION_MAY_SET, ROWS

NAMES = [row.name for row in ROWS]

# The example of everything in the documentation's contract with people.
EXAMPLE = """
model = "local/smollm2"
[aliases]
fast = "openai/gpt-5-mini"
[providers.openai]
api = "openai-responses"
base_url = "https://api.openai.com/v1"
api_key_env = "OPENAI_API_KEY"
api_key_cmd = ["pass", "show", "openai"]
headers = { "X-Org" = "acme" }
ca_bundle = "/etc/ssl/corp.pem"
[tools.greet]
source = "command"
description = "Greet a person"
command = ["sh", "-c", "echo hello \\"$1\\"", "_", "{name}"]
parameters.name = { type = "string", description = "who", required = true }
run = "ask"
result = "unattended"
timeout_s = 60.0
max_output_bytes = 65536
cwd = "."
env = { LANG = "C" }
display = { name = "Greet", title = "Greeting {name}" }
[tools.weather]
source = "http"
method = "POST"
url = "http://127.0.0.1:1/x"
query = { q = "{place}" }
headers = { A = "b" }
json = { a = [1, 2] }
result = "data.0.text"
throttle.field = "status"
throttle.equals = "throttled"
throttle.wait_field = "retry_after_seconds"
throttle.max_wait_s = 15
throttle.attempts = 3
[mcp.files]
command = ["npx", "-y", "server", "."]
env = { }
startup_timeout_s = 20.0
run = "ask"
[style]
reasoning = "full"
[style.tool]
result = "10 lines"
"""


def test_names_are_unique_and_helped() -> None:
    assert len(NAMES) == len(set(NAMES))
    for row in ROWS:
        assert row.help.endswith(".") and row.help[0].isupper(), row.name


@pytest.mark.parametrize("row", [row for row in ROWS if row.default is not None], ids=str)
def test_every_default_is_a_value_that_the_row_allows(row) -> None:
    path = tuple(row.name.split("."))
    value = checked_value(row, path, row.default, lambda _: "here")
    assert value == row.default and type(value) is type(row.default)


def test_units_are_in_the_names() -> None:
    for row in ROWS:
        if row.unit in ("s", "ms", "bytes") and row.type in ("number", "integer"):
            assert row.name.endswith(f"_{row.unit}"), row.name


def test_what_a_conversation_may_set_exists() -> None:
    assert set(CONVERSATION_MAY_SET) <= set(NAMES)


def test_an_example_of_everything_is_understood(tmp_path) -> None:
    paths = find_paths({"JPQ_HOME": str(tmp_path)})
    with open(os.path.join(str(tmp_path), "config.toml"), "w", encoding="utf-8") as file:
        file.write(EXAMPLE)
    config = load_config(paths, {}, str(tmp_path))
    assert config.warnings == ()
    assert config["tools.greet.display.title"] == "Greeting {name}"
    assert config["tools.weather.throttle.attempts"] == 3
    assert config.table("mcp.files")["env"] == {}
    assert config["tools.workers"] == 8
