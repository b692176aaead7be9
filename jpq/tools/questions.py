"""Questions that running tools ask: posted by their threads, answered on the main thread."""

from __future__ import annotations

import queue
from typing import Any, Callable, List, Optional, Tuple

from jpq.interrupt.cancel import CancelToken
from jpq.named import NamedTuple
from jpq.tools.definition import Question, QuestionFailed


class Asked:
    """One question. The tool's thread waits in ``wait``; the main thread settles it once."""

    def __init__(self, id: str, run: int, question: Question) -> None:
        self.id = id  # of the call
        self.run = run
        self.question = question
        self._reply: queue.SimpleQueue[Tuple[bool, str]] = queue.SimpleQueue()

    def answer(self, text: str) -> None:
        """This is the answer. Any thread."""
        self._reply.put((True, text))

    def fail(self, reason: str) -> None:
        """There is none. Any thread."""
        self._reply.put((False, reason))

    def settle(self, answer: Optional[str]) -> None:
        """What the person said; None is no answer."""
        if answer is None:
            self.fail("the person gave no answer")
        else:
            self.answer(answer)

    def wait(self, token: CancelToken) -> str:
        """The answer. Raises QuestionFailed, also when ``token`` is cancelled."""
        with token.calling(lambda: self.fail("the call was cancelled")):
            try:
                answered, text = self._reply.get(timeout=self.question.timeout_s)
            except queue.Empty:
                seconds = self.question.timeout_s
                late = f"nobody answered within {seconds:g} s"
                raise QuestionFailed(late, late=True) from None
        if not answered:
            raise QuestionFailed(text)
        return text


class TakenBack(NamedTuple):
    """Posted when nobody waits for the answer any more."""

    asked: Asked


class Questions:
    """The questions that wait for the person, oldest first. Main thread."""

    def __init__(self) -> None:
        self._open: List[Asked] = []

    def __contains__(self, asked: Asked) -> bool:
        return asked in self._open

    def add(self, asked: Asked) -> None:
        """It is to be asked."""
        self._open.append(asked)

    def remove(self, asked: Asked) -> None:
        """It is settled."""
        self._open.remove(asked)

    def of(self, id: str) -> Optional[Asked]:
        """The first question of the call ``id``."""
        return next((asked for asked in self._open if asked.id == id), None)

    def drop(self, id: str) -> None:
        """The call ``id`` asks nothing any more."""
        self._open = [asked for asked in self._open if asked.id != id]

    def all(self) -> Tuple[Asked, ...]:
        """Every one."""
        return tuple(self._open)


def put(
    asked: Asked, token: CancelToken, post: Callable[[Any], None], busy: Callable[[bool], None]
) -> str:
    """Ask from a tool's thread: the answer. ``busy`` is told when the person is thinking.

    Raises QuestionFailed.
    """
    busy(True)
    try:
        post(asked)
        return asked.wait(token)
    finally:
        busy(False)
        post(TakenBack(asked))
