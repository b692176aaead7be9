"""The file of tokens between real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from jpq.mcp.oauth_tokens import TokenStore
from tests.support.programs import ROOT

LOG_IN = """
import sys
from jpq.mcp.oauth_tokens import Grant, TokenStore
store = TokenStore(sys.argv[1])
sys.stdin.readline()
for number in range(20):
    url = f"https://{sys.argv[2]}.example/{number}"
    store.set(url, Grant("issuer", "endpoint", url, {}, "token", "", []))
    if number % 2:
        assert store.remove(url)
"""


def test_logins_of_several_processes_at_once_are_all_kept(tmp_path: Any) -> None:
    path = os.path.join(str(tmp_path), "tokens.json")
    command = [sys.executable, "-c", LOG_IN, path]
    processes = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, cwd=ROOT) for name in "abc"
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.close()
    assert [process.wait() for process in processes] == [0, 0, 0]
    store = TokenStore(path)
    kept = [n for n in range(20) for name in "abc" if store.get(f"https://{name}.example/{n}")]
    assert kept == [n for n in range(0, 20, 2) for _ in "abc"]
