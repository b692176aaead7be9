"""Whether a provider takes the key: asked for its list of models, which costs nothing."""

from __future__ import annotations

from typing import Optional, Tuple

from jpq.config.keys import key_ways
from jpq.errors import ConfigError, ErrorKind, StreamError
from jpq.provider.base import ProviderRow
from jpq.provider.listing import NoListError, fetch_models
from jpq.wire.transport import Transport

WAIT_S = 5.0
# What a provider answers that does not take the key.
_REFUSED = (ErrorKind.AUTH, ErrorKind.QUOTA)
# What says nothing about the key: there may just be no such list.
_UNCLEAR = (ErrorKind.NOT_FOUND, ErrorKind.INVALID_REQUEST, ErrorKind.RATE_LIMITED)


def check_access(row: ProviderRow, key: Optional[str], model: str) -> Tuple[Optional[bool], str]:
    """Whether the provider of ``row`` lets ``key`` in, and what it said; None: it did not say.

    Waits a few seconds at most.
    """
    transport = Transport(WAIT_S)
    try:
        models = fetch_models(row, key, transport, WAIT_S)
    except ConfigError:
        return None, "not checked: nothing to ask"
    except StreamError as error:
        if error.kind in _UNCLEAR or isinstance(error, NoListError):
            return None, f"not checked: {error.message}"
        hint = " or ".join(key_ways(row.name, row.key_env))
        if error.kind in _REFUSED:
            return False, f"{row.name} refuses the key: {_sentence(error.message)} Another: {hint}"
        if error.kind is ErrorKind.MALFORMED:
            return False, f"that is not {row.name}: {_sentence(error.message)} {error.hint}"
        return False, f"{row.name} does not answer: {error.message} {error.hint}".rstrip()
    finally:
        transport.close()
    told = "takes the key" if key else "needs no key"
    listed = any(model in (each.id, each.id.partition(":")[0]) for each in models)
    named = f"{model} among them" if listed else f"{model} not among them"
    number = "1 model" if len(models) == 1 else f"{len(models)} models"
    return True, f"{row.name} {told} and lists {number}, {named}"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
