"""Keeps secrets out of everything that is shown or logged."""

from __future__ import annotations

import re
from typing import Match, Tuple

SHORTEST = 4  # masking anything shorter would only garble the text
SHOW_TAIL_FROM = 13  # a shorter secret gives away too much of itself with four characters

# Patterns are compiled when they are first used, which many runs never do.
_CREDENTIAL = (
    r"""(\b(?:(?:proxy-)?authorization|(?:x-)?(?:goog-)?api-?key|(?:set-)?cookie)"""
    r"""['"]?\s*[:=,]\s*(?:b?['"])?)"""  # as in a header, in a dict's or in a pair's repr
    r"""((?:bearer|basic|token)\s+)?([^\s'",}\])]+)"""
)
# One of these is in whatever that matches; most texts have none of them.
_CREDENTIAL_WORDS = ("auth", "key", "cookie")
# A scheme is bounded, or a long text of dots would be searched from each of them to its end.
_URL_USER = r"(\b[a-z][a-z0-9+.-]{0,30}://)[^\s/@:]*:[^\s/@]+@"
_URL_QUERY = r"([?&](?:api_?key|key|token|access_token|auth)=)([^\s&#'\"]+)"
_NAMES_OF_KEYS = ("key", "token", "secret", "pass", "pwd", "auth", "credential")
_NAMES_OF_SESSIONS = ("cookie", "session", "signature", "jwt")


class Secrets:
    """The secrets of this process. ``add`` on the main thread, ``mask`` on any."""

    def __init__(self) -> None:
        self._known: Tuple[str, ...] = ()

    def add(self, value: str) -> None:
        """Mask ``value`` from now on."""
        value = value.strip()
        if len(value) >= SHORTEST and value not in self._known:
            # A new tuple each time, longest first: readers see the old or the new one, and
            # a secret that contains another is masked whole.
            self._known = tuple(sorted(self._known + (value,), key=len, reverse=True))

    def mask(self, text: str) -> str:
        """``text`` with every known secret and every credential in a header or URL masked."""
        for secret in self._known:
            if secret in text:
                text = text.replace(secret, masked(secret))
        lower = text.lower()
        if any(word in lower for word in _CREDENTIAL_WORDS):
            text = re.sub(_CREDENTIAL, _masked_header, text, flags=re.IGNORECASE)
        if "@" in text:
            text = re.sub(_URL_USER, r"\1***:***@", text, flags=re.IGNORECASE)
        if "=" in text:
            text = re.sub(_URL_QUERY, _masked_query, text, flags=re.IGNORECASE)
        return text

    def mask_setting(self, name: str, value: str) -> str:
        """The value of a setting; all of it is masked where its last name says it is secret."""
        last = name.rsplit(".", 1)[-1]
        if says_secret(last) and not last.endswith(("_env", "_cmd")):
            return masked(value)
        return self.mask(value)


def says_secret(name: str) -> bool:
    """Whether the ``name`` of a header or a setting says that its value is a secret."""
    lower = name.lower()
    return any(word in lower for word in (*_NAMES_OF_KEYS, *_NAMES_OF_SESSIONS))


def masked(secret: str) -> str:
    """What is shown for a secret: its last four characters at most."""
    if secret.startswith("***"):
        return secret  # masked already
    return f"***{secret[-4:]}" if len(secret) >= SHOW_TAIL_FROM else "***"


def _masked_header(found: Match[str]) -> str:
    return f"{found.group(1)}{found.group(2) or ''}{masked(found.group(3))}"


def _masked_query(found: Match[str]) -> str:
    return found.group(1) + masked(found.group(2))
