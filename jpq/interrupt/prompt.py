"""Prompter: the one way to ask the person anything while a turn runs.

It asks on the controlling terminal, never on stdin, while the renderer rests.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Callable, ContextManager, Iterator, Mapping, Optional, Sequence

from jpq.errors import BadInputError, UsageError
from jpq.terminal.tty import PASTE, PASTE_END, Terminal

_ENDS_INPUT = "\x04"  # Ctrl+D, where single keys are read
_ESCAPE = "\x1b"
# Lines that follow each other sooner than anybody types are pasted.
_BURST_S = 0.03


class NobodyAnswers(Exception):
    """The terminal is gone: it cannot be opened, was hung up, or its input ended."""


class TerminalStuck(NobodyAnswers):
    """The terminal takes nothing: it is stopped, or nobody reads from it."""


class PromptLeft(Exception):
    """``meanwhile`` found something that comes before the question, such as a signal."""


class Prompter:
    """Opens dialogues, one at a time. Main thread.

    ``lease`` makes the renderer rest, and its value says whether it does by now. ``clean``
    takes from a text what could drive the terminal, and is applied to everything that is
    shown here. ``environ`` names the editor.
    """

    def __init__(
        self,
        lease: Callable[[], ContextManager[Callable[[], bool]]],
        clean: Callable[[str], str],
        environ: Mapping[str, str],
        open_terminal: Callable[[], Terminal] = Terminal.open,
    ) -> None:
        self._lease = lease
        self._clean = clean
        self._environ = environ
        self._open_terminal = open_terminal
        # Elsewhere a line stays: it would be read out, or shown as garbage.
        dumb = environ.get("TERM", "dumb") == "dumb"
        self._can_erase = not dumb and not environ.get("ACCESSIBLE")

    @contextlib.contextmanager
    def dialogue(self, meanwhile: Callable[[], None]) -> Iterator[Dialogue]:
        """A dialogue that owns the terminal until the end of the ``with``.

        ``meanwhile`` is called several times a second while the person thinks; what it
        raises (PromptLeft) ends the wait. Raises NobodyAnswers.
        """
        with self._lease() as rests:
            try:
                terminal = self._open_terminal()
            except OSError as error:
                raise NobodyAnswers("there is no terminal") from error
            with terminal:
                terminal.meanwhile = _mending(rests, terminal, meanwhile)
                dialogue = Dialogue(terminal, self._clean, self._environ, self._can_erase, rests)
                with dialogue.marked_pastes():
                    yield dialogue


class Dialogue:
    """One exchange with the person. Only within ``Prompter.dialogue``.

    Every method raises NobodyAnswers when the terminal is gone. What was typed before a
    question is shown does not answer it.
    """

    def __init__(
        self,
        terminal: Terminal,
        clean: Callable[[str], str],
        environ: Mapping[str, str],
        can_erase: bool = False,
        rests: Callable[[], bool] = lambda: True,
    ) -> None:
        self._terminal = terminal
        self._clean = clean
        self._environ = environ
        self._can_erase = can_erase
        self._rests = rests

    @contextlib.contextmanager
    def marked_pastes(self) -> Iterator[None]:
        """Until the end of the ``with`` a pasted text can be told from keys, where the terminal
        can do that."""
        if not self._can_erase:
            yield
            return
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(self._terminal.marked_pastes())
            except OSError as error:
                raise _nobody(error) from error
            yield

    def say(self, text: str) -> None:
        """Show a text, on lines of its own."""
        self._write(self._clean(text).rstrip("\n") + "\n")

    def choose(self, question: str, keys: Sequence[str], otherwise: str) -> str:
        """Ask until one of ``keys`` is pressed; it needs no Enter, and case does not matter.

        Ctrl+D and Escape mean ``otherwise``, the answer that does least.
        """
        with self.passing(question, keys, otherwise, erase=False) as key:
            return key

    @contextlib.contextmanager
    def passing(
        self, question: str, keys: Sequence[str], otherwise: str, *, erase: bool = True
    ) -> Iterator[str]:
        """Ask as ``choose`` does. The question leaves no trace, where a terminal can do that,
        after the end of the ``with``."""
        erase = erase and self._can_erase
        try:
            with self._terminal.by_key():
                if erase and self._rests():
                    self._terminal.erase_line()  # the ^C that the terminal has shown
                elif erase:
                    self._write("\n")  # the line is still the renderer's, with text on it
                self._ask(question)
                key = self._one_of(keys, otherwise)
                if not erase:  # before the terminal shows by itself what is typed next
                    self._end_question(key, erase)
        except PromptLeft:
            self._end_question("", erase)
            raise
        except OSError as error:
            raise _nobody(error) from error
        yield key
        if erase:
            self._end_question(key, erase)

    def _one_of(self, keys: Sequence[str], otherwise: str) -> str:
        while True:
            key = self._key()
            if key == PASTE:
                self._pasted()  # whoever pastes a text does not mean its first letter
            if key in (_ENDS_INPUT, _ESCAPE):
                key = otherwise
            if key.lower() in keys:
                return key.lower()

    def _key(self) -> str:
        key = self._terminal.read_key()
        if key is None:
            self._write("\n")
            raise NobodyAnswers("the terminal's input ended")
        return key

    def _pasted(self) -> str:
        """The pasted text that has begun."""
        keys = []
        while (key := self._key()) != PASTE_END:
            keys.append(key)
        return "".join(keys).replace("\r\n", "\n").replace("\r", "\n")

    def line(self, question: str) -> Optional[str]:
        """Ask for a line; None for Ctrl+D. A pasted text may make it several lines."""
        if self._can_erase:
            return self._line_by_key(question)
        self._ask(question)
        line = self._terminal.read_line()
        if line is None:
            self._write("\n")
            return None
        while self._terminal.follows(_BURST_S):
            more = self._terminal.read_line()
            if more is None:
                break
            line += "\n" + more
        return line

    def _line_by_key(self, question: str) -> Optional[str]:
        # Most prompts ask for a key.
        typed_line = importlib.import_module("jpq.interrupt.typed_line")
        try:
            with self._terminal.by_key():
                self._ask(question)
                line = typed_line.TypedLine(self._clean(question).rstrip() + " ", self._terminal)
                while not line.ended:
                    key = self._key()
                    if key == PASTE:
                        line.insert(self._pasted())
                    else:
                        line.press(key)
        except OSError as error:
            raise _nobody(error) from error
        text: Optional[str] = line.text
        return text

    def edit(self, text: str, suffix: str) -> Optional[str]:
        """``text`` as the person edited it; None where that failed, which is told."""
        # It starts programs, which most runs never do.
        editor = importlib.import_module("jpq.terminal.editor")
        try:
            command = editor.editor_command(self._environ)
            if command is None:
                self.say("There is no editor: set VISUAL or EDITOR.")
                return None
            meanwhile = self._terminal.meanwhile or (lambda: None)
            with self._terminal.saved_modes():
                return str(editor.edit_text(text, suffix, command, meanwhile))
        except (BadInputError, UsageError) as error:
            self.say(f"{error.message} {error.hint}")
            return None

    def _end_question(self, key: str, erase: bool) -> None:
        if not erase:
            self._write(key + "\n")
            return
        try:
            self._terminal.erase_line()
        except OSError as error:
            raise _nobody(error) from error

    def _ask(self, question: str) -> None:
        self._terminal.drop_typed_ahead()
        self._write(self._clean(question).rstrip() + " ")

    def _write(self, text: str) -> None:
        try:
            self._terminal.write(text)
        except OSError as error:
            raise _nobody(error) from error


def _mending(
    rests: Callable[[], bool], terminal: Terminal, meanwhile: Callable[[], None]
) -> Callable[[], None]:
    """``meanwhile``, which shows the question again where the renderer did not rest in time and
    may have written over it."""
    if rests():
        return meanwhile
    mended = False

    def mend_once() -> None:
        nonlocal mended
        if not mended and rests():
            mended = True
            terminal.show_line_anew()
        meanwhile()

    return mend_once


def _nobody(error: OSError) -> NobodyAnswers:
    if isinstance(error, TimeoutError):
        return TerminalStuck("the terminal takes nothing")
    return NobodyAnswers("the terminal is gone")
