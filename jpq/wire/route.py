"""How a server is reached: through which proxy, and whose certificates are believed.

Both come from the process's environment, as curl and requests read it.
"""

from __future__ import annotations

import os
from typing import Mapping, Optional, Union
from urllib.parse import urlsplit

import requests.utils

from jpq.errors import ErrorKind, StreamError
from jpq.named import NamedTuple

_CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


class Authorities(NamedTuple):
    """Who may sign a server's certificate.

    ``verify`` is a file or folder, or True for the ones that come with requests;
    ``setting`` names where the file or folder was set.
    """

    verify: Union[bool, str] = True
    setting: str = ""


def authorities_for(ca_bundle: Optional[str], where: str) -> Authorities:
    """The provider's own bundle, else the environment's; raises StreamError if it is missing."""
    found = Authorities(ca_bundle, "ca_bundle") if ca_bundle else _from_environment()
    if isinstance(found.verify, str) and not os.path.exists(found.verify):
        raise StreamError(
            ErrorKind.TLS,
            f"The certificate file {found.verify} does not exist.",
            where=where,
            hint=f"It is named by {found.setting}: correct or remove that setting.",
        )
    return found


def _from_environment() -> Authorities:
    for name in _CA_VARIABLES:
        if os.environ.get(name):
            return Authorities(os.environ[name], name)
    return Authorities()


def proxies_for(url: str) -> Mapping[str, str]:
    """The environment's proxies, or none for this machine and for what no_proxy lists."""
    host = (urlsplit(url).hostname or "").lower()
    if is_loopback(host):
        return {}
    return dict(requests.utils.get_environ_proxies(url))


def is_loopback(host: str) -> bool:
    """Whether ``host`` names this machine, judged without a look-up."""
    if host in ("localhost", "::1", "0.0.0.0") or host.endswith(".localhost"):
        return True
    return host.startswith("127.") and requests.utils.is_ipv4_address(host)
