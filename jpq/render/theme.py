"""The colours and signs of a terminal: plain sequences, so that a style costs no library."""

from __future__ import annotations

from typing import Dict, Iterator, Mapping

from jpq.named import NamedTuple
from jpq.terminal.caps import ChannelCaps

RESET = "\x1b[0m"
DIM = "\x1b[2m"
BOLD = "\x1b[1m"
RED = "\x1b[31m"
GREEN = "\x1b[32m"
YELLOW = "\x1b[33m"
CYAN = "\x1b[36m"

# What a piece of an answer is. A style is a sum of these.
PLAIN = 0
STRONG, EMPHASIS, STRIKE, CODE, LINK, HTML, IMAGE, TITLE, HEADING, MARK = (
    1 << bit for bit in range(10)
)
COMMENT, KEYWORD, STRING, NUMBER, NAME, BUILTIN, DELETED, INSERTED = (
    1 << bit for bit in range(10, 18)
)

TRUE_COLOURS = 1 << 24

_ATTRIBUTES = {
    STRONG: "1",
    EMPHASIS: "3",
    STRIKE: "9",
    LINK: "4",
    IMAGE: "3",
    TITLE: "1;4",
    HEADING: "1",
    COMMENT: "3",
}


class Colour(NamedTuple):
    """A colour on a dark and on a light ground, as RRGGBB, and as one of the first 16 colours.

    An empty word leaves the colour as it is.
    """

    dark: str
    light: str
    dark_16: str
    light_16: str


_COLOURS: Mapping[int, Colour] = {
    CODE: Colour("e5c07b", "986801", "33", "35"),
    LINK: Colour("7aa2f7", "0550ae", "36", "34"),
    HTML: Colour("8b949e", "6e7781", "2", "2"),
    TITLE: Colour("7dcfff", "0550ae", "36", "34"),
    HEADING: Colour("7dcfff", "0550ae", "36", "34"),
    MARK: Colour("8b949e", "6e7781", "2", "2"),
    COMMENT: Colour("8b949e", "6e7781", "2", "2"),
    KEYWORD: Colour("c678dd", "a626a4", "35", "35"),
    STRING: Colour("98c379", "3a7d2c", "32", "32"),
    NUMBER: Colour("d19a66", "986801", "33", "31"),
    NAME: Colour("61afef", "0550ae", "34;1", "34"),
    BUILTIN: Colour("56b6c2", "0e7490", "36", "36"),
    DELETED: Colour("e06c75", "b3261e", "31", "31"),
    INSERTED: Colour("98c379", "3a7d2c", "32", "32"),
}


class Look:
    """How a channel shows an answer.

    ``colours`` 0: no control sequence at all, marks tell what is what. ``links``: OSC 8 is
    understood. ``unicode``: signs outside ASCII can be relied on; where they cannot,
    ``encoding`` says what there is.
    """

    def __init__(
        self,
        colours: int = 0,
        light: bool = False,
        links: bool = False,
        encoding: str = "utf-8",
    ) -> None:
        self.colours = colours
        self.light = light
        self.links = links and colours > 0
        self.encoding = encoding
        self.unicode = encoding.startswith("utf")
        self._sequences: Dict[int, str] = {PLAIN: ""}

    def sequence(self, style: int) -> str:
        """What sets ``style`` on a terminal that is reset; nothing without colours."""
        found = self._sequences.get(style)
        if found is None:
            codes = ";".join(filter(None, self._codes(style))) if self.colours else ""
            found = self._sequences[style] = f"\x1b[{codes}m" if codes else ""
        return found

    def _codes(self, style: int) -> Iterator[str]:
        for bit, attributes in _ATTRIBUTES.items():
            if style & bit:
                yield attributes
        for bit, colour in _COLOURS.items():
            if style & bit:
                yield self._code(colour)
                return  # a second colour would only replace the first

    def _code(self, colour: Colour) -> str:
        if self.colours <= 16:
            return colour.light_16 if self.light else colour.dark_16
        value = int(colour.light if self.light else colour.dark, 16)
        red, green, blue = value >> 16, value >> 8 & 255, value & 255
        if self.colours >= TRUE_COLOURS:
            return f"38;2;{red};{green};{blue}"
        return f"38;5;{16 + 36 * _step(red) + 6 * _step(green) + _step(blue)}"


def find_look(
    environ: Mapping[str, str], caps: ChannelCaps, background: str = "auto", links: str = "auto"
) -> Look:
    """The look of a channel with ``caps``, under ``environ`` and ``style.background``, ``.link``.

    A terminal does not say what it understands; its name and its makers' variables do.
    """
    light = background == "light" or background == "auto" and _is_light(environ)
    osc8 = links == "osc8" or links == "auto" and caps.terminal and _knows_links(environ)
    return Look(_colours(environ) if caps.colour else 0, light, osc8, caps.encoding)


def styled(text: str, style: str, colour: bool) -> str:
    """``text`` in ``style``, reset at its end, so that a cut stream never leaves it on.

    Line ends stay last, where the channel looks for them.
    """
    body = text.rstrip("\n")
    if not (colour and style and body):
        return text
    return style + body + RESET + text[len(body) :]


def _step(value: int) -> int:
    """The nearest of the six steps of the 256 colours' cube: 0, 95, 135, 175, 215, 255."""
    return 0 if value < 48 else 1 if value < 115 else (value - 35) // 40


def _colours(environ: Mapping[str, str]) -> int:
    if environ.get("COLORTERM", "") in ("truecolor", "24bit"):
        return TRUE_COLOURS
    name = environ.get("TERM", "")
    if name.endswith(("-direct", "-kitty", "-ghostty")) or environ.get("WT_SESSION"):
        return TRUE_COLOURS
    return 256 if "256" in name else 16


def _is_light(environ: Mapping[str, str]) -> bool:
    """Whether COLORFGBG ("foreground;background") names a light background."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def _knows_links(environ: Mapping[str, str]) -> bool:
    if environ.get("TMUX") or environ.get("STY") or environ.get("ACCESSIBLE", "0") not in ("", "0"):
        return False  # a multiplexer may drop them, and the variables are of what is around it
    vte = environ.get("VTE_VERSION", "")
    return (
        environ.get("TERM_PROGRAM", "") in ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper")
        or environ.get("TERM", "") in ("xterm-kitty", "alacritty", "foot", "xterm-ghostty")
        or (vte.isdecimal() and len(vte) < 10 and int(vte) >= 5000)
        or any(environ.get(name) for name in ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM"))
    )
