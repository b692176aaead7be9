"""Folds what a schema leaves to choose at its top into one object. Loaded when one does.

OpenAI and Anthropic refuse every request in which the parameters of one tool have ``oneOf``,
``anyOf``, ``allOf``, ``enum`` or ``not`` at the top (deeper down they are taken), and Gemini has
no word for it. Servers of others have such tools.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from jpq.provider.wire_thread import FOLDED

_DEEPEST = 8  # references and choices within each other


def folded(schema: Mapping[str, Any]) -> Dict[str, Any]:
    """An object schema without any of ``FOLDED`` at its top, for the values that ``schema`` is for.

    It may allow more: a call is checked against ``schema`` itself before it runs.
    """
    return _Folder(schema).fold(schema, 0)


class _Folder:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def fold(self, schema: Mapping[str, Any], depth: int) -> Dict[str, Any]:
        rest = {name: value for name, value in schema.items() if name not in FOLDED}
        rest["type"] = "object"
        if depth < _DEEPEST:
            for part in [*self._referred(schema), *_list(schema.get("allOf"))]:
                _demand(rest, self._fold_part(part, depth))
            for field in ("anyOf", "oneOf"):
                choices = [self._fold_part(c, depth) for c in _list(schema.get(field))]
                if choices:
                    _demand(rest, _any_of(choices))
        return rest

    def _fold_part(self, part: Any, depth: int) -> Dict[str, Any]:
        return self.fold(part if isinstance(part, dict) else {}, depth + 1)

    def _referred(self, schema: Mapping[str, Any]) -> List[Any]:
        """What the reference in ``schema`` points at, if it is in this document."""
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return []
        found: Any = self._root
        for step in reference[1:].split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
        return [found]


def _demand(schema: Dict[str, Any], part: Mapping[str, Any]) -> None:
    """Lay ``part``, which holds as well, under ``schema``."""
    for name, value in part.items():
        known = schema.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            schema[name] = {**known, **{n: v for n, v in value.items() if n not in known}}
        elif name == "required":
            schema[name] = list(dict.fromkeys([*_names(known), *_names(value)]))
        else:
            schema.setdefault(name, value)


def _any_of(choices: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    """An object that is like one of ``choices``: it has the properties of all of them, each as
    any of them has it, and must have those that all of them demand."""
    kinds: Dict[str, List[Any]] = {}
    for choice in choices:
        properties = choice.get("properties")
        for name, kind in properties.items() if isinstance(properties, dict) else ():
            known = kinds.setdefault(name, [])
            if kind not in known:
                known.append(kind)
    demanded = [_names(choice.get("required")) for choice in choices]
    required = [n for n in demanded[0] if all(n in names for names in demanded)]
    properties = {n: k[0] if len(k) == 1 else {"anyOf": k} for n, k in kinds.items()}
    return {"properties": properties, **({"required": required} if required else {})}


def _names(value: Any) -> List[str]:
    return [name for name in _list(value) if isinstance(name, str)]


def _list(value: Any) -> List[Any]:
    return value if isinstance(value, list) else []
