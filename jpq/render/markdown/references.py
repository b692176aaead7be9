"""References: the links that definitions give names to."""

from __future__ import annotations

from typing import Any, Dict

from markdown_it.common.utils import normalizeReference


class References:
    """The links that definitions gave names to, shared by all text of a document.

    ``env`` is markdown-it's. ``patient``: a name that is not defined may wait for its
    definition; once one waited in vain, none does. ``missed`` are those that were shown as
    text.
    """

    def __init__(self) -> None:
        self.env: Dict[str, Any] = {"references": {}}
        self.patient = True
        self.missed: Dict[str, None] = {}

    def defines(self, label: str) -> bool:
        """Whether ``label`` is defined by now."""
        return normalizeReference(label) in self.env["references"]

    def miss(self, label: str) -> None:
        """``label`` is shown as text."""
        self.missed[normalizeReference(label)] = None
