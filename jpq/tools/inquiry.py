"""``jpq ask``: a running tool, in any language, asks the person and waits for the answer.

The tool finds an address in ``JPQ_INQUIRY``. Behind it is a socket of this user only, a
secret that both ends prove to know, and a word that says which call is asking. What is
sent is JSON, one message each way; nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import multiprocessing.connection as connection
import os
import secrets
import threading
from typing import Any, Callable, Dict, List, Optional

from jpq.events import json_depth
from jpq.tools.definition import Question, QuestionFailed
from jpq.tools.run_folder import FolderOfRun

KINDS = ("text", "yes_no", "choice")

_PREFIX = "jpq-ask-"
_MESSAGE_LIMIT = 65536
_JOIN_S = 0.5
_KNOCK_S = 2.0
_TEXT_LIMIT = 4000
_CHOICES_LIMIT = 50


class InquiryServer:
    """Takes questions of running tools. Made and closed on the main thread.

    ``ask(call, question)`` runs on a thread of the question's own; it blocks until there is
    an answer, or raises QuestionFailed.
    """

    def __init__(self, ask: Callable[[str, Question], str]) -> None:
        self._ask = ask
        self._secret = secrets.token_bytes(16)
        self._words_key = secrets.token_bytes(16)  # which no tool is given
        self._calls: Dict[str, str] = {}
        self._closed = False
        self._folder = FolderOfRun(_PREFIX)
        try:
            self._listener = connection.Listener(self._path(), authkey=self._secret)
        except BaseException:
            self._folder.remove()
            raise
        self._thread = threading.Thread(target=self._accept, name="jpq-inquiry", daemon=True)
        self._thread.start()

    def address(self, call: str) -> str:
        """The value of ``JPQ_INQUIRY`` for one call."""
        # Derived, as asking the system for randomness takes longer than starting a thread.
        word = hashlib.blake2s(call.encode(), key=self._words_key, digest_size=8).hexdigest()
        self._calls[word] = call
        return f"{self._secret.hex()}:{word}:{self._listener.address}"

    def close(self) -> None:
        """Take no more questions."""
        self._closed = True
        # A blocked accept ends with a connection, and that could block as well.
        address = self._listener.address
        knocks = threading.Thread(target=_knock, args=(address,), daemon=True)
        knocks.start()
        knocks.join(_KNOCK_S)  # where nobody listens any more, accept would be blocked for ever
        self._thread.join(_JOIN_S)
        self._listener.close()
        self._folder.remove()

    def _path(self) -> Optional[str]:
        # None lets Windows choose the name of a pipe.
        return None if os.name == "nt" else os.path.join(self._folder.path, "ask")

    def _accept(self) -> None:
        while not self._closed:
            try:
                client = self._listener.accept()
            except (OSError, EOFError, multiprocessing.AuthenticationError):
                continue  # not one of ours, or gone again
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: Any) -> None:
        with client, contextlib.suppress(OSError, EOFError):
            try:
                message = json_depth.loads(client.recv_bytes(_MESSAGE_LIMIT))
                call = self._calls[message["call"]]
                reply: Dict[str, Any] = {"answer": self._ask(call, _question(message))}
            except QuestionFailed as failure:
                reply = {"failed": str(failure), "late": failure.late}
            except (ValueError, KeyError, TypeError):
                reply = {"failed": "the question cannot be understood"}
            client.send_bytes(json.dumps(reply).encode())


def _knock(address: Any) -> None:
    with contextlib.suppress(OSError):
        connection.Client(address).close()


def put_question(address: str, question: Question) -> str:
    """Ask from within a tool: the answer. Blocks. Raises QuestionFailed."""
    secret, word, path = _parts(address)
    message = {"call": word, **question._asdict()}
    try:
        with connection.Client(path, authkey=secret) as server:
            server.send_bytes(json.dumps(message).encode())
            reply = json_depth.loads(server.recv_bytes(_MESSAGE_LIMIT))
    except (OSError, EOFError, ValueError, multiprocessing.AuthenticationError) as error:
        raise QuestionFailed("jpq no longer waits for this tool") from error
    if "failed" in reply:
        raise QuestionFailed(str(reply["failed"]), late=bool(reply.get("late")))
    return str(reply["answer"])


def _parts(address: str) -> Any:
    secret, _, rest = address.partition(":")
    word, _, path = rest.partition(":")
    try:
        return bytes.fromhex(secret), word, path
    except ValueError:
        raise QuestionFailed("JPQ_INQUIRY holds no address") from None


def _question(message: Dict[str, Any]) -> Question:
    """The question in a message. Raises ValueError, KeyError or TypeError."""
    kind = message["kind"]
    choices: List[str] = [str(choice) for choice in message["choices"][:_CHOICES_LIMIT]]
    timeout_s = message["timeout_s"]
    if kind not in KINDS or (kind == "choice" and not choices):
        raise ValueError(kind)
    return Question(
        text=str(message["text"])[:_TEXT_LIMIT],
        kind=kind,
        choices=tuple(choices),
        timeout_s=None if timeout_s is None else max(0.0, float(timeout_s)),
    )
