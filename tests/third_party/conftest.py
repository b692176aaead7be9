"""The servers of other people that jpq is run against."""

from __future__ import annotations

import os
from typing import Iterator

import pytest

from tests.support.llmock import Llmock, NoLlmock, llmock_command

_ENVIRON = dict(os.environ)  # before any test changes it


@pytest.fixture(scope="session")
def llmock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llmock]:
    """A running llmock; skips where it cannot be had, except in CI."""
    try:
        command = llmock_command(_ENVIRON)
    except NoLlmock as error:
        if _ENVIRON.get("CI") == "true":
            raise
        pytest.skip(f"{error}; JPQ_TEST_LLMOCK may name the command")
    server = Llmock(command, str(tmp_path_factory.mktemp("llmock") / "log"))
    yield server
    server.close()
