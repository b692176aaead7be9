"""The servers of other people that jpq is run against."""

from __future__ import annotations

import os
from typing import Callable, Iterator, List, Mapping

import pytest

from jpq.provider.local_process import stop_server
from jpq.provider.local_state import ServerFolder
from tests.support.aimock import Aimock, aimock_command, can_run
from tests.support.llmock import Llmock, llmock_command
from tests.support.mock_server import NoMock
from tests.support.weights import data_with_weights

_ENVIRON = dict(os.environ)  # before any test changes it


def _command(find: Callable[[Mapping[str, str]], List[str]], variable: str) -> List[str]:
    """The command that ``find`` finds; skips where there is none, except in CI."""
    try:
        return find(_ENVIRON)
    except NoMock as error:
        if _ENVIRON.get("CI") == "true":
            raise
        pytest.skip(f"{error}; {variable} may name the command")


@pytest.fixture(scope="session")
def llmock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llmock]:
    """A running llmock."""
    command = _command(llmock_command, "JPQ_TEST_LLMOCK")
    server = Llmock(command, str(tmp_path_factory.mktemp("llmock") / "log"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    """A running aimock; skips, also in CI, where there is no Node.js to run it."""
    if not can_run(_ENVIRON):
        pytest.skip("aimock needs npm and Node.js 20.15 or newer on PATH")
    command = _command(aimock_command, "JPQ_TEST_AIMOCK")
    server = Aimock(command, str(tmp_path_factory.mktemp("aimock")))
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
