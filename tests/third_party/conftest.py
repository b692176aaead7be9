"""The servers of other people that jpq is run against."""

from __future__ import annotations

import os
from typing import Iterator

import pytest

from jpq.provider.local_process import stop_server
from jpq.provider.local_state import ServerFolder
from tests.support.llmock import Llmock, NoLlmock, llmock_command
from tests.support.weights import data_with_weights

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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A home with the embedded model's weights; ends the server that a file's tests share."""
    folder = str(tmp_path_factory.mktemp("llamacpp"))
    os.mkdir(os.path.join(folder, "data"))
    weights = os.path.join(data_with_weights(_ENVIRON), "models")
    os.symlink(weights, os.path.join(folder, "data", "models"))
    yield folder
    stop_server(ServerFolder(os.path.join(folder, "state"), "smollm2"))
