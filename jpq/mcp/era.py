"""Era: finds out which generation of the protocol a server speaks, and greets it so.

A server of the modern era (2026-07-28) answers ``server/discover`` and is then simply asked.
An older one is greeted with ``initialize``. The rules are those of the specification's page
on versioning and of its two pages on transports.
"""

from __future__ import annotations

import threading
import time
from typing import Callable, Optional, Tuple

from jpq.mcp.failure import McpClosed, McpError, McpRefused, McpTimedOut
from jpq.mcp.link import Link, Pending
from jpq.mcp.protocol import (
    LEGACY,
    META,
    MODERN,
    MODERN_CODES,
    UNSUPPORTED_VERSION,
    Json,
    table,
    text_of,
)
from jpq.mcp.transport import Transport
from jpq.named import NamedTuple

# How long a silent stdio server is taken for one that is still starting, not for an old one.
PROBE_S = 3.0


class Server(NamedTuple):
    """What a server said about itself."""

    version: str
    modern: bool
    capabilities: Json
    info: Json
    instructions: str = ""

    def has(self, feature: str, detail: str = "") -> bool:
        """Whether it declares ``feature``, and ``detail`` of it."""
        declared = self.capabilities.get(feature)
        return isinstance(declared, dict) and (not detail or bool(declared.get(detail)))


class Greeting:
    """One connection's beginning. One thread.

    ``meta`` makes the ``_meta`` that every request of a modern revision carries. ``known``
    is the revision that this server spoke before, or that it is to be held to.
    """

    def __init__(
        self,
        link: Link,
        transport: Transport,
        client_info: Json,
        capabilities: Json,
        meta: Callable[[str], Json],
        deadline: float,
    ) -> None:
        self._link = link
        self._transport = transport
        self._client_info = client_info
        self._capabilities = capabilities
        self._meta = meta
        self._deadline = deadline

    def greet(self, known: Optional[str] = None) -> Server:
        """Agree on a revision. Raises McpError."""
        if known in LEGACY:
            return self._initialized(self._begin_initialize(known))
        try:
            return self._discovered(known or MODERN[0])
        except _SpeaksOld as old:
            if known is not None:
                raise old.error from None
            return self._initialized(self._begin_initialize(old.version))
        except McpClosed:
            # Old servers of one kind end where the first they hear is not ``initialize``.
            if known is not None or not self._link.start_again():
                raise
            return self._initialized(self._begin_initialize(LEGACY[0]))

    def _left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def _discovered(self, version: str, tried: Tuple[str, ...] = ()) -> Server:
        """As a modern server. Raises _SpeaksOld where it is none."""
        self._transport.agreed(version, True)
        pending = self._link.begin("server/discover", {"_meta": self._meta(version)})
        if not self._transport.http:
            server = self._outwaited(pending)
            if server is not None:
                return server
        try:
            told = self._link.wait(pending, self._left())
        except McpTimedOut:
            raise
        except McpError as error:
            return self._not_discovered(error, version, tried)
        supported = told.get("supportedVersions")
        common = _common(supported)
        if version not in common:
            if not common or common[0] in tried:
                raise _SpeaksOld(_no_common(supported, self._transport.where), supported) from None
            self._transport.agreed(common[0], True)
            version = common[0]
        info = told.get("serverInfo") or table(told.get("_meta")).get(META + "serverInfo")
        return Server(
            version,
            True,
            table(told.get("capabilities")),
            table(info),
            text_of(told.get("instructions")),
        )

    def _not_discovered(self, error: McpError, version: str, tried: Tuple[str, ...]) -> Server:
        if error.code is None and not _may_be_old(error):
            raise error  # no answer of the server's
        if error.code not in MODERN_CODES:
            raise _SpeaksOld(error) from None
        if error.code != UNSUPPORTED_VERSION:
            raise error
        supported = table(error.data).get("supported")
        # The refused one is among them where the server has just begun to speak it.
        common = [each for each in _common(supported) if each not in tried]
        if common:
            return self._discovered(common[0], (*tried, version))
        raise _SpeaksOld(_no_common(supported, self._transport.where), supported) from None

    def _outwaited(self, discover: Pending) -> Optional[Server]:
        """A server that says nothing for a while may be old and ignore what it does not know,
        or be slow to start: it is greeted the old way as well, and its first yes counts.
        None where the answer to ``discover`` decides."""
        if discover.settled.wait(min(PROBE_S, self._left() / 2)):
            return None
        initialize = self._begin_initialize(LEGACY[0])
        either = threading.Event()
        discover.tell(either)
        initialize.tell(either)
        while True:
            either.clear()
            if initialize.succeeded:
                self._link.give_up(discover, "not needed")
                return self._initialized(initialize)
            hopeless = discover.settled.is_set() and initialize.settled.is_set()
            if discover.succeeded or hopeless or not either.wait(self._left()):
                self._link.give_up(initialize, "not needed")
                return None

    def _begin_initialize(self, version: str) -> Pending:
        self._transport.agreed(version, False)
        return self._link.begin(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": self._capabilities,
                "clientInfo": self._client_info,
            },
        )

    def _initialized(self, pending: Pending) -> Server:
        told = self._link.wait(pending, self._left())
        version = text_of(told.get("protocolVersion"))
        if version not in LEGACY:
            raise _no_common([version], self._transport.where)
        self._transport.agreed(version, False)
        self._link.notify("notifications/initialized")
        self._transport.ready()
        return Server(
            version,
            False,
            table(told.get("capabilities")),
            table(told.get("serverInfo")),
            text_of(told.get("instructions")),
        )


class _SpeaksOld(Exception):
    """The server is none of the modern era; ``error`` is how it said so."""

    def __init__(self, error: McpError, supported: object = ()) -> None:
        super().__init__(error.message)
        self.error = error
        offered = supported if isinstance(supported, list) else []
        self.version = next((each for each in LEGACY if each in offered), LEGACY[0])


def _may_be_old(error: McpError) -> bool:
    """Whether this is how an older HTTP server answers what it does not know."""
    return isinstance(error, McpRefused) and (error.status < 500 or error.status in (500, 501))


def _common(supported: object) -> Tuple[str, ...]:
    offered = supported if isinstance(supported, list) else []
    return tuple(version for version in MODERN if version in offered)


def _no_common(supported: object, where: str) -> McpError:
    return McpError(
        f"The server speaks {supported or 'no revision it names'}, of which jpq speaks none.",
        where=where,
        hint=f"jpq speaks {', '.join((*MODERN, *LEGACY))}.",
    )
