"""The tools that the configuration describes, in any number."""

from __future__ import annotations

import time
from typing import Any

from jpq.config.load import Config
from jpq.config.sources import file_source
from jpq.tools.registry import build_toolset


def test_a_thousand_tools_take_no_time(tmp_path: Any) -> None:
    """Each of them was looked for in a copy of all: a question took 20 seconds."""
    text = "".join(
        f"[tools.t{number}]\ncommand = ['echo', '{number}']\ndescription = 'x'\n"
        for number in range(1000)
    )
    begun = time.process_time()
    config = Config([file_source("config.toml", "active_tools = ['*']\n" + text, [])])
    tools = build_toolset(config, str(tmp_path))
    assert time.process_time() - begun < 5
    assert len(tools.definitions) == 1000
