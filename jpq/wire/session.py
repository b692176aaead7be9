"""Sessions of requests whose connections can be cut, and that add nothing of their own."""

from __future__ import annotations

from typing import Any

import requests
import requests.adapters

from jpq.wire.connection import watch

# As many connections are kept as there were requests at a time; requests' own 10 would have
# the workers of a batch connect anew.
_UNLIMITED = 0


class _Adapter(requests.adapters.HTTPAdapter):
    """requests' own, with connections that tell their Wire about their socket."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        watch(self.poolmanager)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        watch(manager)
        return manager

    def close(self) -> None:
        """Hang up; clearing a pool manager leaves that to the garbage collector."""
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            for key in list(manager.pools.keys()):
                pool = manager.pools.get(key)
                if pool is not None:
                    pool.close()
        super().close()


class _Session(requests.Session):
    def get_redirect_target(self, resp: requests.Response) -> None:
        """None: requests looks where a redirect leads even if it is not to follow it, and takes
        a target that is no URL for a fault of the one that was asked."""


def watched_session() -> requests.Session:
    """A session whose requests must be made within ``Wire.carrying_this_thread``.

    ``.netrc``, cookies of the environment and default headers are not used.
    """
    session = _Session()
    session.trust_env = False  # or .netrc would replace the Authorization header
    session.headers.clear()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter(pool_maxsize=_UNLIMITED))
    return session
