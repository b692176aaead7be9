"""ServerProcess: a server as a child process, its group, and what makes sure that it ends.

The child leads a session of its own, so the terminal's signals do not reach it and all that
it starts can be ended together.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import Dict, Mapping, Optional, Sequence

from jpq.mcp.failure import McpUnreachable
from jpq.named import NamedTuple
from jpq.process.guard import GENTLY, GUARD
from jpq.process.start import CannotStart, Launch, start_dialogue

# What a server may see of our environment; keys of any kind only when they are listed.
INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "WINDIR", "USERNAME"),
    *("USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES"),
    *("PROGRAMDATA", "PROCESSOR_ARCHITECTURE"),
)
_INHERITED_PREFIXES = ("LC_", "XDG_")

_LOOK_AGAIN_S = 0.02


class Grace(NamedTuple):
    """Seconds that a server has: after its input was closed, after TERM, after KILL."""

    close_s: float = 1.0
    term_s: float = 2.0
    kill_s: float = 2.0


GRACE = Grace()


def server_environ(
    environ: Mapping[str, str], more: Mapping[str, str], passed: Sequence[str] = ()
) -> Dict[str, str]:
    """The environment of a server: what is harmless in ``environ``, what is ``passed`` by
    name, and ``more``."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in INHERITED or name in passed or name.startswith(_INHERITED_PREFIXES)
    }
    return {**kept, **more}


class ServerProcess:
    """A running server. ``end`` on one thread; the pipes belong to whoever reads them."""

    def __init__(
        self, argv: Sequence[str], environ: Mapping[str, str], cwd: Optional[str], grace: Grace
    ) -> None:
        self._grace = grace
        self._guarded = contextlib.ExitStack()
        self._guarded.enter_context(GUARD.ready())
        try:
            self._child = start_dialogue(Launch(argv, cwd or os.getcwd(), environ))
        except CannotStart as error:
            self._guarded.close()
            raise McpUnreachable(
                str(error), hint="Check the server's command, and whether the program is installed."
            ) from error
        GUARD.watch(self._child.pid, GENTLY)
        self._guarded.callback(GUARD.release, self._child.pid)
        streams = self._child.stdin, self._child.stdout, self._child.stderr
        self.stdin, self.stdout, self.stderr = (stream.fileno() for stream in streams if stream)

    @property
    def pid(self) -> int:
        """Its number, and its group's."""
        return self._child.pid

    def status(self, wait_s: float = 0.0) -> Optional[int]:
        """Its exit status, or minus the signal that ended it; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._child.wait(wait_s)
        return None

    def close_stdin(self) -> None:
        """Tell it that there is no more to do. Not while another thread writes."""
        if self._child.stdin is not None:
            with contextlib.suppress(OSError):
                self._child.stdin.close()

    def end(self) -> None:
        """See it and all that it started to its end, with force if need be; its input should
        have been closed before."""
        if not self._gone_within(self._grace.close_s):
            self._signal(signal.SIGTERM)
            if not self._gone_within(self._grace.term_s):
                self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
                self._gone_within(self._grace.kill_s)
        self._guarded.close()

    def close_outputs(self) -> None:
        """Close what we read from; nobody may be reading any more."""
        for stream in (self._child.stdout, self._child.stderr):
            if stream is not None:
                stream.close()

    def _gone_within(self, seconds: float) -> bool:
        """Whether the child has ended, and its whole group with it."""
        deadline = time.monotonic() + seconds
        if self.status(seconds) is None:
            return False
        # Nobody tells when a process that is not our child ends, so it must be looked for.
        while self._group_lives():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_AGAIN_S)
        return True

    def _group_lives(self) -> bool:
        if sys.platform == "win32":
            return False
        try:
            os.killpg(self._child.pid, 0)
        except OSError:
            return False
        return True

    def _signal(self, signum: int) -> None:
        try:
            if sys.platform == "win32":
                self._child.terminate()
            else:
                os.killpg(self._child.pid, signum)
        except OSError:
            pass  # it has just ended
