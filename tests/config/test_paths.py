"""Where jpq keeps things."""

from __future__ import annotations

import os
import stat
import sys

import pytest

from jpq.config.paths import find_paths, make_folder
from jpq.errors import WriteError

linux = pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="other platforms have other usual folders"
)


def test_jpq_home_holds_everything(tmp_path) -> None:
    home = str(tmp_path)
    paths = find_paths({"JPQ_HOME": home, "XDG_DATA_HOME": "/elsewhere", "HOME": "/other"})
    assert paths == (f"{home}/config.toml", f"{home}/data", f"{home}/state", f"{home}/cache")


def test_a_relative_jpq_home_becomes_absolute() -> None:
    assert find_paths({"JPQ_HOME": "here"}).data == os.path.abspath("here/data")


def test_a_tilde_in_jpq_home_is_the_home_folder() -> None:
    assert find_paths({"JPQ_HOME": "~/jpq", "HOME": "/home/me"}).data == "/home/me/jpq/data"


@linux
def test_xdg_variables_win_over_home_and_relative_ones_are_ignored() -> None:
    paths = find_paths(
        {"HOME": "/home/me", "XDG_CONFIG_HOME": "/conf", "XDG_DATA_HOME": "relative"}
    )
    assert paths.config_file == "/conf/jpq/config.toml"
    assert paths.data == "/home/me/.local/share/jpq"
    assert paths.state == "/home/me/.local/state/jpq"
    assert paths.cache == "/home/me/.cache/jpq"


@linux
@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_every_path_is_absolute_without_a_home(environ) -> None:
    assert all(os.path.isabs(path) for path in find_paths(environ))


@linux
def test_an_account_without_home_folder_finds_nothing_and_says_what_to_set(monkeypatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 987654321)  # in no user database
    paths = find_paths({})
    assert not os.path.exists(paths.config_file)
    with pytest.raises(WriteError) as caught:
        make_folder(paths.data)
    assert "HOME" in caught.value.where and "JPQ_HOME" in caught.value.hint


def test_new_folders_are_for_this_user_only(tmp_path) -> None:
    folder = tmp_path / "a" / "b"
    make_folder(str(folder))
    make_folder(str(folder))
    for made in (folder, folder.parent):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_a_file_in_the_way_of_a_folder_is_told(tmp_path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(WriteError) as caught:
        make_folder(str(tmp_path / "home" / "data"))
    assert "JPQ_HOME" in caught.value.hint
