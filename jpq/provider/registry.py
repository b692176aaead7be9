"""Finds providers and wire APIs by name, and loads an API only when it is needed.

Adding a wire API is one module and one row of ``APIS``; adding a provider is one row of
``jpq.provider.rows``.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict, Iterable, List, Mapping, Optional

from jpq.config.lookup import nearest_of
from jpq.errors import ConfigError
from jpq.named import NamedTuple
from jpq.provider.base import ModelRef, ProviderRow
from jpq.provider.endpoint import complete_base_url
from jpq.provider.rows import ROWS


class Api(NamedTuple):
    """A way to talk to a model.

    A wire API is a ``module`` with FRAMING, encode, make_decoder and read_response, which
    ``jpq.provider.http`` drives. ``provider`` is empty for those; else it names the class
    in ``module`` that is a Provider by itself. ``path`` is what a base URL without a path gets.
    """

    module: str
    provider: str = ""
    path: str = "/v1"


APIS: Mapping[str, Api] = {
    "openai-chat": Api("jpq.provider.openai_chat"),
    "openai-responses": Api("jpq.provider.openai_responses"),
    "anthropic": Api("jpq.provider.anthropic"),
    "google": Api("jpq.provider.google", path="/v1beta"),
    "ollama": Api("jpq.provider.ollama", path=""),
    "local": Api("jpq.provider.local", "LocalProvider"),
    "scripted": Api("jpq.provider.scripted", "ScriptedProvider"),
}

_BUILT_IN: Dict[str, ProviderRow] = {row.name: row for row in ROWS}


def load_api(name: str) -> Any:
    """The module of a wire API, or the class of an API that is a provider by itself."""
    api = APIS[name]
    module = importlib.import_module(api.module)
    return getattr(module, api.provider) if api.provider else module


def provider_names(configured: Iterable[str] = ()) -> List[str]:
    """Every provider that can be named: the built-in ones, then those ``configured``."""
    return [*_BUILT_IN, *(name for name in configured if name not in _BUILT_IN)]


def resolve(
    name: str, overrides: Mapping[str, Any], environ: Mapping[str, str], base_url: str = ""
) -> ProviderRow:
    """The row of provider ``name`` with ``[providers.NAME]`` (``overrides``) laid over it.

    A name that is not built in is a provider of the person's own and needs ``api`` and
    ``base_url``. The row's variable for the base URL wins over both, and ``base_url``, the
    command line's, over all. Where another variable than the usual one holds the key, the
    row names that. Raises ConfigError.
    """
    built_in = _BUILT_IN.get(name)
    if built_in is None and not overrides:
        raise _unknown(name)
    row = configured(name, overrides, environ)
    where = f"[providers.{name}]"
    if row.api not in APIS:
        raise _no_such_api(row.api, where)
    if APIS[row.api].provider:
        return row._replace(base_url=base_url or row.base_url)
    source = where
    variable = row.base_url_env or ""
    if base_url.strip():
        row, source = row._replace(base_url=base_url), "command line"
    elif environ.get(variable, "").strip():
        row, source = row._replace(base_url=environ[variable]), variable
    if not row.base_url.strip():
        raise ConfigError(
            f"The provider {name!r} has no base_url.",
            where=where,
            hint=f"Say where it is: jpq config set providers.{name}.base_url URL",
        )
    usual = (built_in.base_url if built_in else "") or _usual_path(row)
    return row._replace(base_url=complete_base_url(row.base_url, usual, source))


def configured(name: str, overrides: Mapping[str, Any], environ: Mapping[str, str]) -> ProviderRow:
    """The row of provider ``name`` as configured, whether it can be used or not.

    ``key_env`` is the variable that holds the key, where one does.
    """
    row = _overridden(_BUILT_IN.get(name) or ProviderRow(name, ""), overrides)
    return row._replace(key_env=key_variable(row, environ))


def key_variable(row: ProviderRow, environ: Mapping[str, str]) -> Optional[str]:
    """The first variable of the row that is set, else the usual one."""
    names = (row.key_env, *row.other_key_envs)
    return next((name for name in names if name and environ.get(name, "").strip()), row.key_env)


def parse_model(text: str, aliases: Mapping[str, str]) -> ModelRef:
    """The model meant by ``text``: an alias, or ``PROVIDER/MODEL``, whose model may hold slashes.

    Raises ConfigError, with what may have been meant.
    """
    named = aliases.get(text, text).strip()
    provider, slash, model = named.partition("/")
    if slash and provider and model:
        return ModelRef(provider, model)
    where = f"alias {text}" if named != text else ""
    if named in _BUILT_IN or slash:
        hint = f"Name one of its models, as in {provider or 'openai'}/MODEL."
        raise ConfigError(f"{named!r} names no model.", where=where, hint=hint)
    near = nearest_of(named, aliases)
    hint = f"Did you mean the alias {near!r}? " if near else ""
    raise ConfigError(
        f"{named!r} is neither PROVIDER/MODEL nor an alias.",
        where=where,
        hint=f"{hint}Name the provider too, as in ollama/{named or 'MODEL'}.",
    )


def _usual_path(row: ProviderRow) -> str:
    """A URL that has only a path: where the host is the person's, what follows it."""
    own = str(row.quirks.get("base_path", "")).strip("/")
    return f"https:///{own}" if own else f"http://{APIS[row.api].path}"


def _overridden(row: ProviderRow, table: Mapping[str, Any]) -> ProviderRow:
    return row._replace(
        api=table.get("api", row.api),
        base_url=table.get("base_url", row.base_url),
        key_env=table.get("api_key_env", row.key_env) or None,
        key_cmd=tuple(table.get("api_key_cmd", row.key_cmd)),
        headers={**row.headers, **table.get("headers", {})},
        ca_bundle=table.get("ca_bundle", row.ca_bundle),
        quirks={**row.quirks, **table.get("quirks", {})},
        other_key_envs=() if "api_key_env" in table else row.other_key_envs,
    )


def _unknown(name: str) -> ConfigError:
    near = nearest_of(name, _BUILT_IN)
    meant = f"Did you mean {near!r}? " if near else ""
    return ConfigError(
        f"There is no provider {name!r}.",
        hint=f"{meant}jpq knows {', '.join(_BUILT_IN)}; add others as [providers.{name}].",
    )


def _no_such_api(api: str, where: str) -> ConfigError:
    known = ", ".join(APIS)
    if not api:
        return ConfigError(
            "A provider of your own needs an api.", where=where, hint=f"Set api to one of {known}."
        )
    return ConfigError(f"There is no API {api!r}.", where=where, hint=f"Use one of {known}.")
