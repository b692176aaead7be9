"""Sanitizer: no text of a model, tool or server may drive the terminal.

Newline and tab pass. Every other control character goes, with the sequence it begins:
C0, DEL, C1 (also as U+0080 to U+009F), CSI, OSC, DCS, APC, PM, SOS and the two-character
escapes. So do the bidi overrides, embeddings and isolates, which can make text read as
something else. What a terminal would take for data of a sequence goes with it, but never
more than ``SEQUENCE_LIMIT`` characters and never beyond the line: a sequence that does not
end must not swallow the answer. Halves of surrogate pairs become U+FFFD.
"""

from __future__ import annotations

import re
from typing import Callable, Dict, List

from jpq.events.surrogates import mend, mend_piece

STRIP = "strip"
VISUALIZE = "visualize"

SEQUENCE_LIMIT = 4096

_BIDI = "\u202a-\u202e\u2066-\u2069"
# Patterns are compiled when they are first used, which most runs never do.
_UNWANTED = "[\x00-\x08\x0b-\x1f\x7f-\x9f" + _BIDI + "]"
_CSI_END = r"[^\x20-\x3f]"
_STRING_END = "[\x00-\x1f\x7f-\x9f]"

_ESC = "\x1b"
_STRING_OPENERS = "]PX^_"  # after ESC: OSC, DCS, SOS, PM, APC
_C1_STRING_OPENERS = "\x9d\x90\x98\x9e\x9f"
_C1_CSI = "\x9b"
_STRING_TERMINATORS = "\x07\x9c"


_State = Callable[[str, int], int]


class Sanitizer:
    """Cleans a text that comes in pieces; where it is cut makes no difference.

    One thread. Keeps nothing of the text back but the first half of a surrogate pair.
    """

    def __init__(self, mode: str = STRIP) -> None:
        self._mode = mode
        self._held = ""
        self._state: _State = self._in_text
        self._left = 0  # how many more characters the open sequence may take
        self._clean: List[str] = []

    def feed(self, text: str) -> str:
        """What may be shown of the next piece."""
        if not self._held and self._state == self._in_text and _is_plain(text):
            return text
        text, self._held = mend_piece(self._held, text)
        return self._process(text)

    def close(self) -> str:
        """The end of the text: what was kept back. The next ``feed`` begins a new text."""
        rest = self._process(mend(self._held))
        self._held = ""
        self._state = self._in_text
        return rest

    def _process(self, text: str) -> str:
        if self._mode == VISUALIZE:
            return text.translate(_VISIBLE)
        position, end = 0, len(text)
        while position < end:
            position = self._state(text, position)
        clean, self._clean = "".join(self._clean), []
        return clean

    # Each state takes what belongs to it from ``position`` on, sets the next state, and
    # returns where that begins. A state that takes nothing always leaves for another one.

    def _in_text(self, text: str, position: int) -> int:
        found = re.compile(_UNWANTED).search(text, position)
        if found is None:
            self._clean.append(text[position:])
            return len(text)
        self._clean.append(text[position : found.start()])
        control = found.group()
        if control == _ESC:
            self._open(self._after_escape)
        elif control == _C1_CSI:
            self._open(self._in_csi)
        elif control in _C1_STRING_OPENERS:
            self._open(self._in_string)
        return found.end()

    def _after_escape(self, text: str, position: int) -> int:
        char = text[position]
        if char == "[":
            self._open(self._in_csi)
        elif char in _STRING_OPENERS:
            self._open(self._in_string)
        elif "\x20" <= char <= "\x2f" and self._left:
            self._left -= 1
        else:
            self._state = self._in_text
            return position + 1 if "\x30" <= char <= "\x7e" else position
        return position + 1

    def _in_csi(self, text: str, position: int) -> int:
        stop = self._take_until(_CSI_END, text, position)
        if stop == len(text) and self._left:
            return stop
        self._state = self._in_text
        return stop + 1 if self._left and "\x40" <= text[stop] <= "\x7e" else stop

    def _in_string(self, text: str, position: int) -> int:
        stop = self._take_until(_STRING_END, text, position)
        if stop == len(text) and self._left:
            return stop
        self._state = self._in_text
        return stop + 1 if self._left and text[stop] in _STRING_TERMINATORS else stop

    def _open(self, state: _State) -> None:
        self._state = state
        self._left = SEQUENCE_LIMIT

    def _take_until(self, ending: str, text: str, position: int) -> int:
        """Where ``ending`` or the sequence's allowance is reached, else the text's end."""
        limit = min(len(text), position + self._left)
        found = re.compile(ending).search(text, position, limit)
        stop = limit if found is None else found.start()
        self._left -= stop - position
        return stop


def _is_plain(text: str) -> bool:
    """Whether there is surely nothing in ``text`` to clean: Python calls control characters,
    bidi controls and surrogates unprintable."""
    return text.replace("\n", "").replace("\t", "").isprintable()


def sanitize(text: str, mode: str = STRIP) -> str:
    """A whole text, cleaned."""
    sanitizer = Sanitizer(mode)
    return sanitizer.feed(text) + sanitizer.close()


def _visible_forms() -> Dict[int, str]:
    forms = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    forms[0x7F] = "\u2421"
    named = [*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    forms.update({code: f"<U+{code:04X}>" for code in named})
    return forms


_VISIBLE = _visible_forms()
