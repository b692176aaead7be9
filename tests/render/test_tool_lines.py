"""Calls, results and what runs, as the person sees them on stderr."""

import io

import pytest

from jpq.events.turn import ToolEnded, ToolProgress, ToolResult, ToolStarted, ToolUse
from jpq.render.aside import Aside, ViewOptions
from jpq.render.printer import Printer
from jpq.terminal.caps import ChannelCaps

SMART = ChannelCaps(terminal=True, rewrite=True)
DUMB = ChannelCaps(terminal=True)
PIPE = ChannelCaps()
ERASE = "\r\x1b[K"


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class Screen:
    def __init__(self, caps, width=60, **options):
        self.clock = Clock()
        self.err = io.BytesIO()
        self.printer = Printer(None, self.err)
        self.aside = Aside(
            self.printer, caps, ViewOptions(**options), lambda: width, clock=self.clock
        )

    def show(self, *events):
        for event in events:
            self.aside.show(event)
        return self.written()

    def after(self, seconds):
        self.clock.now += seconds
        self.aside.tick()
        return self.written()

    def written(self):
        self.printer.flush()
        text = self.err.getvalue().decode()
        self.err.seek(0)
        self.err.truncate()
        return text


USE = ToolUse("1", "greet", {"name": "Ada", "times": 2})


@pytest.mark.parametrize(
    "style, title, line",
    [
        ("call", "", '→ greet(name="Ada", times=2)'),
        ("call", "Greeting Ada", '→ Greeting Ada: greet(name="Ada", times=2)'),
        ("json", "", '→ greet {"name": "Ada", "times": 2}'),
        ("off", "", "→ greet"),
        ("off", "Greeting Ada", "→ Greeting Ada"),
    ],
)
def test_a_call_has_its_title_and_its_arguments_as_configured(style, title, line):
    screen = Screen(PIPE, tool_arguments=style, tool_title=lambda name, arguments: title)
    assert screen.show(USE) == line + "\n"


def test_nothing_of_a_call_drives_the_terminal():
    use = ToolUse("1", "gr\x1b[2Jeet", {"na\nme": "\x1b]0;x\x07\u202e"})
    shown = Screen(SMART, tool_title=lambda name, arguments: "a\rb\x1b[3Ac").show(use)
    assert "\x1b" not in shown.replace(ERASE, "") and "\r" not in shown.replace(ERASE, "")
    assert shown.count("\n") == 1 and "\u202e" not in shown


def test_the_whole_of_a_cut_result_can_be_reached():
    result = ToolResult("1", "long", "begin\n[...]\nend", False, "/tmp/a b.txt")
    assert Screen(PIPE).show(result).endswith("  the whole output: /tmp/a b.txt\n")
    assert "\x1b]8;;file:///tmp/a%20b.txt\x1b\\the whole output" in Screen(SMART).show(result)
    assert "whole output: /tmp" in Screen(SMART, tool_link="full").show(result)
    assert "whole output" not in Screen(SMART, tool_link="off").show(result)


def test_a_running_call_gets_a_line_after_three_seconds_and_leaves_nothing():
    screen = Screen(SMART)
    assert screen.show(ToolStarted("1", "Building")) == ""
    assert screen.after(2.9) == ""
    screen.show(ToolProgress("1", "half \x1b[2Jdone"))
    line = screen.after(0.2)
    assert line.startswith(ERASE) and line.endswith("Building 3s  half done")
    assert screen.show(ToolEnded("1")) == ERASE
    assert screen.after(1) == ""


def test_calls_that_run_at_the_same_time_have_a_line_each():
    screen = Screen(SMART, width=30)
    screen.show(*(ToolStarted(str(n), f"Call number {n} of a few more") for n in range(3)))
    first = screen.after(3.1)
    assert first.count("\n") == 2 and all(len(line) < 31 for line in first.split("\n")[1:])
    second = screen.after(1)
    assert second.startswith(ERASE + ("\x1b[A" + ERASE) * 2)
    assert screen.show(USE).startswith(ERASE + ("\x1b[A" + ERASE) * 2 + "→ greet")


@pytest.mark.parametrize("caps", [DUMB, PIPE])
def test_elsewhere_words_are_said_once(caps):
    screen = Screen(caps)
    screen.show(ToolStarted("1", "Building"))
    assert screen.after(1) == ""
    assert screen.after(2.5) == "jpq: Building is still running after 4 s\n"
    assert screen.after(10) == ""


def test_quiet_says_nothing_of_them():
    screen = Screen(SMART, quiet=True)
    screen.show(ToolStarted("1", "Building"))
    assert screen.after(5) == ""
