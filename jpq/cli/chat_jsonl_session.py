"""One session of ``jpq chat --format jsonl``: its queue of messages, answered on its own thread."""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple, Union

from jpq.cli.chat_jsonl_lines import Answer as AnswerLine
from jpq.cli.chat_jsonl_lines import BadLine, Fields, Permission, Request, User, output_fields
from jpq.cli.failure import as_error
from jpq.events.turn import ConversationOpened, Result
from jpq.events.usage import Usage, total_usage
from jpq.library.asking import Answer, Approve, PermissionRequest, QuestionRequest
from jpq.library.session import Session
from jpq.turn.ending import Ending, TurnOutcome, of_choice, of_error

OpenSession = Callable[[Approve, Answer], Session]

_GIVEN_UP = "the program that was asked has ended"


class _Message:
    """A message on its way to its ``result``."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.cancelled = threading.Event()


class ChatSession:
    """Answers messages in order. ``write`` takes each line, ``ended`` is called at the end, with
    what went wrong beside the answers, if anything did.

    The methods are for the main thread and wait for nothing. ``open_session`` is called on
    the session's own thread, for the first message, and after the end of the one ``before``.
    """

    def __init__(
        self,
        name: str,
        open_session: OpenSession,
        write: Callable[[Fields], None],
        ended: Callable[[Optional[Exception]], None],
        before: Optional[ChatSession] = None,
    ) -> None:
        self.name = name
        self._before = before
        self._open_session = open_session
        self._write = write
        self._ended = ended
        self._session: Optional[Session] = None
        self._usages: List[Usage] = []
        self._lock = threading.Lock()  # guards what follows
        self._messages: Deque[_Message] = deque()  # the first is being answered
        # Requests and where their answers go, by the id of their call.
        self._waiting: Dict[str, Tuple[Request, queue.SimpleQueue[Any]]] = {}
        self._closing = False
        self._deaf = False  # nobody answers requests any more
        self._wake = threading.Semaphore(0)  # a message, or the end
        self._asked: queue.SimpleQueue[Any] = queue.SimpleQueue()  # for the request of now
        self._thread = threading.Thread(target=self._run, name=f"jpq-session-{name}", daemon=True)
        self._thread.start()

    def ask(self, user: User) -> None:
        """Put a message into the queue."""
        with self._lock:
            self._messages.append(_Message(user))
        self._wake.release()

    def reply(self, line: Union[Permission, AnswerLine]) -> None:
        """Answer a request. Raises BadLine where there is none that the line answers; one that
        waits does so on."""
        with self._lock:
            if line.id not in self._waiting:
                raise BadLine(f"Nothing is asked about {line.id!r}.", self.name)
            request, answer = self._waiting[line.id]
            answer.put(line.reply_to(request))
            del self._waiting[line.id]

    def cancel(self) -> bool:
        """Stop the oldest message that has no result yet; False where there is none."""
        with self._lock:
            if not self._messages:
                return False
            self._messages[0].cancelled.set()
            self._stop_turn()
        return True

    def finish(self) -> None:
        """End when all is answered; requests are refused from now on."""
        with self._lock:
            self._closing = self._deaf = True
            self._refuse_all()
        self._wake.release()

    def stop(self) -> None:
        """End at once, and save what there is."""
        with self._lock:
            for message in self._messages:
                message.cancelled.set()
            self._stop_turn()
        self.finish()

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join()

    def _stop_turn(self) -> None:
        """With the lock, so that the turn is still that of the first message."""
        session = self._session
        if session is not None:
            session.cancel()
        self._refuse_all()

    def _refuse_all(self) -> None:
        while self._waiting:
            self._waiting.popitem()[1][1].put(None)

    # -- on the session's thread -------------------------------------------------------

    def _run(self) -> None:
        fault: Optional[Exception] = None
        try:
            self._answer_all()
        except Exception as error:  # the top of a thread: the main one waits for its end
            fault = error
        self._ended(fault)

    def _answer_all(self) -> None:
        try:
            if self._before is not None:
                self._before.join()
            while True:
                with self._lock:
                    message = self._messages[0] if self._messages else None
                    if message is None and self._closing:
                        return
                if message is None:
                    self._wake.acquire()
                else:
                    self._answer(message)
        finally:
            if self._session is not None:
                self._session.close()

    def _answer(self, message: _Message) -> None:
        """Answer one message: its lines end with a ``result``, whatever happens."""
        told = _Told(self._write, self._answered, self.name, message.user)
        try:
            if message.cancelled.is_set():
                told.end(of_choice(saved=True))
                return
            if self._session is None:
                self._session = self._open_session(self._decide, self._decide)
            user = message.user
            for event in self._session.stream(
                user.text, attachments=user.attachments, schema=user.schema
            ):
                if isinstance(event, (PermissionRequest, QuestionRequest)):
                    self._expect(event, message)
                told.tell(event)
                if message.cancelled.is_set() and not told.over:
                    self._session.cancel()  # it may have come too early for the turn
        except Exception as error:  # the top of a thread: told like any other failure
            if not told.over:
                told.end(of_error(as_error(error)))

    def _answered(self, result: Result) -> Fields:
        """Called before the result is told, so that nothing after it can mean this message;
        what is told beside it."""
        with self._lock:
            self._messages.popleft()
            self._waiting.clear()
        self._usages.append(result.usage)
        return {"session_usage": total_usage(self._usages).to_json()}

    def _expect(self, request: Request, message: _Message) -> None:
        """Before the request is told, so that no answer can be too early."""
        with self._lock:
            self._asked = queue.SimpleQueue()
            self._waiting[request.id] = request, self._asked
            if message.cancelled.is_set() or self._deaf:
                self._asked.put(None)

    def _decide(self, request: Any) -> Any:
        """The answer of the program, which ``_expect`` has made a place for."""
        reply = self._asked.get()
        if reply is None and isinstance(request, PermissionRequest):
            return _GIVEN_UP if self._deaf else False
        return reply


class _Told:
    """The lines of one message's turn. ``ending`` adds to the last one."""

    def __init__(
        self,
        write: Callable[[Fields], None],
        ending: Callable[[Result], Fields],
        session: str,
        user: User,
    ) -> None:
        self._write = write
        self._ending = ending
        self._shared: Fields = {"session": session}
        if user.request is not None:
            self._shared["request"] = user.request
        self._opened = False
        self.over = False  # the result was told

    def tell(self, event: Any) -> None:
        """Write the line of ``event``, if it has one. The first is always ``conversation``."""
        fields = output_fields(event)
        if fields is None:
            return
        if not self._opened and not isinstance(event, ConversationOpened):
            self._opened = True
            self.tell(ConversationOpened(None, ""))
        self._opened = True
        if isinstance(event, Result):
            self.over = True
            fields.update(self._ending(event))
        self._write({**fields, **self._shared})

    def end(self, ending: Ending) -> None:
        """Tell the end of a turn that did not come to its own."""
        for event in TurnOutcome(ending, None, "", Usage(), None).closing(None):
            self.tell(event)
