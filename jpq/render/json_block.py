"""JsonBlock: a structured answer as a fenced block, laid out as it arrives."""

from __future__ import annotations

from typing import List, Optional

from jpq.render.chat import Formatter

_OPEN, _CLOSE = "{[", "}]"
_INDENT = "  "


class JsonBlock:
    """Feeds ``formatter`` (Markdown's) a fenced block for JSON, and other text as it is.

    What an item is, its first character says. Owned by the renderer thread.
    """

    def __init__(self, formatter: Formatter) -> None:
        self._formatter = formatter
        self._layout: Optional[JsonLayout] = None
        self._begun = False

    def feed(self, text: str) -> str:
        """What can be shown now."""
        if not self._begun:
            text = text.lstrip()
            if not text:
                return ""
            self._begun = True
            if text[0] in _OPEN:
                self._layout = JsonLayout()
                return self._formatter.feed("```json\n" + self._layout.feed(text))
        return self._formatter.feed(self._layout.feed(text) if self._layout else text)

    def close(self) -> str:
        """The rest of the message item."""
        rest = self._formatter.feed("\n```\n") if self._layout else ""
        self._layout, self._begun = None, False
        return rest + self._formatter.close()

    def tick(self) -> Optional[float]:
        """Seconds until ``release`` is due."""
        return self._formatter.tick()

    def release(self) -> str:
        """What was held for too long."""
        return self._formatter.release()

    def suspend(self) -> str:
        """What lets others write."""
        return self._formatter.suspend()

    def line_ended(self) -> None:
        """They did."""
        self._formatter.line_ended()

    def expect(self) -> None:
        """Text may come soon."""
        self._formatter.expect()


class JsonLayout:
    """JSON with a line for each member, however it was laid out, and cut into pieces.

    Text that is no JSON comes through as well, if not as it was laid out.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._empty = False  # the last thing was an opening bracket

    def feed(self, text: str) -> str:
        """``text``, laid out."""
        shown: List[str] = []
        for character in text:
            if self._in_string:
                shown.append(self._of_string(character))
            elif not character.isspace():
                shown.append(self._of_structure(character))
        return "".join(shown)

    def _of_string(self, character: str) -> str:
        if self._escaped:
            self._escaped = False
        elif character == "\\":
            self._escaped = True
        elif character == '"':
            self._in_string = False
        # A line end within a string is none of JSON's, and must not end the block.
        return "\\n" if character == "\n" else character

    def _of_structure(self, character: str) -> str:
        if character in _CLOSE:
            self._depth = max(0, self._depth - 1)
            before = "" if self._empty else self._line()
            self._empty = False
            return before + character
        before = self._line() if self._empty else ""
        self._empty = False
        if character in _OPEN:
            self._depth += 1
            self._empty = True
        elif character == ",":
            return before + character + self._line()
        elif character == ":":
            return before + ": "
        elif character == '"':
            self._in_string = True
        return before + character

    def _line(self) -> str:
        return "\n" + _INDENT * self._depth
