"""Held: a run of inline text whose meaning what follows may still change."""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from markdown_it.common.html_re import HTML_TAG_RE

from jpq.named import NamedTuple
from jpq.render.markdown.flanks import flanks, stand_in
from jpq.render.markdown.links import inline_target
from jpq.render.markdown.references import References
from jpq.render.markdown.spans import Span, parse_spans

# A run that is still undecided after so many characters is text from its first mark on.
HELD_BOUND = 512

# Each try parses the run; more closers than this without an end are not natural text.
_TRIES = 12

# So many marks and brackets that open something in one run are not natural text, either.
_OPENERS = 24

_TEXT = re.compile(r"[^\\`*_~\[\]!<&]+")
_ENTITY = re.compile(r"&(?:#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
_ENTITY_BEGUN = re.compile(r"&(?:#(?:x[0-9a-f]{0,6}|[0-9]{0,7})|[a-z][a-z0-9]{0,31})?$", re.I)
_AUTOLINK = re.compile(r"<[a-zA-Z][a-zA-Z0-9+.\-]{1,31}:[^<>\x00-\x20]*>|<[^<>\s\\]+@[^<>\s\\]+>")
_TICKS = re.compile("`+")
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.)*)(\]?)", re.DOTALL)

_MARKS = "*_~"
_WAIT = -1


class Decided(NamedTuple):
    """The first ``length`` characters are certain; they are ``spans``, or text as it stands."""

    length: int
    spans: Optional[List[Span]]


