"""Finds the recordings of real servers, which are not part of the project.

They are looked for in ``JPQ_CORPUS``, else in ``../shared/corpus`` beside the repository.
Tests that need them are skipped where they are absent, and fail on CI, where a missing
corpus would go unnoticed. ``JPQ_CORPUS=none`` says that it is meant to be absent.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import pytest

_REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_BESIDE = os.path.join(os.path.dirname(_REPOSITORY), "shared", "corpus")

# Read when this module is loaded, as every test hides the person's environment from itself.
_ASKED = os.environ.get("JPQ_CORPUS", "")
_ON_CI = os.environ.get("CI", "").lower() in ("1", "true")

FOLDER: Optional[str] = _ASKED or _BESIDE
if _ASKED == "none" or not os.path.isdir(str(FOLDER)):
    FOLDER = None


class Recording(NamedTuple):
    """A recorded stream: its name in the corpus, its bytes, and what it should decode to."""

    name: str
    body: bytes
    expected: Dict[str, Any]


def require(*parts: str) -> str:
    """The path of a file or folder of the corpus; skips the test, or fails it on CI."""
    if FOLDER is None:
        if _ASKED == "none":
            pytest.skip("JPQ_CORPUS=none: recordings of real servers are NOT tested")
        message = f"no recordings in {_ASKED or _BESIDE}; set JPQ_CORPUS to their folder"
        if _ON_CI:
            pytest.fail(message + ", or to none to do without")
        pytest.skip(message)
    path = os.path.join(FOLDER, *parts)
    assert os.path.exists(path), f"the corpus has no {os.path.join(*parts)}"
    return path


def stream_names(api: str) -> List[str]:
    """The streams recorded of ``api``, for parametrize; [] where there is no corpus."""
    if FOLDER is None:
        return []
    with open(os.path.join(FOLDER, "streams", "index.json"), encoding="utf-8") as file:
        return [entry["file"] for entry in json.load(file) if entry["api"] == api]


def files(folder: str, start: str, end: str) -> List[str]:
    """The files anywhere under ``folder`` whose names start and end so; [] without a corpus."""
    found: List[str] = []
    for parent, _, names in os.walk(os.path.join(FOLDER or "", folder)) if FOLDER else ():
        inside = os.path.relpath(parent, FOLDER)
        found += [os.path.join(inside, n) for n in names if n.startswith(start) and n.endswith(end)]
    return sorted(found)


def read(*parts: str) -> bytes:
    """The bytes of a file."""
    with open(require(*parts), "rb") as file:
        return file.read()


def recording(name: str) -> Recording:
    """The stream called ``name`` in the index."""
    require("streams")
    meta = json.loads(read("streams", name.rsplit(".", 1)[0] + ".meta.json"))
    return Recording(name, read("streams", name), meta["expected"])


def cases(names: Sequence[str]) -> List[Any]:
    """Parameters for parametrize; without a corpus a single None, to be skipped or to fail."""
    return list(names) or [None]
