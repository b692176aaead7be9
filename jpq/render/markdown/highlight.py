"""Highlighter: lines of code in pieces of one style each."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Tuple

from pygments.lexer import RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, String
from pygments.util import ClassNotFound

from jpq.render.theme import (
    BUILTIN,
    COMMENT,
    DELETED,
    INSERTED,
    KEYWORD,
    NAME,
    NUMBER,
    PLAIN,
    STRING,
    TITLE,
)

# Longer lines are data, not something to read.
LINE_LIMIT = 1000

Piece = Tuple[str, int]

_STYLES = {
    Comment: COMMENT,
    Keyword: KEYWORD,
    Name.Function: NAME,
    Name.Class: NAME,
    Name.Tag: KEYWORD,
    Name.Attribute: NAME,
    Name.Decorator: NAME,
    Name.Builtin: BUILTIN,
    Name.Exception: BUILTIN,
    Number: NUMBER,
    String: STRING,
    Generic.Deleted: DELETED,
    Generic.Inserted: INSERTED,
    Generic.Heading: TITLE,
    Generic.Subheading: NAME,
}


def highlighter(language: str) -> Optional[Highlighter]:
    """The highlighter for the name of a language; None when nobody knows it."""
    try:
        return Highlighter(get_lexer_by_name(language))
    except ClassNotFound:
        return None


class Highlighter:
    """Colours a text line by line, each once.

    Where the lexer is a plain table of states, its stack of states goes from line to line.
    What it matches over several lines in one piece (a long comment) is coloured line by line.
    """

    def __init__(self, lexer: Any) -> None:
        self._lexer = lexer
        own = type(lexer).get_tokens_unprocessed
        self._keeps_states = own is RegexLexer.get_tokens_unprocessed
        self._stack: List[str] = ["root"]

    def line(self, text: str) -> Iterator[Piece]:
        """The pieces of a line, which is given without its end. Together they are the line."""
        if len(text) > LINE_LIMIT:
            yield text, PLAIN
            return
        left = len(text)
        for kind, piece in self._tokens(text + "\n"):
            piece = piece[:left]
            left -= len(piece)
            if piece:
                yield piece, _style(kind)

    def _tokens(self, text: str) -> Iterator[Tuple[Any, str]]:
        if self._keeps_states:
            yield from self._run(text)
        else:
            for _, kind, piece in self._lexer.get_tokens_unprocessed(text):
                yield kind, piece

    def _run(self, text: str) -> Iterator[Tuple[Any, str]]:
        """RegexLexer.get_tokens_unprocessed with a stack that outlives the text."""
        states = self._lexer._tokens
        stack = self._stack
        position = 0
        while position < len(text):
            for match, action, change in states[stack[-1]]:
                found = match(text, position)
                if found is None:
                    continue
                if action is not None:
                    if callable(action) and not _is_token(action):
                        for _, kind, piece in action(self._lexer, found):
                            yield kind, piece
                    else:
                        yield action, found.group()
                position = found.end()
                if change is not None:
                    _change(stack, change)
                break
            else:
                if text[position] == "\n":
                    del stack[1:]
                yield PLAIN, text[position]
                position += 1


def _is_token(action: Any) -> bool:
    return isinstance(action, tuple)


def _change(stack: List[str], change: Any) -> None:
    if isinstance(change, tuple):
        for state in change:
            if state == "#pop":
                _pop(stack, 1)
            elif state == "#push":
                stack.append(stack[-1])
            else:
                stack.append(state)
    elif isinstance(change, int):
        _pop(stack, -change)
    else:
        stack.append(stack[-1])  # "#push"


def _pop(stack: List[str], count: int) -> None:
    del stack[max(1, len(stack) - count) :]


def _style(kind: Any) -> int:
    while kind:
        found = _STYLES.get(kind)
        if found is not None:
            return found
        kind = kind.parent
    return PLAIN
