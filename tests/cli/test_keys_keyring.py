"""``keys.store = "keyring"``: keys in a keyring, with a library that stands in for the real one."""

from __future__ import annotations

import json
import os
from typing import Any, Dict

import pytest

from tests.support.programs import environment, jpq
from tests.support.server import Server, answer

KEY = "sk-very-secret-0123"
# As much of the library as jpq uses; what it holds is in a file beside it.
KEYRING = """
import json, os
PATH = os.path.join(os.path.dirname(__file__), "kept.json")

def _kept():
    if os.environ.get("LOCKED"):
        raise RuntimeError("locked, and here is sk-very-secret-0123")
    try:
        with open(PATH) as file:
            return json.load(file)
    except FileNotFoundError:
        return {}

def _keep(kept):
    with open(PATH, "w") as file:
        json.dump(kept, file)

def get_password(service, name):
    return _kept().get(f"{service} {name}")

def set_password(service, name, value):
    _keep({**_kept(), f"{service} {name}": value})

def delete_password(service, name):
    kept = _kept()
    del kept[f"{service} {name}"]
    _keep(kept)
"""


@pytest.fixture
def environ(tmp_path: Any) -> Dict[str, str]:
    """An environment with that library, which is chosen."""
    (tmp_path / "keyring.py").write_text(KEYRING)
    (tmp_path / "kept.json").write_text("{}")
    changed = environment(JPQ_SET_KEYS__STORE="keyring")
    return {**changed, "PYTHONPATH": f"{tmp_path}{os.pathsep}{changed['PYTHONPATH']}"}


def kept(tmp_path: Any) -> Any:
    return json.loads((tmp_path / "kept.json").read_text())


def test_a_key_is_kept_listed_used_and_forgotten(environ: Any, tmp_path: Any) -> None:
    ran = jpq("keys", "set", "openai", stdin=KEY.encode(), environ=environ)
    assert ran.code == 0 and "the system's keyring" in ran.told[0]
    assert kept(tmp_path) == {"jpq openai": KEY}
    with open(os.path.join(os.environ["JPQ_HOME"], "data", "keyring-names.json")) as file:
        assert json.load(file) == ["openai"]
    assert jpq("keys", "ls", environ=environ).text == "openai  the system's keyring\n"
    with Server(answer("Hi")) as server:
        environ["OPENAI_BASE_URL"] = server.url
        at = ["-m", "openai/x", "--set", "providers.openai.api=openai-chat"]
        ran = jpq(*at, "hi", environ=environ)
        assert ran.code == 0, ran
        assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
        assert "keyring" in jpq("doctor", "-m", "openai/x", environ=environ).text
    assert jpq("keys", "rm", "openai", environ=environ).code == 0
    assert kept(tmp_path) == {} and jpq("keys", "ls", environ=environ).text == ""
    jpq("keys", "rm", "openai", environ=environ).failed_with(65, "no key for openai")


def test_a_key_in_the_file_is_found_until_it_is_set_again(environ: Any, tmp_path: Any) -> None:
    jpq("keys", "set", "openai", stdin=b"sk-old-0123456")
    assert jpq("keys", "ls", environ=environ).text.startswith("openai  ")
    jpq("keys", "set", "openai", stdin=KEY.encode(), environ=environ)
    assert kept(tmp_path) == {"jpq openai": KEY}
    assert jpq("keys", "ls").text == "", "it is not in the file any more"


def test_a_keyring_that_is_locked(environ: Any, tmp_path: Any) -> None:
    jpq("keys", "set", "openai", stdin=KEY.encode(), environ=environ)
    ran = jpq("-m", "openai/x", "hi", environ={**environ, "LOCKED": "1"})
    ran.failed_with(77, "keyring did not answer", "openai", "keys.store file")
    assert KEY not in ran.err.decode()
    ran = jpq("-vv", "-m", "openai/x", "hi", environ={**environ, "LOCKED": "1"})
    assert KEY not in ran.err.decode()


def test_a_key_that_cannot_be_right_is_not_kept(environ: Any, tmp_path: Any) -> None:
    ran = jpq("keys", "set", "openai", stdin="\u201csk\u201d".encode(), environ=environ)
    ran.failed_with(77, "typographic quote")
    assert kept(tmp_path) == {}


def test_without_the_library(tmp_path: Any) -> None:
    (tmp_path / "keyring.py").write_text("raise ImportError('none')")
    environ = environment(JPQ_SET_KEYS__STORE="keyring")
    environ["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{environ['PYTHONPATH']}"
    ran = jpq("keys", "ls", environ=environ)
    ran.failed_with(78, "not installed", "pip install 'jpq[keyring]'")
