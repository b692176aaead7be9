"""CallHost: puts to the person what a server asks in the middle of a call."""

from __future__ import annotations

import json
from typing import Any, Callable, Optional
from urllib.parse import urlsplit

from jpq.errors import JpqError
from jpq.interrupt.cancel import CancelToken
from jpq.mcp.content import message_texts
from jpq.mcp.elicitation import BOOLEAN, CHOICE, Field, fields_of, parsed, titles
from jpq.mcp.failure import McpError
from jpq.mcp.host import Host
from jpq.mcp.protocol import INTERNAL_ERROR, INVALID_PARAMS, Json, table, text_of
from jpq.tools.definition import Question, QuestionFailed

# Asks a model: the params of ``sampling/createMessage`` to its result, unless the token says
# to stop. Raises JpqError.
Sampler = Callable[[Json, CancelToken], Json]

_DECLINED = -1  # as the specification's page on sampling says it
_TRIES = 3
_SHOWN = 1000


class CallHost(Host):
    """Answers what the server ``where`` asks while one call runs, and ``cancel`` does not say
    that it is over. ``ask`` blocks."""

    elicits = True

    def __init__(
        self,
        where: str,
        ask: Callable[[Question], str],
        sampler: Optional[Sampler],
        cwd: str,
        cancel: CancelToken,
    ) -> None:
        super().__init__([cwd])
        self._where = where
        self._ask = ask
        self._sampler = sampler
        self._cancel = cancel
        self.samples = sampler is not None

    def elicit(self, params: Json) -> Json:
        """A form, question by question, or a page to visit."""
        try:
            if params.get("mode", "form") == "url":
                return self._visit(params)
            return self._fill_in(params)
        except QuestionFailed:
            return {"action": "cancel"}

    def sample(self, params: Json) -> Json:
        """The configured model's answer, if the person lets it be asked."""
        assert self._sampler is not None
        said = [("system", text_of(params.get("systemPrompt")))]
        said += message_texts(params.get("messages"))
        shown = "\n".join(f"{role}: {text}" for role, text in said if text)
        question = f"The {self._where} wants the model to answer this:\n{_short(shown)}\nAllow it?"
        try:
            allowed = self._ask(Question(question, "yes_no")) == "yes"
        except QuestionFailed as error:
            raise McpError(f"Nobody could be asked: {error}", code=_DECLINED) from error
        if not allowed:
            raise McpError("The person declined.", code=_DECLINED)
        try:
            return self._sampler(params, self._cancel)
        except McpError:
            raise
        except JpqError as error:
            raise McpError(error.message, code=INTERNAL_ERROR) from error

    def _visit(self, params: Json) -> Json:
        url, message = text_of(params.get("url")), text_of(params.get("message"))
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise McpError(f"{url!r} is no page that can be visited.", code=INVALID_PARAMS)
        question = (
            f"The {self._where} wants you to visit a page of {parts.hostname}: {message}\n"
            f"  {url}\nOpen it in your browser?"
        )
        if self._ask(Question(question, "yes_no")) != "yes":
            return {"action": "decline"}
        _open_browser(url)
        return {"action": "accept"}

    def _fill_in(self, params: Json) -> Json:
        try:
            fields = fields_of(table(params.get("requestedSchema")))
        except ValueError as error:
            raise McpError(f"The form cannot be asked: {error}", code=INVALID_PARAMS) from error
        message = text_of(params.get("message"))
        begin = f"The {self._where} asks: {message}\nAnswer it?"
        if self._ask(Question(begin, "yes_no")) != "yes":
            return {"action": "decline"}
        content = {}
        for field in fields:
            value = self._value(field)
            if value is not None:
                content[field.name] = value
        if fields:
            shown = json.dumps(content, ensure_ascii=False, indent=2)
            if self._ask(Question(f"Send this to the {self._where}?\n{shown}", "yes_no")) != "yes":
                return {"action": "decline"}
        return {"action": "accept", "content": content}

    def _value(self, field: Field) -> Any:
        """The person's value; the default, or None, where they give none."""
        complaint = ""
        for _ in range(_TRIES):
            answer = self._ask(self._question(field, complaint))
            if not answer.strip() and (field.default is not None or not field.required):
                return field.default
            try:
                return parsed(field, answer)
            except ValueError as error:
                complaint = str(error)
        raise QuestionFailed(f"no usable answer for {field.name}")

    def _question(self, field: Field, complaint: str) -> Question:
        text = field.label + (f" ({complaint})" if complaint else "")
        if field.kind == BOOLEAN:
            return Question(text, "yes_no")
        if field.kind == CHOICE:
            return Question(text, "choice", titles(field))
        if field.options:
            text += f" (any of {', '.join(titles(field))}, with commas between)"
        if field.default is not None:
            text += f" [{field.default}]"
        elif not field.required:
            text += " (may be left empty)"
        return Question(text)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _open_browser(url: str) -> None:
    import webbrowser  # late: hardly any call wants a page opened

    webbrowser.open(url)


class StandbyHost(Host):
    """What a server is told from the start that it may ask, and answers while no call runs,
    when there is nobody to put a question to."""

    def __init__(self, cwd: str, *, elicits: bool, samples: bool) -> None:
        super().__init__([cwd])
        self.elicits = elicits
        self.samples = samples

    def elicit(self, params: Json) -> Json:
        """The person is busy."""
        return {"action": "cancel"}

    def sample(self, params: Json) -> Json:
        """No call is running that the person has allowed."""
        raise McpError("A model is asked during calls only.", code=_DECLINED)
