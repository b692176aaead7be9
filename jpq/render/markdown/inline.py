"""InlineText: the text of one paragraph or heading, written as soon as it is certain."""

from __future__ import annotations

import re
from typing import Optional, Protocol

from jpq.render.markdown.flow import GAP
from jpq.render.markdown.held import HELD_BOUND, Held
from jpq.render.markdown.references import References
from jpq.render.markdown.spans import HARD_BREAK, SOFT_BREAK, TEXT, Span
from jpq.render.theme import CODE, PLAIN

# Text without a meaning, up to its last character that is no blank.
_PLAIN = re.compile(r"[^\\`*_~\[!<&\n]*[^\\`*_~\[!<&\n \t]")
_BLANKS = re.compile(r"[ \t]+")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

_SOFT = Span(SOFT_BREAK, "\n")
_HARD = Span(HARD_BREAK, "\n")


class Writer(Protocol):
    """Takes what is certain."""

    def write(self, text: str, style: int) -> None:
        """Text without a link."""

    def write_span(self, span: Span) -> None:
        """Anything."""

    def end_word(self) -> None:
        """A blank follows, or the end."""


class InlineText:
    """Raw text in, spans out."""

    def __init__(self, writer: Writer, references: References) -> None:
        self._writer = writer
        self._references = references
        self._text = ""  # not looked at, or a beginning that needs its next character
        self._held: Optional[Held] = None
        self._before = ""
        self._is_whole = False

    def feed(self, text: str) -> None:
        """The next piece; its lines are separated by line ends."""
        if self._held is None:
            self._text = self._text + text if self._text else text
        else:
            self._held.text += text
        self._advance()

    def end(self) -> bool:
        """The block is over: write the rest. False if it waits for a link's definition.

        Then it is to be called again when there is one, or after ``release``.
        """
        self._is_whole = True
        if self._held is not None:
            self._held.is_whole = True
            self._held.awaits = ""
            self._advance()
        if self.awaits_definition:
            return False
        if self._held is not None:
            for span in _without_last_blanks(self._held.rest()):
                self._writer.write_span(span)
        else:
            self._write(self._text.rstrip(" \t\n"))
        self._held = None
        self._text = ""
        return True

    @property
    def holds(self) -> bool:
        """Whether there is text that is not decided."""
        return self._held is not None

    @property
    def awaits_definition(self) -> bool:
        """Whether that is because a link may yet be defined."""
        return self._held is not None and bool(self._held.awaits)

    def look_again(self) -> None:
        """Links were defined."""
        if self._held is not None:
            self._held.awaits = ""
            self._advance()

    def release(self) -> None:
        """Take what is held for text."""
        if self._held is not None and self._held.awaits:
            self._held.wait_no_more()
            self._advance()
        while self._held is not None:
            self._leave_held(self._held.as_text().length)
            self._advance()

    def _advance(self) -> None:
        while True:
            if self._held is not None:
                decided = self._held.decide()
                if decided is None:
                    return
                if decided.spans is None:
                    self._leave_held(decided.length)
                else:
                    self._leave_held(decided.length, decided.spans)
            if not self._plain():
                return

    def _leave_held(self, length: int, spans: Optional[list[Span]] = None) -> None:
        assert self._held is not None
        text, self._held = self._held.text, None
        if spans is None:
            self._write(text[:length])
        else:
            for span in spans:
                self._writer.write_span(span)
        self._before = text[length - 1]
        self._text = text[length:]

    def _plain(self) -> bool:
        """Write plain text up to the first mark; whether there is one, which is then held."""
        text, at, end = self._text, 0, len(self._text)
        while at < end:
            found = _PLAIN.match(text, at)
            if found is not None:
                self._write(found.group())
                at = found.end()
                continue
            char = text[at]
            if char in " \t":
                after = self._blanks(text, at)
            elif char == "\n":
                self._writer.write_span(_SOFT)
                after = at + 1
            elif char == "\\":
                after = self._escape(text, at)
            elif char == "!" and text[at + 1 : at + 2] != "[":
                after = at + 1 if at + 1 < end else at
                self._write(text[at:after])
            else:
                self._before = text[at - 1] if at else self._before
                self._held = Held(self._references, self._before)
                self._held.text = text[at:]
                self._held.is_whole = self._is_whole
                self._text = ""
                return True
            if after == at:
                break
            at = after
        if at:
            self._before = text[at - 1]
            self._text = self._text[at:]
        return False

    def _blanks(self, text: str, at: int) -> int:
        found = _BLANKS.match(text, at)
        assert found is not None
        end = found.end()
        if end == len(text):
            self._writer.end_word()
            if end - at > 2 * GAP:  # the last two tell whether a line end is a hard one
                self._text = text[: at + GAP] + text[-2:]
            return at
        if text[end] == "\n":
            self._writer.write_span(_HARD if found.group().endswith("  ") else _SOFT)
            return end + 1
        self._write(found.group())
        return end

    def _escape(self, text: str, at: int) -> int:
        following = text[at + 1 : at + 2]
        if not following:
            return at
        if following == "\n":
            self._writer.write_span(_HARD)
        elif following in _PUNCTUATION:
            self._write(following)
        else:
            self._write("\\")
            return at + 1
        return at + 2

    def _write(self, text: str) -> None:
        if text:
            self._writer.write(text, PLAIN)


def _without_last_blanks(spans: list[Span]) -> list[Span]:
    while spans and (spans[-1].kind in (SOFT_BREAK, HARD_BREAK) or _is_blank(spans[-1])):
        spans.pop()
    if spans and spans[-1].kind == TEXT and not spans[-1].style & CODE:
        last = spans[-1]
        spans[-1] = last._replace(text=last.text.rstrip(" \t\n"))
    return spans


def _is_blank(span: Span) -> bool:
    return not span.style & CODE and not span.text.strip()


__all__ = ["HELD_BOUND", "InlineText", "Writer"]
