"""The history of ``jpq chat`` on disk."""

from __future__ import annotations

import json
import os
import stat
from typing import Any, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.cli.chat.history import KEPT, History


def read(history: History) -> List[str]:
    with open(history.path, encoding="utf-8") as file:
        return file.read().splitlines()


def test_it_is_private_and_each_workspace_has_its_own(tmp_path: Any) -> None:
    state = str(tmp_path / "state")
    one, other = History(state, "/one"), History(state, "/other")
    one.add("hello\nthere")
    other.add("élan \ud83d")
    assert one.load() == ["hello\nthere"] and other.load() == ["élan \ud83d"]
    assert History(state, "/one").load() == ["hello\nthere"]
    assert stat.S_IMODE(os.stat(one.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(one.path)).st_mode) == 0o700


def test_it_is_bounded(tmp_path: Any) -> None:
    history = History(str(tmp_path), "/w")
    history.add("begun")
    with open(history.path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(f"entry {n}") + "\n" for n in range(2 * KEPT))
    entries = History(str(tmp_path), "/w").load()
    assert len(entries) == KEPT and entries[-1] == f"entry {2 * KEPT - 1}"
    assert len(read(history)) == KEPT
    assert stat.S_IMODE(os.stat(history.path).st_mode) == 0o600


def test_what_is_blank_or_said_twice_or_endless_is_left_out(tmp_path: Any) -> None:
    history = History(str(tmp_path), "/w")
    for text in ("a", "a", " ", "b" * 200_000, "a", "c"):
        history.add(text)
    assert read(history) == ['"a"', '"c"']


def test_lines_that_are_no_entries_are_passed_over(tmp_path: Any) -> None:
    history = History(str(tmp_path), "/w")
    history.add("first")
    with open(history.path, "ab") as file:
        file.write(b'{"a": 1}\n\xff\xfe\n"torn\n')
    history.add("last")
    assert history.load() == ["first", "last"]


def test_an_entry_that_was_torn_takes_no_other_with_it(tmp_path: Any) -> None:
    history = History(str(tmp_path), "w")
    history.add("first")
    with open(history.path, "ab") as file:
        file.write(b'"seco')
    again = History(str(tmp_path), "w")
    assert again.load() == ["first"]
    again.add("third")
    assert History(str(tmp_path), "w").load() == ["first", "third"]


def test_a_history_that_cannot_be_kept_stops_nobody(tmp_path: Any) -> None:
    (tmp_path / "state").write_text("no folder")
    history = History(str(tmp_path / "state"), "/w")
    history.add("hello")
    assert history.load() == []


@given(texts=st.lists(st.text(st.characters(blacklist_categories=()), min_size=1), max_size=5))
def test_any_text_comes_back(texts: List[str], tmp_path_factory: Any) -> None:
    history = History(str(tmp_path_factory.mktemp("state")), "/w")
    for text in texts:
        history.add(text)
    kept = [text for text in texts if text.strip()]
    assert history.load() == [t for n, t in enumerate(kept) if n == 0 or t != kept[n - 1]]


def test_an_entry_that_is_nested_without_end_is_passed_over(tmp_path: Any) -> None:
    history = History(str(tmp_path), "/w")
    history.add("first")
    with open(history.path, "a", encoding="utf-8") as file:
        file.write("[" * 200_000 + "\n")
    history.add("last")
    assert history.load() == ["first", "last"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", None)])
def test_what_is_no_file_keeps_nobody_waiting(make: Any, tmp_path: Any) -> None:
    history = History(str(tmp_path), "/w")
    os.makedirs(os.path.dirname(history.path))
    make(history.path)
    assert history.load() == []
    history.add("something")


def test_of_a_file_that_is_too_long_the_end_is_read_and_kept(tmp_path: Any) -> None:
    history = History(str(tmp_path), "/w")
    history.add("begun")
    with open(history.path, "ab") as file:
        file.write(b'"' + b"x" * 9_000_000 + b'"\n"last"\n')
    assert History(str(tmp_path), "/w").load() == ["last"]
    assert read(history) == ['"last"']


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
def test_a_device_is_no_history(tmp_path: Any) -> None:
    history = History(str(tmp_path), "/w")
    os.makedirs(os.path.dirname(history.path))
    os.symlink("/dev/zero", history.path)
    assert history.load() == []
