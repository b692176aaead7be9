"""Files that jpq keeps for itself: what stands in their place is not waited for nor replaced."""

from __future__ import annotations

import os
import stat
import sys
from typing import Any

import pytest

from jpq.config.files import read_text, write_private
from jpq.errors import ConfigError, WriteError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")


def test_a_pipe_is_not_waited_for(tmp_path: Any) -> None:
    path = str(tmp_path / "config.toml")
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="It is a pipe") as caught:
        read_text(path)
    assert caught.value.where == path


def test_a_device_that_stands_for_nothing_is_read(tmp_path: Any) -> None:
    path = str(tmp_path / "config.toml")
    os.symlink(os.devnull, path)
    assert read_text(path) == ""


@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_file_is_not_replaced(tmp_path: Any, linked: bool) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    path = str(tmp_path / "link") if linked else pipe
    if linked:
        os.symlink(pipe, path)
    with pytest.raises(WriteError, match="not a regular file"):
        write_private(path, "new")
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)
    assert len(os.listdir(str(tmp_path))) == 1 + linked
