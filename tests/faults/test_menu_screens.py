"""Each menu as a person sees it: captures of a real terminal, which docs/menus.md shows whole.

``JPQ_TEST_UPDATE_DOCS=1`` writes the page.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence

import pytest

from jpq.render.status import UNICODE_FRAMES
from tests.support.marked_parts import UPDATES
from tests.support.pressing import Stage, calls, events, reasoning, rest, wait_until
from tests.support.ptys import ROOT, WAIT_S
from tests.support.screen import HAS_TMUX, Screen, screen
from tests.support.server import DONE, Pause, Server, Step, answer, delta, error, reply

STAYS_S = 1.0  # a new capture is taken when all has surely been written
PAGE = os.path.join(ROOT, "docs", "menus.md")
PRESS, ENTER = "C-c", "Enter"
HOLDS = "it holds"
SETTINGS = """
[tools.build]
description = "Builds the program"
command = ["sh", "-c", 'echo x >> runs; echo 12 of 80; while [ ! -e go ]; do sleep 0.02; done']
parameters.target = { type = "string", required = true }
display = { title = "Build {target}" }
run = "unattended"

[tools.publish]
description = "Publishes the program"
command = ["echo", "published"]
run = "ask"

[tools.deaf]
description = "Does not listen"
command = ["sh", "-c", "trap '' TERM; echo x >> runs; while [ ! -e go ]; do sleep 0.02; done"]
run = "unattended"
"""

# Its menus open as they usually do, once the renderer rests, however busy the machine is.
PROGRAM = """
import runpy, sys
from jpq.render.worker import Renderer
Renderer.lease_now.__wrapped__.__defaults__ = ({wait_s},)
sys.argv[1:1] = {arguments}
runpy.run_module("{name}", run_name="__main__", alter_sys=True)
"""

pytestmark = pytest.mark.skipif(not HAS_TMUX, reason="tmux draws the screens")


class Shot(NamedTuple):
    """What is typed and waited for, in turn: keys of tmux, texts in parentheses, a number of
    runs of tools, or that the program is held."""

    title: str
    script: Callable[[Stage], Sequence[Step]]
    steps: Sequence[str]
    environ: Dict[str, str] = {}
    at: str = "0"  # where the signal comes by itself; see tests/support/signalled.py
    passes: bool = False  # whether it shows only for a moment


def _half(stage: Stage) -> List[Step]:
    text = "Sunlight is made of all colours, and the air\\nscatters the blue ones most"
    return [*events(delta(text.replace("\\n", "\n"))), Pause(stage.end), *rest(delta("."))]


def _thinking(stage: Stage) -> List[Step]:
    return [*events(reasoning("The person asks about scattering.")), Pause(stage.end)]


def _building(stage: Stage) -> List[Step]:
    named = [("build", '{"target": "app"}'), ("build", '{"target": "docs"}')]
    return reply(*calls(*named), DONE)


def _calling(name: str) -> Callable[[Stage], List[Step]]:
    return lambda stage: reply(*calls((name, "{}")), DONE)


def _busy(stage: Stage) -> List[Step]:
    return error("503 Busy", b"{}", "application/json", "Retry-After: 40")


def _nothing(stage: Stage) -> List[Step]:
    return [Pause(stage.end)]


STREAMS, TOOLS = "([a]bort and discard  [?])", "([s]top and save  [?])"
SHOTS = (
    Shot("While the answer arrives", _half, ("(most)", PRESS, STREAMS)),
    Shot("Before its first word", _nothing, ("(Waiting)", PRESS, STREAMS)),
    Shot("While the model reasons", _thinking, ("(scattering.)", PRESS, STREAMS)),
    Shot("What the keys mean", _half, ("(most)", PRESS, STREAMS, "?", "(Ctrl+C again)", STREAMS)),
    Shot(
        "*Reply*",
        _half,
        ("(most)", PRESS, STREAMS, "r", "(Your reply)", "In one sentence, please", "(please)"),
    ),
    Shot("*Stop*", _half, ("(most)", PRESS, STREAMS, "s", "(--retry)")),
    Shot("*Abort*", _half, ("(most)", PRESS, STREAMS, "a", "(Discarded)")),
    Shot(
        "*Continue*, on a terminal that cannot erase",
        _half,
        ("(most)", PRESS, STREAMS, "c", ENTER, "([?] c)"),
        {"TERM": "dumb"},
    ),
    Shot("While tools run", _building, ("(Build docs)", "runs=2", PRESS, TOOLS)),
    Shot(
        "*Restart*, with several tools",
        _building,
        ("(Build docs)", "runs=2", PRESS, TOOLS, "t", "(Restart which?)"),
    ),
    Shot(
        "*Respond*",
        _building,
        ("(Build docs)", "runs=2", PRESS, TOOLS, "r", "(Tell the model)", "Only the app", "(app)"),
    ),
    Shot("Over a question", _calling("publish"), ("(mode [?])", PRESS, TOOLS)),
    Shot(
        "The question comes again",
        _calling("publish"),
        ("(mode [?])", PRESS, TOOLS, "c", "(Run publish?)", "(mode [?])"),
    ),
    Shot("Between two attempts", _busy, ("(Attempt 2)", PRESS, TOOLS)),
    Shot(
        "Between two phases",
        _calling("quick"),
        ("(done)", HOLDS, PRESS, TOOLS),
        at="call:commit_left",
    ),
    Shot(
        "Ctrl+C in a menu, with a tool that takes no notice",
        _calling("deaf"),
        ("(deaf)", "runs=1", PRESS, TOOLS, PRESS, "(forced in)"),
        passes=True,
    ),
)


def capture(shot: Shot, folder: str, expected: Optional[str]) -> str:
    """The terminal after the last step, once it is as ``expected`` or no more is written."""
    stage = Stage(folder)
    with Server(shot.script(stage), answer("Fine.")) as server:
        _furnish(stage, server, shot.at)
        environ = {**stage.environ, "TERM": "screen", "PS1": "$ ", **shot.environ}
        shell = ("/bin/sh", "-i")
        try:
            with screen(shell, environ, columns=90, rows=30, cwd=folder) as terminal:
                terminal.wait_for("$")
                terminal.type("jpq 'Why is the sky blue?'", ENTER)
                last = _play(shot.steps, terminal, stage)
                return _timeless(last) if shot.passes else _steady(terminal, expected)
        finally:
            stage.end.set()
            stage.let_tools_go()


def _play(steps: Sequence[str], terminal: Screen, stage: Stage) -> str:
    """The screen that showed what was waited for last."""
    seen: Dict[str, int] = {}
    text = ""
    for step in steps:
        if step.startswith("runs="):
            wait_until(lambda count=int(step[5:]): len(stage.runs) >= count)  # type: ignore[misc]
        elif step == HOLDS:
            wait_until(lambda: os.path.exists(stage.environ["JPQ_TEST_POINTS"] + ".held"))
        elif step[0] == "(":
            # A menu that is erased is gone, a question that is asked again stands there twice.
            again = step == "(mode [?])"
            seen[step] = seen.get(step, 0) + 1
            text = terminal.wait_for(step[1:-1], seen[step] if again else 1)
        else:
            terminal.type(step)
    return text


def _steady(terminal: Screen, expected: Optional[str]) -> str:
    """The screen, once it is ``expected``; if it never is, or nothing is, as it stays."""
    deadline = time.monotonic() + (STAYS_S if expected is None else WAIT_S)
    while True:
        now = _timeless(terminal.text())
        if _settled(now) == _settled(expected) or time.monotonic() >= deadline:
            return now
        time.sleep(0.05)


def _timeless(text: str) -> str:
    """``text`` with times, and frames of what moves, that do not depend on the moment."""
    text = re.sub(f"[{UNICODE_FRAMES}] ", UNICODE_FRAMES[1] + " ", text)
    text = re.sub(r"in \d+\.\d+ s", "in 40.0 s", text)
    return re.sub(r"in \d+s", "in 9s", text)


def _settled(text: Optional[str]) -> str:
    """``text`` without empty lines: how many a renderer has left is up to the moment."""
    return "\n".join(line for line in (text or "").split("\n") if line)


def _furnish(stage: Stage, server: Server, at: str) -> None:
    """A model of one's own, and a ``jpq`` on the path."""
    quick = '[tools.quick]\ndescription = "Is quick"\ncommand = ["echo", "done"]\n'
    own = f'model = "own/model"\n[providers.own]\nbase_url = "{server.url}"\n'
    with open(os.path.join(stage.folder, "home", "config.toml"), "w", encoding="utf-8") as file:
        file.write(own + 'api = "openai-chat"\n' + SETTINGS + quick + 'run = "unattended"\n')
    program = ["jpq"] if at == "0" else ["tests.support.signalled", at, "-1"]
    folder = os.path.join(stage.folder, "bin")
    os.mkdir(folder)
    with open(os.path.join(folder, "program.py"), "w", encoding="utf-8") as file:
        file.write(PROGRAM.format(wait_s=WAIT_S, name=program[0], arguments=program[1:]))
    with open(os.path.join(folder, "jpq"), "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec "{sys.executable}" "{folder}/program.py" "$@"\n')
    os.chmod(os.path.join(folder, "jpq"), 0o700)
    stage.environ["PATH"] = folder + os.pathsep + stage.environ["PATH"]
    stage.environ["JPQ_TEST_POINTS"] = os.path.join(stage.folder, "points")


def page(captures: Dict[str, str]) -> str:
    head = """# The menus of Ctrl+C, as you see them

[Interrupts](interrupts.md) says what the choices do. These are captures of a terminal of 90
columns, whole and as tmux drew them. They are taken again by
`JPQ_TEST_UPDATE_DOCS=1 pytest tests/faults/test_menu_screens.py`.
"""
    return head + "".join(
        f"\n## {title}\n\n```text\n{text}\n```\n" for title, text in captures.items()
    )


@pytest.fixture(scope="module")
def shown() -> Iterator[Dict[str, str]]:
    """What the page shows, by title."""
    if UPDATES:
        captures: Dict[str, str] = {}
        yield captures
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page(captures))
        return
    with open(PAGE, encoding="utf-8") as file:
        found = re.findall(r"^## ([^\n]*)\n\n```text\n(.*?)\n```$", file.read(), re.M | re.S)
    yield dict(found)


@pytest.mark.parametrize("shot", SHOTS, ids=lambda each: each.title)
def test_the_page_shows_what_a_person_sees(
    shot: Shot, shown: Dict[str, str], tmp_path: Path
) -> None:
    seen = capture(shot, str(tmp_path), shown.get(shot.title))
    if UPDATES:
        shown[shot.title] = seen
    assert _settled(shown[shot.title]) == _settled(seen)
