"""What a server leaves on disk for other commands."""

from __future__ import annotations

import os
import stat
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.errors import WriteError
from jpq.provider.local_state import ServerFolder, ServerState, server_folders

STATE = ServerState(
    pid=4711,
    host="here",
    model="smollm2",
    key="secret",
    control_port=40001,
    port=40002,
    started_at=1700000000.123456,
)


@pytest.fixture
def folder(tmp_path: object) -> ServerFolder:
    folder = ServerFolder(str(tmp_path), "smollm2")
    folder.create()
    return folder


def test_what_is_written_is_read(folder: ServerFolder) -> None:
    assert folder.read() is None
    folder.write(STATE)
    assert folder.read() == STATE
    assert STATE.base_url == "http://127.0.0.1:40002/v1"
    folder.clear()
    folder.clear()
    assert folder.read() is None


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_only_its_owner_reads_the_key(folder: ServerFolder) -> None:
    folder.write(STATE)
    folder.new_log().close()
    for name in ("state.json", "server.log"):
        mode = os.stat(os.path.join(folder.path, name)).st_mode
        assert stat.S_IMODE(mode) == 0o600
    assert stat.S_IMODE(os.stat(folder.path).st_mode) == 0o700


@given(st.binary(max_size=40) | st.sampled_from([b"{}", b"[]", b"null", b'{"pid": 1}']))
def test_a_damaged_state_file_is_none(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as state:
        folder = ServerFolder(state, "smollm2")
        folder.create()
        with open(os.path.join(folder.path, "state.json"), "wb") as file:
            file.write(content)
        assert folder.read() is None


@pytest.mark.parametrize("field,value", [("pid", 0), ("pid", "1"), ("port", None), ("key", 3)])
def test_a_state_of_wrong_types_is_none(folder: ServerFolder, field: str, value: object) -> None:
    folder.write(STATE._replace(**{field: value}))
    assert folder.read() is None


def test_a_server_lives_while_it_holds_its_lock(folder: ServerFolder) -> None:
    folder.write(STATE)
    with folder.alive_lock() as alive:
        assert alive.try_acquire()
        assert folder.lives()
        assert folder.read() == STATE
    assert not folder.lives()
    assert folder.read() is None, "what a dead server left is removed"


def test_folders_of_no_server(tmp_path: object) -> None:
    assert server_folders(str(tmp_path)) == []
    assert not ServerFolder(str(tmp_path), "smollm2").lives()


def test_a_state_folder_that_cannot_be_made_says_what_to_set(tmp_path: object) -> None:
    blocked = os.path.join(str(tmp_path), "file")
    open(blocked, "w").close()
    with pytest.raises(WriteError) as caught:
        ServerFolder(blocked, "smollm2").create()
    assert "JPQ_HOME" in caught.value.hint
