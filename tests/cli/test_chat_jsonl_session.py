"""A session of a driven chat comes to its end, whatever breaks."""

from __future__ import annotations

import queue
from typing import Any, Dict, List

from jpq.cli.chat_jsonl_lines import User
from jpq.cli.chat_jsonl_session import ChatSession
from jpq.events.turn import Result
from jpq.events.usage import Usage

WAIT_S = 15.0


class _Session:
    """Answers with a result, and cannot be closed."""

    def stream(self, text: Any, **more: Any) -> List[Any]:
        return [Result("complete", "Hi.", "stop", Usage(), None, 0)]

    def cancel(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        raise OSError("the disk is gone")


def test_a_session_that_cannot_be_closed_is_over_all_the_same() -> None:
    ends: queue.SimpleQueue[Any] = queue.SimpleQueue()
    lines: List[Dict[str, Any]] = []
    made: Any = _Session()
    session = ChatSession("main", lambda approve, answer: made, lines.append, ends.put)
    session.ask(User("main", "Hello"))
    session.finish()
    fault = ends.get(timeout=WAIT_S)
    session.join()
    assert isinstance(fault, OSError)
    assert [line["type"] for line in lines] == ["conversation", "result"]
