"""Messages: what the person types, or what a pipe holds, one message after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Callable, Optional

from jpq.cli.chat.message import Composer
from jpq.cli.chat.signals import Pressed, PromptSignals
from jpq.cli.chat.voice import Voice
from jpq.errors import BadInputError
from jpq.terminal.line_editor import LineEditor

if TYPE_CHECKING:
    from jpq.cli.chat.history import History

_LONGEST_BYTES = 100 << 20  # of a line of a pipe; /dev/zero is one without end
_HOW_TO_LEAVE = "Ctrl+D leaves the chat."
_CLEARED = "The line is cleared. Ctrl+D leaves the chat."


class PipedMessages:
    """The lines of a pipe or a file. Main thread."""

    def __init__(self, stdin: Optional[BinaryIO], tell: Callable[[str], None]) -> None:
        self._stdin = stdin
        self._tell: Optional[Callable[[str], None]] = tell  # until it was told
        self._composer = Composer()

    def next(self) -> Optional[str]:
        """The next message that is not blank; None at the end. Raises BadInputError."""
        while True:
            line = b"" if self._stdin is None else self._stdin.readline(_LONGEST_BYTES)
            if len(line) == _LONGEST_BYTES:
                most = f"{_LONGEST_BYTES >> 20} MiB"
                raise BadInputError(f"A line of stdin is longer than {most}, which no model takes.")
            text = self._composer.end() if not line else self._composer.feed(self._decoded(line))
            if text is not None and text.strip():
                return text
            if not line:
                return None

    def remember(self, text: str) -> None:
        """Nothing: there are no arrow keys."""

    def _decoded(self, line: bytes) -> str:
        text = line.decode("utf-8", "replace")
        if self._tell is not None and "\ufffd" in text and "\ufffd".encode() not in line:
            self._tell("stdin holds bytes that are not UTF-8; they are sent as U+FFFD.")
            self._tell = None
        return text.rstrip("\r\n")


class TypedMessages:
    """What is typed at the prompt. Main thread, while the renderer rests."""

    def __init__(
        self,
        editor: LineEditor,
        voice: Voice,
        signals: PromptSignals,
        history: Optional[History],
    ) -> None:
        self._editor = editor
        self._voice = voice
        self._signals = signals
        self._history = history
        self._composer = Composer()
        for entry in history.load() if history is not None else ():
            editor.remember(entry)

    def next(self) -> Optional[str]:
        """The next message that is not blank; None when the person leaves."""
        while True:
            prompt = self._voice.more if self._composer.is_open else self._voice.prompt
            try:
                with self._signals.prompt():
                    line = self._editor.read(prompt)
            except Pressed as pressed:
                self._clear(pressed)
                continue
            if line is None and not self._composer.is_open:
                return None
            text = self._composer.end() if line is None else self._composer.feed(line)
            if text is not None and text.strip():
                self.remember(text)
                return text

    def remember(self, text: str) -> None:
        """Have ``text`` found with the arrow keys, now and in later chats here."""
        self._editor.remember(text)
        if self._history is not None:
            self._history.add(text)

    def _clear(self, pressed: Pressed) -> None:
        """Drop what was typed; what filled several lines can be had again."""
        composed = self._composer.end()
        if composed:
            self._editor.remember(composed + "\n" + (pressed.typed or ""))
        self._voice.write("\n")
        if pressed.typed is None and not composed:
            self._voice.mention(_CLEARED)
        elif not pressed.typed and not composed:
            self._voice.mention(_HOW_TO_LEAVE)
