"""``jpq doctor`` as a person runs it: one line a check, and what to do where one fails."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, Dict, Tuple

import pytest

from jpq.provider.local_engine import engine_obstacle
from tests.support.programs import Ran, environment, jpq, script
from tests.support.server import Pause, Server, answer, error, head, refusing

NAMES = ("python", "terminal", "settings", "model", "key", "endpoint", "access", "store")


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
    assert found["key"] == found["endpoint"] == found["access"] == ("-", "not checked")
    assert found["store"][0] == "ok"


def test_a_provider_with_a_key_and_a_server() -> None:
    key = "sk-very-secret-0123"
    with Server(answer("")) as server:
        found = doctor(0, "-m", "openai/gpt", OPENAI_API_KEY=key, OPENAI_BASE_URL=server.url)
        (seen,) = server.seen
    assert (seen.method, seen.body) == ("GET", b"") and seen.path.endswith("/models")
    assert found["access"][0] == "-" and "not a list" in found["access"][1]
    assert found["key"] == ("ok", "from environment variable OPENAI_API_KEY")
    assert found["endpoint"] == ("ok", f"{server.url} accepts connections")
    assert "secret" not in str(found)


def test_a_key_in_the_other_variable() -> None:
    with Server(answer("")) as server:
        found = doctor(0, "-m", "google/g", GOOGLE_API_KEY="AI-0123", GOOGLE_BASE_URL=server.url)
    assert found["key"] == ("ok", "from environment variable GOOGLE_API_KEY")


def test_no_key_and_no_server() -> None:
    with refusing() as port:
        url = f"http://127.0.0.1:{port}/v1"
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
        found = doctor(1, "-m", "openai/gpt", **environ)
    assert found["endpoint"][0] == "ok" and found["access"][0] == "FAIL"
    assert f"through the proxy 127.0.0.1:{proxy.port}" in found["endpoint"][1]
    with refusing() as port:
        environ["HTTPS_PROXY"] = f"http://127.0.0.1:{port}"
        found = doctor(1, "-m", "openai/gpt", **environ)
    assert found["endpoint"][0] == "FAIL"
    assert f"the proxy 127.0.0.1:{port}" in found["endpoint"][1]


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


def test_a_configuration_that_is_not_there() -> None:
    path = os.path.join(os.environ["JPQ_HOME"], "config.toml")
    assert doctor(1)["settings"] == ("ok", f"the defaults; there is no {path} yet")
    os.makedirs(os.environ["JPQ_HOME"])
    with open(path, "w"):
        pass
    assert doctor(1)["settings"] == ("ok", path)


def test_a_store_that_cannot_be_written(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("")
    found = doctor(1, JPQ_HOME=str(tmp_path / "file"))
    assert found["store"][0] == "FAIL"
    assert "Not a directory" in found["store"][1] and "JPQ_HOME" in found["store"][1]


MODELS = b'{"data": [{"id": "gpt"}, {"id": "other"}]}'
KEY = "sk-very-secret-0123"


@pytest.mark.parametrize(
    "reply,mark,words",
    [
        (error("200 OK", MODELS), "ok", "takes the key and lists 2 models, gpt among them"),
        (error("200 OK", b'{"data": []}'), "ok", "0 models, gpt not among them"),
        (error("401 Unauthorized", b'{"error": {"message": "bad key"}}'), "FAIL", "refuses"),
        (error("403 Forbidden", b"no"), "FAIL", "refuses the key"),
        (error("404 Not Found", b"none"), "-", "not checked"),
        (error("500 Internal Server Error", b"oh"), "FAIL", "does not answer"),
        ([head()], "FAIL", "does not answer"),
        (
            error("200 OK", b"<title>Log in</title>", "text/html"),
            "FAIL",
            'web page, and no API: "Log',
        ),
        ([b"SSH-2.0-Server\r\n"], "FAIL", "is not HTTP. Check the port in base_url."),
    ],
    ids=["takes", "lists nothing", "401", "403", "404", "500", "cut", "web page", "not HTTP"],
)
def test_the_provider_is_asked_whether_it_takes_the_key(reply: Any, mark: str, words: str) -> None:
    with Server(reply) as server:
        environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
        found = doctor(1 if mark == "FAIL" else 0, "-m", "openai/gpt", **environ)
        assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert found["access"][0] == mark and words in found["access"][1], found
    assert "secret" not in str(found)


def test_a_provider_that_does_not_answer_is_given_up() -> None:
    over = threading.Event()
    with Server([Pause(over, 60)]) as server:
        found = doctor(1, "-m", "openai/gpt", OPENAI_API_KEY=KEY, OPENAI_BASE_URL=server.url)
        over.set()
    assert found["access"][0] == "FAIL" and "does not answer" in found["access"][1]


def test_a_provider_without_a_key_is_asked_too() -> None:
    with Server(error("200 OK", b'{"models": [{"name": "llama3:8b"}]}')) as server:
        found = doctor(0, "-m", "ollama/llama3", OLLAMA_HOST=server.url[: -len("/v1")])
    assert "needs no key and lists 1 model, llama3 among them" in found["access"][1]
