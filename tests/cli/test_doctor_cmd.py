"""``jpq doctor`` as a person runs it: one line a check, and what to do where one fails."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Tuple

from jpq.provider.local_engine import engine_obstacle
from tests.support.programs import Ran, environment, jpq, script
from tests.support.server import Server, answer

NAMES = ("python", "terminal", "settings", "model", "key", "endpoint", "store")


def checks(ran: Ran) -> Dict[str, Tuple[str, str]]:
    """Each check's mark and what it found."""
    assert ran.err == b""
    lines = [line.split(None, 2) for line in ran.text.splitlines()]
    assert tuple(name for _, name, _ in lines) == NAMES
    return {name: (mark, found) for mark, name, found in lines}


def doctor(code: int, *arguments: str, **environ: Any) -> Dict[str, Tuple[str, str]]:
    ran = jpq("doctor", *arguments, environ=environment(**environ))
    assert ran.code == code, ran
    return checks(ran)


def test_all_is_well(tmp_path: Any) -> None:
    path = script(tmp_path, 'text = "Hi"')
    found = doctor(0, "-m", f"scripted/{path}")
    assert all(mark == "ok" for mark, _ in found.values())
    assert found["python"][1].endswith(f"({sys.executable})")
    assert found["model"][1] == f"scripted/{path}"
    assert "needs none" in found["key"][1]
    assert "1 replies" in found["endpoint"][1]
    assert os.environ["JPQ_HOME"] in found["store"][1]


def test_nothing_is_configured() -> None:
    found = doctor(1)
    assert found["model"] == ("FAIL", "None is configured. jpq models ls shows what can answer.")
    assert found["key"] == found["endpoint"] == ("-", "not checked")
    assert found["store"][0] == "ok"


def test_a_provider_with_a_key_and_a_server() -> None:
    key = "sk-very-secret-0123"
    with Server(answer("")) as server:
        found = doctor(0, "-m", "openai/gpt", OPENAI_API_KEY=key, OPENAI_BASE_URL=server.url)
        assert server.seen == []
    assert found["key"] == ("ok", "from environment variable OPENAI_API_KEY")
    assert found["endpoint"] == ("ok", f"{server.url} accepts connections")
    assert "secret" not in str(found)


def test_a_key_in_the_other_variable() -> None:
    with Server(answer("")) as server:
        found = doctor(0, "-m", "google/g", GOOGLE_API_KEY="AI-0123", GOOGLE_BASE_URL=server.url)
    assert found["key"] == ("ok", "from environment variable GOOGLE_API_KEY")


def test_no_key_and_no_server() -> None:
    with Server(answer("")) as server:
        url = server.url
    found = doctor(1, "-m", "openai/gpt", OPENAI_BASE_URL=url)
    assert found["key"][0] == found["endpoint"][0] == "FAIL"
    assert "jpq keys set openai" in found["key"][1]
    assert url in found["endpoint"][1] and "refused" in found["endpoint"][1]


def test_a_key_that_cannot_be_right() -> None:
    found = doctor(
        1, "-m", "groq/x", GROQ_API_KEY="\u201csk\u201d", HTTPS_PROXY="http://127.0.0.1:9"
    )
    assert "typographic quote" in found["key"][1]


def test_a_proxy_is_what_is_connected_to() -> None:
    with Server(answer("")) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        environ = {"OPENAI_API_KEY": "sk-x", "HTTPS_PROXY": url, "NO_PROXY": None}
        found = doctor(0, "-m", "openai/gpt", **environ)
    assert f"through the proxy 127.0.0.1:{proxy.port}" in found["endpoint"][1]
    found = doctor(1, "-m", "openai/gpt", **environ)
    assert "the proxy 127.0.0.1" in found["endpoint"][1]


def test_a_model_that_cannot_be() -> None:
    found = doctor(1, "-m", "nosuch/model")
    assert found["model"][0] == "FAIL" and "no provider" in found["model"][1]
    found = doctor(1, "-m", "gpt")
    assert found["settings"][0] == "FAIL" and "PROVIDER/MODEL" in found["settings"][1]


def test_a_script_that_is_missing() -> None:
    found = doctor(1, "-m", "scripted//no/such")
    assert found["endpoint"][0] == "FAIL" and "/no/such" in found["endpoint"][1]


def test_the_embedded_model() -> None:
    found = doctor(1 if engine_obstacle() else 0, "-m", "local/smollm2")
    mark, what = found["endpoint"]
    if engine_obstacle():
        assert mark == "FAIL" and "needs" in what
    else:
        assert mark == "ok" and "93 MB" in what
    found = doctor(1, "-m", "local/llama-9")
    assert "smollm2" in found["endpoint"][1]


def test_a_broken_configuration() -> None:
    home = os.environ["JPQ_HOME"]
    os.makedirs(home)
    path = os.path.join(home, "config.toml")
    with open(path, "w") as file:
        file.write("model = \n")
    found = doctor(1)
    assert found["settings"][0] == "FAIL" and f"{path}:1" in found["settings"][1]
    assert found["model"] == ("-", "not checked")
    with open(path, "w") as file:
        file.write("modle = 'x'\n")
    found = doctor(1)
    assert found["settings"][0] == "ok" and "model?" in found["settings"][1]


def test_a_store_that_cannot_be_written(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("")
    found = doctor(1, JPQ_HOME=str(tmp_path / "file"))
    assert found["store"][0] == "FAIL"
    assert "Not a directory" in found["store"][1] and "JPQ_HOME" in found["store"][1]
