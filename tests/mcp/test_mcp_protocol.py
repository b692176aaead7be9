"""Messages of the protocol that servers write in ways of their own."""

from __future__ import annotations

from typing import Any

import pytest

from jpq.mcp.protocol import own_id


@pytest.mark.parametrize(
    "given, meant",
    [("12", 12), (3.0, 3), (4, 4), ("x1", "x1"), ("²", "²"), (None, None), ("9" * 5000,) * 2],
)
def test_our_ids_are_known_however_a_server_writes_them(given: Any, meant: Any) -> None:
    assert own_id(given) == meant
