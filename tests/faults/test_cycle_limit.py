"""At the limit of round trips the person is asked, on the terminal, whether to go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pressing import Stage
from tests.support.server import DONE, Server, answer, reply

CALL = {"index": 0, "id": "c1", "function": {"name": "nosuch", "arguments": "{}"}}
ASKS = {"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}}]}
ENDS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


@pytest.mark.parametrize("key, code, requests", [(b"y", 0, 2), (b"n", 76, 1), (b"\x04", 76, 1)])
def test_the_limit_asks(key: bytes, code: int, requests: int, tmp_path: Path) -> None:
    stage = Stage(str(tmp_path))
    with Server(reply(ASKS, ENDS, DONE), answer("Hi there.")) as server:
        with stage.start(server, "--max-cycles", "1") as child:
            before = child.modes()
            child.wait_for(b"1 tool round trips so far. Go on for 1 more?")
            child.type(key)
            assert child.exit() == code
            assert child.modes() == before
        assert len(server.seen) == requests
