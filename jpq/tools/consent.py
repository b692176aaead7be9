"""The dialogues about a call: may it run, may its result be delivered, what it asks itself."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Optional, Protocol

from jpq.interrupt.prompt import Dialogue, Prompter
from jpq.named import NamedTuple
from jpq.render.lines import one_line
from jpq.tools import texts
from jpq.tools.definition import ASK, EDIT, SKIP, UNATTENDED, Question
from jpq.tools.executor import Delivery, ToolExecutor
from jpq.tools.permission import ALLOW, DENY, Permissions
from jpq.tools.schema import json_text, parse_arguments, shortened

_PERMISSION_KEYS = "ynearpx?"
_PERMISSION_HELP = """\
  y  run it
  n  do not run it; the model is told, with your reason if you give one
  e  edit the arguments first
  a  run it, and from now on always run {name} in this conversation without asking
  p  print all arguments
  r  choose the run mode of {name} in this conversation
  x  choose the result mode of {name} in this conversation"""
_MODES = {"a": ASK, "u": UNATTENDED, "e": EDIT, "s": SKIP}
_RESULT_LINES = 20
_ARGUMENT_SHOWN = 300
_PREVIEW_SHOWN = 4000


class Permit(NamedTuple):
    """The person's decision: ``action`` is ALLOW, DENY or SKIP.

    ``arguments`` are what to run with; ``edited`` says that the person changed them.
    """

    action: str
    arguments: Dict[str, Any]
    edited: bool = False
    reason: str = ""

    @property
    def told(self) -> str:
        """What the model is told where it is not run."""
        skipped = self.action == SKIP
        return texts.SKIPPED if skipped else texts.with_reason(texts.DENIED, self.reason)


class Asker(Protocol):
    """Whoever decides about calls. Main thread.

    ``meanwhile`` is called several times a second while the answer is awaited; what it
    raises (PromptLeft) ends the wait. Raises NobodyAnswers where there is nobody any more.
    """

    def permission(
        self,
        executor: ToolExecutor,
        permissions: Permissions,
        complaint: Callable[[Any], Optional[str]],
        meanwhile: Callable[[], None],
    ) -> Permit:
        """Whether the call may run; ``complaint`` checks edited arguments."""

    def delivery(
        self, executor: ToolExecutor, edit_first: bool, meanwhile: Callable[[], None]
    ) -> Delivery:
        """Whether the model gets the result; ``edit_first`` is result mode *edit*."""

    def question(
        self, executor: ToolExecutor, question: Question, meanwhile: Callable[[], None]
    ) -> Optional[str]:
        """The answer to what the running call asks; None for no answer."""


class TerminalAsker:
    """An Asker whose answers come from the person at the terminal."""

    def __init__(self, prompter: Prompter) -> None:
        self._prompter = prompter

    def permission(
        self,
        executor: ToolExecutor,
        permissions: Permissions,
        complaint: Callable[[Any], Optional[str]],
        meanwhile: Callable[[], None],
    ) -> Permit:
        with self._prompter.dialogue(meanwhile) as dialogue:
            return PermissionDialogue(executor, permissions, complaint).hold(dialogue)

    def delivery(
        self, executor: ToolExecutor, edit_first: bool, meanwhile: Callable[[], None]
    ) -> Delivery:
        with self._prompter.dialogue(meanwhile) as dialogue:
            return ask_delivery(dialogue, executor.title, executor.result, edit_first)

    def question(
        self, executor: ToolExecutor, question: Question, meanwhile: Callable[[], None]
    ) -> Optional[str]:
        with self._prompter.dialogue(meanwhile) as dialogue:
            return ask_question(dialogue, executor.title, question)


class PermissionDialogue:
    """Asks whether one call may run. Main thread.

    ``complaint`` checks edited arguments: what is wrong with them, or None.
    """

    def __init__(
        self,
        executor: ToolExecutor,
        permissions: Permissions,
        complaint: Callable[[Any], Optional[str]],
    ) -> None:
        self._tool = executor.tool
        self._arguments = executor.arguments
        self._decision = executor.decision
        self._permissions = permissions
        self._complaint = complaint
        self._edited = False

    def hold(self, dialogue: Dialogue) -> Permit:
        """Ask until there is a decision; run mode *edit* begins with the editor."""
        name = one_line(self._tool.spec.display_name or self._tool.spec.name)
        self._show(dialogue)
        if self._decision.action == EDIT and self._edit(dialogue):
            return self._permit(ALLOW)
        question = f"Run {name}? [y]es [n]o [e]dit [a]lways [p]rint [r]un mode [x] result mode [?]"
        while True:
            key = dialogue.choose(question, _PERMISSION_KEYS, otherwise="n")
            permit = self._after(key, dialogue)
            if permit is not None:
                return permit

    def _after(self, key: str, dialogue: Dialogue) -> Optional[Permit]:
        if key == "y":
            return self._permit(ALLOW)
        if key == "n":
            reason = dialogue.line("Why not? (the model is told; Enter for no reason)")
            return self._permit(DENY, reason or "")
        if key == "a":
            self._permissions.set_run_mode(self._tool, UNATTENDED)
            return self._permit(ALLOW)
        if key == "e":
            return self._permit(ALLOW) if self._edit(dialogue) else None
        if key == "r":
            return self._choose_run_mode(dialogue)
        if key == "x":
            mode = _choose_mode(dialogue, "Result mode", self._permissions.result_mode(self._tool))
            if mode is not None:
                self._permissions.set_result_mode(self._tool, mode)
        elif key == "p":
            dialogue.say(json.dumps(self._arguments, ensure_ascii=False, indent=2))
        else:
            dialogue.say(_PERMISSION_HELP.format(name=self._tool.spec.name))
        return None

    def _choose_run_mode(self, dialogue: Dialogue) -> Optional[Permit]:
        mode = _choose_mode(dialogue, "Run mode", self._permissions.run_mode(self._tool))
        if mode is None:
            return None
        self._permissions.set_run_mode(self._tool, mode)
        if mode == UNATTENDED or (mode == EDIT and self._edit(dialogue)):
            return self._permit(ALLOW)
        return self._permit(SKIP) if mode == SKIP else None

    def _permit(self, action: str, reason: str = "") -> Permit:
        return Permit(action, self._arguments, self._edited, reason)

    def _show(self, dialogue: Dialogue) -> None:
        spec = self._tool.spec
        # That the run mode is to ask goes without saying.
        why = "" if self._decision.by_mode else f" ({self._decision.by})"
        lines = [f"The model wants to run {spec.title_of(self._arguments)}{why}"]
        preview = self._tool.preview(self._arguments)
        left = self._arguments
        if preview:
            shown = shortened(preview, _PREVIEW_SHOWN)
            lines += ["  " + line for line in shown.rstrip("\n").split("\n")]
            left = dict(self._tool.beside_preview(self._arguments))
        lines += [
            f"  {one_line(key)} = {shortened(json_text(value), _ARGUMENT_SHOWN)}"
            for key, value in left.items()
        ]
        dialogue.say("\n".join(lines))

    def _edit(self, dialogue: Dialogue) -> bool:
        """Let the person edit the arguments; whether they can be used now."""
        before = json.dumps(self._arguments, ensure_ascii=False, indent=2) + "\n"
        text = dialogue.edit(before, ".json")
        if text is None:
            return False
        arguments, wrong = parse_arguments(text)
        if arguments is not None:
            wrong = self._complaint(arguments) or ""
            if not wrong and self._permissions.decide(self._tool, arguments).action == DENY:
                wrong = "a rule denies them"
        if wrong or arguments is None:
            dialogue.say(f"These arguments cannot be used: {wrong}.")
            return False
        self._edited = self._edited or arguments != self._arguments
        self._arguments = arguments
        return True


def ask_delivery(dialogue: Dialogue, title: str, content: str, edit_first: bool) -> Delivery:
    """Ask whether the model gets a result. ``edit_first`` is result mode *edit*."""
    lines = content.rstrip("\n").split("\n")
    left = len(lines) - _RESULT_LINES
    shown = ["  " + shortened(line, _ARGUMENT_SHOWN) for line in lines[:_RESULT_LINES]]
    if left > 0:
        shown.append(f"  ... {left} more lines; edit shows all of them")
    dialogue.say("\n".join([f"{title} gave this result:", *shown]))
    if edit_first:
        edited = dialogue.edit(content, ".txt")
        if edited is not None:
            return Delivery(edited, edited != content)
    while True:
        key = dialogue.choose("Deliver it to the model? [y]es [n]o [e]dit", "yne", otherwise="n")
        if key == "y":
            return Delivery(content)
        if key == "n":
            reason = dialogue.line("Why not? (the model is told; Enter for no reason)")
            return Delivery(None, reason=reason or "")
        edited = dialogue.edit(content, ".txt")
        if edited is not None:
            return Delivery(edited, edited != content)


def ask_question(dialogue: Dialogue, title: str, question: Question) -> Optional[str]:
    """Ask what a running tool wants to know; None where the person gives no answer."""
    first, *more = question.text.rstrip("\n").split("\n")
    # Further lines must not look like lines of jpq's own.
    dialogue.say("\n".join([f"{title} asks: {first}", *("  " + line for line in more)]))
    if question.kind == "yes_no":
        key = dialogue.choose("[y]es [n]o", "yn", otherwise="n")
        return "yes" if key == "y" else "no"
    if question.kind != "choice":
        return dialogue.line(">")
    dialogue.say(
        "\n".join(f"  {n}  {one_line(text)}" for n, text in enumerate(question.choices, 1))
    )
    while True:
        line = dialogue.line(f"Number (1 to {len(question.choices)}):")
        if line is None:
            return None
        word = line.strip()
        if word.isdecimal() and 1 <= int(word) <= len(question.choices):
            return question.choices[int(word) - 1]
        if word in question.choices:
            return word


def _choose_mode(dialogue: Dialogue, what: str, now: str) -> Optional[str]:
    question = f"{what} (now {now}): [a]sk [u]nattended [e]dit [s]kip, or [c]hange nothing"
    return _MODES.get(dialogue.choose(question, "auesc", otherwise="c"))
