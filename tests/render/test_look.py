"""What a terminal is taken to understand, by what its environment says."""

import pytest

from jpq.render.theme import CODE, LINK, PLAIN, STRONG, TRUE_COLOURS, Look, find_look
from jpq.terminal.caps import ChannelCaps

SMART = ChannelCaps(terminal=True, colour=True, rewrite=True)


@pytest.mark.parametrize(
    ("environ", "colours"),
    [
        ({"TERM": "xterm"}, 16),
        ({"TERM": "linux"}, 16),
        ({}, 16),
        ({"TERM": "xterm-256color"}, 256),
        ({"TERM": "tmux-256color", "COLORTERM": "truecolor"}, TRUE_COLOURS),
        ({"TERM": "xterm-kitty"}, TRUE_COLOURS),
        ({"WT_SESSION": "x"}, TRUE_COLOURS),
    ],
)
def test_colours(environ, colours):
    assert find_look(environ, SMART).colours == colours
    assert find_look(environ, SMART._replace(colour=False)).colours == 0


@pytest.mark.parametrize(
    ("environ", "background", "light"),
    [
        ({}, "auto", False),
        ({"COLORFGBG": "0;15"}, "auto", True),
        ({"COLORFGBG": "0;default;7"}, "auto", True),
        ({"COLORFGBG": "15;0"}, "auto", False),
        ({"COLORFGBG": "0;15"}, "dark", False),
        ({}, "light", True),
    ],
)
def test_background(environ, background, light):
    assert find_look(environ, SMART, background).light == light


@pytest.mark.parametrize(
    ("environ", "setting", "links"),
    [
        ({}, "auto", False),
        ({"TERM_PROGRAM": "iTerm.app"}, "auto", True),
        ({"TERM_PROGRAM": "Apple_Terminal"}, "auto", False),
        ({"TERM": "alacritty"}, "auto", True),
        ({"VTE_VERSION": "7600"}, "auto", True),
        ({"VTE_VERSION": "4000"}, "auto", False),
        ({"VTE_VERSION": "9" * 5000}, "auto", False),
        ({"KONSOLE_VERSION": "230400"}, "auto", True),
        ({"KONSOLE_VERSION": "230400", "STY": "1.x"}, "auto", False),
        ({"TERM": "foot", "ACCESSIBLE": "1"}, "auto", False),
        ({"TERM": "foot"}, "full", False),
        ({}, "osc8", True),
    ],
)
def test_links(environ, setting, links):
    assert find_look(environ, SMART, "auto", setting).links == links
    assert not find_look(environ, SMART._replace(colour=False), "auto", setting).links


def test_sequences():
    assert Look().sequence(STRONG | CODE) == ""
    assert Look(16).sequence(PLAIN) == ""
    assert Look(16).sequence(STRONG | CODE) == "\x1b[1;33m"
    assert Look(256, light=True).sequence(LINK) == "\x1b[4;38;5;25m"
