"""``--dry-run``: the request that would be sent, and nothing sent."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Mapping, NoReturn, Optional, Sequence

from jpq.cli.environment import Environment
from jpq.config.keys import find_key, kept_keys
from jpq.config.load import Config
from jpq.config.paths import Paths
from jpq.config.secrets import Secrets, says_secret
from jpq.conversation.event import ChatRequest, Draft
from jpq.provider.base import ModelRef, Progress, ProviderRequest, ProviderRow
from jpq.provider.http import secrets_of
from jpq.provider.registry import APIS, load_api, resolve
from jpq.session import TurnSetup, request_maker
from jpq.wire.failure import shown
from jpq.wire.message import HttpRequest

_MASKED = "***"


class WouldSend(Exception):
    """Raised in the place of an exchange."""

    def __init__(self, request: HttpRequest, key: Optional[str], lacks_key: bool) -> None:
        super().__init__(request.url)
        self.request = request
        self.key = key
        self.lacks_key = lacks_key


class DryProvider:
    """A Provider that encodes requests and sends none. Main thread."""

    def __init__(self, row: ProviderRow, key: Optional[str]) -> None:
        self._row = row
        self._key = key

    def prepare(self, model: str, progress: Progress) -> None:
        """Nothing: what is not asked need not be there."""

    def exchange(self, request: ProviderRequest) -> NoReturn:
        """Raises WouldSend. What is no server's is shown as the chat API has it."""
        row = self._row
        api = row.api if not APIS[row.api].provider else "openai-chat"
        lacks_key = self._key is None and row.key_env is not None
        raise WouldSend(load_api(api).encode(request, row, self._key), self._key, lacks_key)

    def close(self) -> None:
        """Nothing is held."""


def open_dry(
    model: ModelRef,
    config: Config,
    paths: Paths,
    environ: Mapping[str, str],
    learn_key: Callable[[str], None],
    base_url: str = "",
) -> DryProvider:
    """As ``jpq.session.open_provider``, but a key need not be there, and no command is run
    for it."""
    overrides = config.table("providers").get(model.provider, {})
    row = resolve(model.provider, overrides, environ, base_url)
    if APIS[row.api].provider:
        return DryProvider(row._replace(base_url=f"{row.api}:"), None)
    store = kept_keys(paths, config["keys.store"])
    key = find_key(row.name, row.key_env, (), environ, store)
    if key is not None:
        learn_key(key.value)
    return DryProvider(row, None if key is None else key.value)


def show_request(setup: TurnSetup, requests: Sequence[Draft], env: Environment) -> int:
    """Write the first request of the turn to stdout, as JSON with its keys masked."""
    setup.journal.commit(requests)  # which is in memory only
    continues = not any(isinstance(draft.event, ChatRequest) for draft in requests)
    try:
        setup.provider.exchange(request_maker(setup)(True, continues))
    except WouldSend as would:
        env.out(json.dumps(_told(would), indent=2, ensure_ascii=False) + "\n")
        if would.lacks_key:
            env.notice("No key is set, so the request is shown without.")
    return 0


def _told(would: WouldSend) -> Dict[str, Any]:
    request = would.request
    secrets: Secrets = secrets_of(request, would.key)
    headers = {"Content-Type": "application/json", **request.headers}
    return {
        "method": request.method,
        "url": shown(request.url),
        "headers": {name: _masked(name, value, secrets) for name, value in headers.items()},
        "body": request.body,
    }


def _masked(name: str, value: str, secrets: Secrets) -> str:
    return _MASKED if says_secret(name) or secrets.mask(value) != value else value
