"""InterruptHandler: asks the person what Ctrl+C is to do, and returns the choice."""

from __future__ import annotations

import signal
from typing import Any, Callable, List, Optional, Sequence, Tuple

from jpq.interrupt.escalation import END
from jpq.interrupt.menus import MENUS, Choice, Chosen, Place, Running, Situation, help_lines, line
from jpq.interrupt.prompt import Dialogue, NobodyAnswers, Prompter, PromptLeft, TerminalStuck
from jpq.interrupt.signals import Interrupt, SignalRouter, is_key
from jpq.interrupt.watchdog import Watchdog
from jpq.named import NamedTuple
from jpq.terminal.tty import in_foreground

# Windows has no SIGHUP.
_TERMINAL_GONE = Interrupt(getattr(signal, "SIGHUP", signal.SIGTERM), END)
_PROMPT = "prompt"
_HELP = "?"


class FixedActions(NamedTuple):
    """The ``interrupt`` settings: what Ctrl+C does without asking, or ``prompt``."""

    streaming: str
    tools: str


class InterruptHandler:
    """Opens menus, one at a time. Main thread.

    It applies nothing: whoever called does what the choice says. ``prompter`` is None where
    nobody can be asked, and then a press asks for the end. ``watchdog`` is started with the
    end.
    """

    def __init__(
        self,
        prompter: Optional[Prompter],
        router: SignalRouter,
        watchdog: Watchdog,
        actions: FixedActions,
        in_foreground: Callable[[], bool] = in_foreground,
    ) -> None:
        self._prompter = prompter
        self._router = router
        self._watchdog = watchdog
        self._actions = actions
        self._in_foreground = in_foreground

    def choose(self, interrupt: Interrupt, situation: Situation) -> Chosen:
        """What is to be done about ``interrupt``. LEAVE names the item that comes first,
        which for an end is the signal to end by."""
        self._router.escalation.attended()
        menu = is_key(interrupt.signum) and interrupt.press < END
        # Whoever is not in the foreground would be stopped for using the terminal.
        if not menu or self._prompter is None or not self._in_foreground():
            return self._leave(interrupt)
        fixed = self._fixed(situation)
        if fixed is not None:
            return fixed
        chosen = self._hold(situation, lambda dialogue: self._menu(dialogue, situation))
        return chosen if isinstance(chosen, Chosen) else self._leave(chosen)

    def ask(self, question: str, situation: Situation) -> Tuple[Optional[str], Any]:
        """A line from the person, or None for Ctrl+D; and what comes before it, if anything."""
        self._router.escalation.attended()
        line = self._hold(situation, lambda dialogue: [dialogue.line(question)])
        if isinstance(line, list):
            return line[0], None
        return None, self._leave(line).item

    def confirm(self, question: str, situation: Situation) -> Tuple[Optional[bool], Any]:
        """Whether the person says yes, or None where nobody is asked; and what comes before
        the answer, if anything. No press of Ctrl+C led here."""
        if self._prompter is None or not self._in_foreground():
            return None, None
        key = self._hold(situation, lambda dialogue: dialogue.choose(question, "yn", "n"))
        return (key == "y", None) if isinstance(key, str) else (False, key)

    def _hold(self, situation: Situation, talk: Callable[[Dialogue], Any]) -> Any:
        """What ``talk`` gives, or the item that comes before it."""
        assert self._prompter is not None
        first: List[Any] = []

        def meanwhile() -> None:
            item = situation.behind()
            if item is not None:
                first.append(item)
                raise PromptLeft

        try:
            with self._router.menu(), self._prompter.dialogue(meanwhile) as dialogue:
                return talk(dialogue)
        except PromptLeft:
            return first[0]
        except TerminalStuck:
            return Interrupt(signal.SIGINT, END)
        except NobodyAnswers:
            return _TERMINAL_GONE

    def _menu(self, dialogue: Dialogue, situation: Situation) -> Chosen:
        choices = {item.key: item.choice for item in MENUS[situation.place]}
        keys = "".join(choices) + _HELP
        while True:
            with dialogue.passing(line(situation.place), keys, otherwise="c") as key:
                if key != _HELP:
                    # Before anything shows that the menu is gone: the next press is a new one.
                    self._router.escalation.reset()
            if key == _HELP:
                dialogue.say(help_lines(situation.place, self._router.prompt_follows))
            elif choices[key] is not Choice.RESTART:
                return Chosen(choices[key])
            else:
                calls = _which(dialogue, situation.running())
                if calls is not None:
                    return Chosen(Choice.RESTART, calls=calls)

    def _leave(self, item: Any) -> Chosen:
        if isinstance(item, Interrupt):
            self._router.escalation.end()
            self._watchdog.start(item.signum)
        return Chosen(Choice.LEAVE, item)

    def _fixed(self, situation: Situation) -> Optional[Chosen]:
        """What the settings say, where this place has that choice.

        The press still counts: a second one soon after it ends the run.
        """
        tools = situation.place is Place.TOOLS
        word = self._actions.tools if tools else self._actions.streaming
        offered = [item.choice for item in MENUS[situation.place]]
        if word == _PROMPT or Choice(word) not in offered:
            return None
        running = situation.running() if word == Choice.RESTART.value else ()
        return Chosen(Choice(word), calls=tuple(call.id for call in running), fixed=True)


def _which(dialogue: Dialogue, running: Sequence[Running]) -> Optional[Tuple[str, ...]]:
    """The ids of the calls to restart; None for none of them."""
    everything = tuple(call.id for call in running)
    if len(running) < 2:
        return everything
    dialogue.say("\n".join(f"  {n}  {call.title}" for n, call in enumerate(running, 1)))
    while True:
        told = dialogue.line(f"Restart which? (1 to {len(running)}, a for all, Enter for none)")
        word = (told or "").strip().lower()
        if not word:
            return None
        if word == "a":
            return everything
        if word.isdecimal() and len(word) < 10 and 1 <= int(word) <= len(running):
            return (running[int(word) - 1].id,)
