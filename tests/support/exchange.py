"""A provider that yields what a test scripts, with faults and silence."""

from __future__ import annotations

import threading
from typing import Any, Iterator, List, Sequence

from jpq.events.parts import StreamEvent
from jpq.provider.base import Progress, ProviderRequest

SILENCE = "silence"
ENDING = "ending"
WAIT_S = 30.0


class FakeExchange:
    """Yields a script; SILENCE lasts until the exchange is aborted, and from ENDING on only the
    end of the stream is awaited. ``silent`` is set once nothing more comes by itself."""

    def __init__(self, script: Sequence[Any]) -> None:
        self.ending = False
        self.aborted = threading.Event()
        self.silent = threading.Event()
        self._script = script

    def events(self) -> Iterator[StreamEvent]:
        try:
            for step in self._script:
                if step is SILENCE:
                    self.silent.set()
                    assert self.aborted.wait(WAIT_S)
                elif step is ENDING:
                    self.ending = True
                elif isinstance(step, BaseException):
                    raise step
                else:
                    yield step
        finally:
            self.silent.set()

    def abort(self) -> None:
        self.aborted.set()


class FakeProvider:
    """Answers each request with the next script; the last one repeats."""

    def __init__(self, *scripts: Sequence[Any]) -> None:
        self._scripts = scripts
        self.requests: List[ProviderRequest] = []

    def prepare(self, model: str, progress: Progress) -> None:
        """Nothing to prepare."""

    def exchange(self, request: ProviderRequest) -> FakeExchange:
        self.requests.append(request)
        return FakeExchange(self._scripts[min(len(self.requests), len(self._scripts)) - 1])

    def close(self) -> None:
        """Nothing is held."""
