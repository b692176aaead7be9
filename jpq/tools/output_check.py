"""OutputCheck: what is wrong with an answer that had to match a schema. Loaded for ``--schema``."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from jpq.tools.arguments import Mismatch, compiled
from jpq.tools.schema import json_text, shortened

_VALUE_SHOWN = 80


class UnusableSchema(ValueError):
    """The schema itself is wrong."""


class OutputCheck:
    """Checks values against one schema. Nothing is coerced and no default filled in. One thread."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Raises UnusableSchema."""
        try:
            self._validate = compiled(schema)
        except Exception as error:
            # The library fails in many ways on a schema that is wrong.
            said = shortened(" ".join(str(error).split()), 200)
            raise UnusableSchema(said or type(error).__name__) from error

    def complaint(self, value: Any) -> Optional[str]:
        """What is wrong with ``value``, in words that let the model mend it; None: nothing."""
        try:
            self._validate(value)
        except Mismatch as error:
            said = str(error.message).replace("data", "the answer", 1)
            if error.rule in ("required", "additionalProperties"):
                return said
            return f"{said}, and it is {shortened(json_text(error.value), _VALUE_SHOWN)}"
        except RecursionError:
            return "the answer is nested too deep"
        except Exception as error:
            # Such as a number that is not finite, which the library cannot divide.
            return f"it cannot be checked: {shortened(str(error), _VALUE_SHOWN)}"
        return None
