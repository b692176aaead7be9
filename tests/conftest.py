"""What holds for every test: a home of its own, and no thread or process left behind."""

from __future__ import annotations

import itertools
import os
import threading
import time
from typing import Callable, Dict, Iterator, List, Set

import pytest
from hypothesis import settings

from tests.support.ptys import nothing_ignored

WAIT_S = 20.0  # how long a thread or process that is on its way out may take
RUN_MARK = f"JPQ_TEST_RUN={os.getpid()}"

# Variables of the person running the tests that would change what jpq does.
PERSONAL = ("CI", "COLUMNS", "LINES", "EDITOR", "VISUAL", "PAGER", "ACCESSIBLE", "NETRC")
PERSONAL_PREFIXES = ("JPQ_", "XDG_", "SSL_CERT_", "LLM_", "OLLAMA_")
PERSONAL_SUFFIXES = (
    "_API_KEY",
    "_BASE_URL",
    "_API_BASE",
    "_PROXY",
    "_CA_BUNDLE",
    "_COLOR",
    "_TOKEN",
)
FOR_TESTS = ("JPQ_CORPUS", "JPQ_TEST_")

# A shared machine may stall any single example; pytest-timeout bounds the whole test.
# CI tries the same examples each time, so that a change is judged by what it changed;
# "tox -e fuzz" looks for new ones.
settings.register_profile("jpq", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.register_profile("fuzz", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("jpq")

_homes = itertools.count(1)


@pytest.fixture(autouse=True, scope="session")
def signals_heard() -> Iterator[None]:
    """The programs that the tests start hear signals, also where these tests may not."""
    with nothing_ignored():
        yield


@pytest.fixture(autouse=True, scope="session")
def bytecode_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where no bytecode may be written beside the sources, write it to a folder of this run.

    Else each of the thousand programs that the tests start would compile jpq again, which
    takes half of its time.
    """
    if not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        yield
        return
    with pytest.MonkeyPatch.context() as changed:
        changed.delenv("PYTHONDONTWRITEBYTECODE")
        changed.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        yield


@pytest.fixture(autouse=True)
def own_home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """An empty home folder, and an environment with no key, proxy or setting of the person's."""
    for name in list(os.environ):
        if _is_personal(name):
            monkeypatch.delenv(name)
    home = os.path.join(str(tmp_path_factory.getbasetemp()), "homes", str(next(_homes)))
    os.makedirs(home)
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("USERPROFILE", home)
    monkeypatch.setenv("JPQ_HOME", os.path.join(home, "jpq"))
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", os.path.join(home, kind.lower()))
    name, _, value = RUN_MARK.partition("=")
    monkeypatch.setenv(name, value)
    yield home


@pytest.fixture(autouse=True)
def no_leaks(own_home: str) -> Iterator[None]:
    """Fail a test that leaves a thread or a child process running, or a child unreaped."""
    threads_before = set(threading.enumerate())
    children_before = set(_children())
    yield
    deadline = time.monotonic() + WAIT_S
    for thread in set(threading.enumerate()) - threads_before:
        thread.join(max(0.0, deadline - time.monotonic()))
    leaked = [t.name for t in threading.enumerate() if t not in threads_before]
    assert not leaked, f"threads left running: {leaked}"
    children = _gone_by(deadline, lambda: set(_children()) - children_before)
    assert not children, f"child processes left behind: {_described(children)}"


@pytest.fixture(autouse=True, scope="module")
def no_orphans() -> Iterator[None]:
    """Fail a file whose tests leave a process behind that is no longer a child of ours."""
    before = set(_orphans())
    yield
    orphans = _gone_by(time.monotonic() + WAIT_S, lambda: set(_orphans()) - before)
    assert not orphans, f"orphaned processes left behind: {_described(orphans)}"


def _is_personal(name: str) -> bool:
    upper = name.upper()
    if upper.startswith(FOR_TESTS):
        return False
    return (
        upper in PERSONAL
        or upper.startswith(PERSONAL_PREFIXES)
        or upper.endswith(PERSONAL_SUFFIXES)
    )


def _gone_by(deadline: float, left: Callable[[], Set[int]]) -> Set[int]:
    """What ``left()`` still returns at ``deadline``; returns early when that is nothing."""
    remaining = left()
    while remaining and time.monotonic() < deadline:
        time.sleep(0.02)
        remaining = left()
    return remaining


def _children() -> List[int]:
    """Our child processes, zombies included; none where the system has no /proc."""
    found: List[int] = []
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
                found.extend(int(pid) for pid in file.read().split())
    except OSError:
        pass  # not Linux, or a thread that ended while we looked
    return found


def _orphans() -> List[int]:
    """Processes started from a test of this run that are not descendants of it."""
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    parents: Dict[int, int] = {}
    marked: List[int] = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                parents[pid] = int(file.read().rpartition(b")")[2].split()[1])
            with open(f"/proc/{pid}/environ", "rb") as file:
                if RUN_MARK.encode() in file.read().split(b"\0"):
                    marked.append(pid)
        except (OSError, IndexError):
            continue  # it ended while we looked, or belongs to somebody else
    return [pid for pid in marked if not _descends_from_us(pid, parents)]


def _descends_from_us(pid: int, parents: Dict[int, int]) -> bool:
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()


def _described(pids: Set[int]) -> List[str]:
    lines = []
    for pid in sorted(pids):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                command = file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        except OSError:
            command = ""
        lines.append(f"{pid} {command or '(ended, never waited for)'}")
    return lines