class Held:
    """Reads a run from its first mark on and says when it is decided.

    Everything depends on the run's first HELD_BOUND characters alone, in their order, so
    that it does not matter in which pieces they came.
    """

    def __init__(self, references: References, before: str) -> None:
        self._references = references
        self._before = before
        self.text = ""
        self.awaits = ""  # the label whose definition it waits for
        self.is_whole = False  # no more text will come
        self._at = 0
        self._brackets: List[Tuple[bool, bool]] = []  # is an image; may still be a link
        self._has_meaning = False
        self._openers = 0
        self._may_be_closed = False
        self._tries = 0

    def decide(self) -> Optional[Decided]:
        """What is certain of ``text``, to which more was added; None when nothing is."""
        decided = self._scan()
        if decided is None and self.awaits and len(self.text) > HELD_BOUND:
            self.wait_no_more()
            decided = self._scan()
        if decided is None and (len(self.text) > HELD_BOUND or self._is_unnatural()):
            return self.as_text()
        return decided

    def wait_no_more(self) -> None:
        """A definition waited for did not come in time; none is waited for from now on."""
        self._references.patient = False
        self.awaits = ""

    def _is_unnatural(self) -> bool:
        return self._openers + len(self._brackets) > _OPENERS

    def _scan(self) -> Optional[Decided]:
        text = self.text[:HELD_BOUND]
        while self._at < len(text) and not self._is_unnatural():
            found = _TEXT.match(text, self._at)
            if found is not None:
                self._at = found.end()
                continue
            after = self._step(text, self._at)
            if after == _WAIT:
                break
            self._at = after
            if not self._brackets:
                decided = self._try_to_close(text)
                if decided is not None:
                    return decided
        return None

    def as_text(self) -> Decided:
        """The first mark taken for text."""
        char = self.text[0]
        length = 1
        if char in _MARKS + "`":
            length = len(self.text) - len(self.text.lstrip(char))
        elif char == "!":
            length = 2
        return Decided(length, None)

    def rest(self) -> List[Span]:
        """All of it, at the end of the block."""
        return parse_spans(self.text, self._references.env, stand_in(self._before))[0]

    def _try_to_close(self, text: str) -> Optional[Decided]:
        if not self._openers:
            if not self._has_meaning:
                return Decided(self._at, None)
        elif not self._may_be_closed or self._tries == _TRIES:
            return None
        self._may_be_closed = False
        self._tries += 1
        before, after = stand_in(self._before), stand_in(text[self._at : self._at + 1])
        spans, closed = parse_spans(text[: self._at], self._references.env, before, after)
        return Decided(self._at, spans) if closed else None

    # Each step returns the place behind what begins at ``at``, or _WAIT.

    def _step(self, text: str, at: int) -> int:
        char = text[at]
        if char in _MARKS:
            return self._marks(text, at)
        if char == "\\":
            self._has_meaning = True
            return at + 2 if at + 1 < len(text) else _WAIT
        if char == "`":
            return self._code(text, at)
        if char == "&":
            return self._entity(text, at)
        if char == "<":
            return self._angle(text, at)
        if char == "]":
            return self._bracket_end(text, at)
        if char == "!":
            if at + 1 == len(text):
                return _WAIT
            if text[at + 1] != "[":
                return at + 1
            self._brackets.append((True, True))
            return at + 2
        self._brackets.append((False, True))
        return at + 1

    def _marks(self, text: str, at: int) -> int:
        char = text[at]
        end = at
        while end < len(text) and text[end] == char:
            end += 1
        if end == len(text):
            return _WAIT
        if char == "~" and end - at < 2:
            return end
        before = text[at - 1] if at else self._before
        opens, closes = flanks(char, before, text[end])
        if closes and self._openers:
            self._may_be_closed = True
        if opens:
            self._openers += 1
        return end

    def _code(self, text: str, at: int) -> int:
        opening = _TICKS.match(text, at)
        assert opening is not None
        if opening.end() < len(text):
            for run in _TICKS.finditer(text, opening.end()):
                if run.end() < len(text) and len(run.group()) == len(opening.group()):
                    self._has_meaning = True
                    return run.end()
        return _WAIT

    def _entity(self, text: str, at: int) -> int:
        found = _ENTITY.match(text, at)
        if found is not None:
            self._has_meaning = True
            return found.end()
        return _WAIT if _ENTITY_BEGUN.match(text, at) else at + 1

    def _angle(self, text: str, at: int) -> int:
        following = text[at + 1 : at + 2]
        if following and not (following.isalnum() or following in "/!?.+-_$%&'*=^`{|}~#"):
            return at + 1
        found = _AUTOLINK.match(text[at:]) or HTML_TAG_RE.match(text[at:])
        if found is not None:
            self._has_meaning = True
            return at + found.end()
        if following and following not in "!?":
            end = _end_of_tag(text, at + 1)
            return at + 1 if end >= 0 else _WAIT
        return _WAIT

    def _bracket_end(self, text: str, at: int) -> int:
        if not self._brackets:
            return at + 1
        following = text[at + 1 : at + 2]
        if not following and not self._ends_at(at + 1):
            return _WAIT
        is_image, may_link = self._brackets[-1]
        end = at + 1
        if may_link:
            target = inline_target(text, at + 1) if following == "(" else None
            if target == _WAIT and self._ends_at(len(text)):
                target = None
            if target == _WAIT:
                return _WAIT
            if target is None:
                target = self._reference(text, at)
                if target == _WAIT:
                    return _WAIT
            if target:
                end = target
                self._has_meaning = True
                if not is_image:  # a link holds no other link
                    self._brackets = [(image, image) for image, _ in self._brackets]
        self._brackets.pop()
        if self._openers:
            self._may_be_closed = True
        return end

    def _ends_at(self, at: int) -> bool:
        """Whether the block surely ends at ``at``."""
        return self.is_whole and at == len(self.text)

    def _reference(self, text: str, at: int) -> int:
        """The place behind the reference whose text ends at ``at``; 0: it is none."""
        label = _last_label(text[: at + 1])
        end = at + 1
        if text.startswith("[", end):
            found = _LABEL.match(text, end)
            assert found is not None
            if not found.group(2) and len(text) - found.end() < 2 and not self._ends_at(len(text)):
                return _WAIT
            if found.group(2):
                end = found.end()
                label = found.group(1) or label
        if not label.strip() or label.startswith("^"):
            return 0
        if self._references.defines(label):
            return end
        self.awaits = label
        if self._references.patient:
            return _WAIT
        self._references.miss(label)
        self.awaits = ""
        return 0


def _end_of_tag(text: str, at: int) -> int:
    """Where "<...", which is no tag yet, can become none any more; -1: not in ``text``."""
    quote = ""
    while at < len(text):
        char = text[at]
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and text[at - 1] in "= \t\n":
            quote = char
        elif char in "<>":
            return at
        at += 1
    return -1


def _last_label(text: str) -> str:
    """The text in the last pair of brackets, which ends ``text``; nothing if it holds others."""
    start = len(text) - 1
    while start > 0:
        start -= 1
        if text[start] in "[]" and (start == 0 or text[start - 1] != "\\"):
            break
    return text[start + 1 : -1] if text[start] == "[" else ""
