"""``jpq chat --format jsonl``: another program drives it, with JSON Lines both ways.

stdin ─▶ reader ─▶ main ─▶ a session's thread ─▶ writer ─▶ stdout
"""

from __future__ import annotations

import argparse
import gc
import threading
from typing import Any, BinaryIO, Callable, Dict, Optional, Tuple

from jpq.cli.chat_jsonl_lines import (
    MAIN,
    BadLine,
    Cancel,
    Close,
    Fields,
    Line,
    Open,
    User,
    parse_line,
)
from jpq.cli.chat_jsonl_output import LineWriter, OutputFailed
from jpq.cli.chat_jsonl_session import ChatSession
from jpq.cli.chat_jsonl_setup import SessionOptions
from jpq.cli.environment import Environment
from jpq.cli.failure import tell_error
from jpq.cli.log import RunLog, run_log
from jpq.cli.prompt_text import joined_words
from jpq.errors import JpqError
from jpq.interrupt.signals import Interrupt, SignalRouter, end_by_signal
from jpq.named import NamedTuple
from jpq.turn.ending import of_display
from jpq.turn.inbox import Inbox

_FLUSH_POLL_S = 0.1
_LONGEST_LINE_BYTES = 100 << 20
# How long a reader may take over what is left to write when a signal ends the run.
_LAST_WORDS_S = 0.3


class _Read(NamedTuple):
    """A line of stdin; None at its end."""

    line: Optional[bytes]


class _Ended(NamedTuple):
    """A session's thread has nothing left to do; ``fault`` is what it could not tell."""

    session: ChatSession
    fault: Optional[Exception]


def run(args: argparse.Namespace, env: Environment) -> int:
    """Talk until stdin ends and all is answered; the exit code. Ends the process by the signal
    that ended it. Raises JpqError for options that cannot be used."""
    gc.enable()  # unlike a command, a chat lives for long
    options = SessionOptions(args, env)
    inbox = Inbox()
    with run_log(args, env) as log:
        with SignalRouter(inbox.post):
            talk = JsonChat(options, inbox, LineWriter(env.stdout, inbox.post), log)
            talk.begin(env.stdin, joined_words(args.words, env.notice), args.attach)
            code, signum = talk.serve()
        if talk.error is not None:
            tell_error(env, talk.error)
    if signum is not None:
        end_by_signal(signum)
    return code


class JsonChat:
    """Hands lines to sessions, which are opened when they are first used. Main thread."""

    def __init__(
        self, options: SessionOptions, inbox: Inbox, writer: LineWriter, log: RunLog
    ) -> None:
        self._options = options
        self._inbox = inbox
        self._writer = writer
        self._log = log
        self._sessions: Dict[str, ChatSession] = {}
        self._ending: Dict[ChatSession, None] = {}  # closed, but not at their end yet
        self._openings: Dict[str, Open] = {}
        self.error: Optional[JpqError] = None  # what the person is to be told
        self._code = 0
        self._signum: Optional[int] = None

    def begin(self, stdin: Optional[BinaryIO], words: str, attachments: Any) -> None:
        """Ask what the command line does, and read what follows."""
        if words.strip() or attachments:
            self._take(User(MAIN, words, attachments))
        read = threading.Thread(
            target=_read_lines, args=(stdin, self._inbox.post), name="jpq-stdin", daemon=True
        )
        read.start()

    def serve(self) -> Tuple[int, Optional[int]]:
        """Deal with what comes until the end: the exit code, and the signal to end by."""
        going = True
        while going:
            item = self._inbox.take()
            if isinstance(item, _Read):
                going = item.line is not None
                self._take_data(item.line or b"")
            else:
                going = self._attend(item)
        for session in list(self._sessions.values()):
            self._close(session)
        while self._ending:
            self._attend(self._inbox.take())
        self._flush()
        return self._code, self._signum

    def _attend(self, item: Any) -> bool:
        """Deal with what is no line; False when it ends all."""
        if isinstance(item, _Ended):
            item.session.join()
            self._ending.pop(item.session, None)
            if item.fault is not None:
                self._log.failure(item.fault)
            return True
        if isinstance(item, Interrupt):
            self._signum = item.signum
        elif isinstance(item, OutputFailed):
            ending = of_display(item.error)
            self._code, self.error = ending.exit_code, ending.error
        for session in (*self._sessions.values(), *self._ending):
            session.stop()
        return False

    def _flush(self) -> None:
        """Wait until all is written, however slow its reader is; a signal ends the wait."""
        if self._signum is not None:
            self._writer.flush(_LAST_WORDS_S)
            return
        while not self._writer.flush(_FLUSH_POLL_S):
            item = self._inbox.take_ready()
            if isinstance(item, Interrupt):
                self._signum = item.signum
                return

    def _take_data(self, data: bytes) -> None:
        if not data.strip():
            return
        try:
            self._take(parse_line(data))
        except BadLine as error:
            self._complain(str(error), error.session)

    def _take(self, line: Line) -> None:
        if isinstance(line, Open):
            self._open(line)
            return
        session = self._sessions.get(line.session)
        if isinstance(line, User):
            (session or self._begin(line.session)).ask(line)
        elif session is None:
            self._complain(f"There is no session {line.session!r} yet.", line.session)
        elif isinstance(line, Cancel):
            if not session.cancel():
                self._complain("There is nothing to cancel.", line.session)
        elif isinstance(line, Close):
            self._close(session)
        else:
            session.reply(line)

    def _open(self, line: Open) -> None:
        if line.session in self._sessions:
            self._complain(f"The session {line.session!r} is open already.", line.session)
        else:
            self._openings[line.session] = line

    def _begin(self, name: str) -> ChatSession:
        opening = self._openings.pop(name, None) or Open(name)
        first = name == MAIN

        def ended(fault: Optional[Exception]) -> None:
            self._inbox.post(_Ended(session, fault))

        session = ChatSession(
            name,
            lambda approve, answer: self._options.open(opening, first, approve, answer),
            self._write,
            ended,
            before=next((each for each in self._ending if each.name == name), None),
        )
        self._sessions[name] = session
        return session

    def _write(self, fields: Fields) -> None:
        """Write a line, and log how turns end. Any thread."""
        session = fields.get("session")
        if fields["type"] == "error":
            self._log.info("session %s failed: %s: %s", session, fields["kind"], fields["message"])
        elif fields["type"] == "result":
            self._log.info("session %s: %s, %s", session, fields["status"], fields["usage"])
        self._writer.write(fields)

    def _close(self, session: ChatSession) -> None:
        del self._sessions[session.name]
        self._ending[session] = None
        session.finish()

    def _complain(self, message: str, session: Optional[str]) -> None:
        fields: Fields = {
            "type": "error",
            "kind": "bad_line",
            "message": message,
            "where": "stdin",
            "hint": "docs/events.md lists the lines.",
        }
        self._write(fields if session is None else {**fields, "session": session})


def _read_lines(stdin: Optional[BinaryIO], post: Callable[[Any], None]) -> None:
    """The body of the reader thread. What cannot be read is the end; a line that is longer than
    any model takes comes in pieces, of which none is JSON."""
    try:
        while stdin is not None:
            line = stdin.readline(_LONGEST_LINE_BYTES)
            if not line:
                break
            post(_Read(line))
    except (OSError, ValueError):
        pass
    post(_Read(None))
