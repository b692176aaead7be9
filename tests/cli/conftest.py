from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conversation_shell import Shell


@pytest.fixture
def shell(tmp_path: Any) -> Shell:
    """``jpq conversation`` in a store and a workspace of the test's own."""
    cwd = tmp_path / "work"
    cwd.mkdir()
    return Shell(str(tmp_path / "home"), str(cwd))
