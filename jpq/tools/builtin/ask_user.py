"""ask_user: a question of the model to the person."""

from __future__ import annotations

from typing import Any, Mapping

from jpq.interrupt.cancel import CancelToken
from jpq.tools.definition import (
    STOPPED,
    UNATTENDED,
    Description,
    Invocation,
    Progress,
    Question,
    QuestionFailed,
    Tool,
    ToolOutput,
)
from jpq.tools.schema import json_schema

_PARAMETERS = {
    "question": {"type": "string", "description": "what to ask", "required": True},
    "choices": {
        "type": "array",
        "items": {"type": "string"},
        "description": "the answers to choose from; without them any text is an answer",
    },
    "yes_no": {"type": "boolean", "description": "the answer is yes or no"},
}


class AskUserTool(Tool):
    """Asks, and delivers the answer. It needs no permission: the question is its own prompt."""

    default_run = UNATTENDED

    @classmethod
    def describe(cls, name: str, settings: Mapping[str, Any], cwd: str) -> Description:
        return Description(
            "Ask the user a question when you cannot go on without an answer.",
            json_schema(_PARAMETERS, name),
        )

    def run(self, invocation: Invocation, cancel: CancelToken, progress: Progress) -> ToolOutput:
        """Put the question and wait."""
        arguments = invocation.arguments
        choices = tuple(arguments.get("choices", ()))
        kind = "choice" if choices else "yes_no" if arguments.get("yes_no", False) else "text"
        try:
            answer = invocation.ask(Question(str(arguments["question"]), kind, choices))
        except QuestionFailed as error:
            if cancel.cancelled:
                return ToolOutput("", is_error=True, ended=STOPPED)
            return ToolOutput(f"There is no answer: {error}.", is_error=True)
        return ToolOutput(answer or "(an empty answer)")
