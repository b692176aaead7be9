"""``jpq doctor``: checks what a query depends on, one line each."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import socket
import sys
import tempfile
from typing import Callable, List, Optional
from urllib.parse import urlsplit

from jpq.cli.command_help import CommandParser, with_examples
from jpq.cli.environment import Environment
from jpq.config.keys import find_key, kept_keys, key_ways
from jpq.config.load import Config, load_config
from jpq.errors import ExitCode, JpqError, WriteError
from jpq.named import NamedTuple
from jpq.provider.base import ModelRef, ProviderRow
from jpq.provider.local_engine import require_engine
from jpq.provider.registry import parse_model, resolve
from jpq.provider.scripted_reply import load_script
from jpq.provider.weights import WeightsStore, find_weights
from jpq.render.lines import one_line
from jpq.terminal.caps import caps_of
from jpq.terminal.tty import interactive

_CONNECT_S = 5.0
_PORTS = {"http": 80, "https": 443}


class Check(NamedTuple):
    """What one check found; ``passed`` None means that there was nothing to check."""

    name: str
    passed: Optional[bool]
    found: str


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq doctor``."""
    parser = CommandParser(
        prog=prog,
        description="Check terminal, Python, settings, key, endpoint, access and store. "
        "Ends with 0 only if all pass.",
    )
    parser.add_argument("-m", "--model", metavar="MODEL", help="check this model's provider")
    return with_examples(
        parser, "jpq doctor -m openai/gpt-5-mini    checks another model's provider"
    )


def run(args: argparse.Namespace, env: Environment) -> int:
    """Print each check; 0 when none failed, else 1."""
    checks = list(_checks(args, env))
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark = {True: "ok", False: "FAIL", None: "-"}[check.passed]
        env.out(f"{mark:4}  {check.name:{width}}  {one_line(check.found)}\n")
    failed = any(check.passed is False for check in checks)
    return int(ExitCode.FAILURE if failed else ExitCode.OK)


def _checks(args: argparse.Namespace, env: Environment) -> List[Check]:
    config: List[Config] = []
    refs: List[ModelRef] = []
    rows: List[ProviderRow] = []
    keys: List[Optional[str]] = []

    def check_settings() -> str:
        options = {} if args.model is None else {"model": args.model}
        config.append(load_config(env.paths, env.environ, env.cwd, options=options))
        file = env.paths.config_file
        where = file if os.path.exists(file) else f"the defaults; there is no {file} yet"
        return "; ".join([where, *config[0].warnings])

    def check_model() -> str:
        name = config[0]["model"]
        if name is None:
            raise JpqError("None is configured.", hint="jpq models ls shows what can answer.")
        ref = parse_model(name, config[0].table("aliases"))
        overrides = config[0].table("providers").get(ref.provider, {})
        rows.append(resolve(ref.provider, overrides, env.environ))
        refs.append(ref)
        return str(ref)

    def check_key() -> str:
        row = rows[0]
        store = kept_keys(env.paths, config[0]["keys.store"])
        key = find_key(row.name, row.key_env, row.key_cmd, env.environ, store)
        if key is None and row.key_env is not None:
            raise JpqError("There is none.", hint=" or ".join(key_ways(row.name, row.key_env)))
        keys.append(None if key is None else key.value)
        return f"{row.name} needs none" if key is None else f"from {key.source}"

    checks = [
        Check("python", True, f"{platform.python_version()} ({sys.executable})"),
        _checked("terminal", lambda: _terminal(env)),
        _checked("settings", check_settings),
    ]
    checks.append(_checked("model", check_model) if config else _unchecked("model"))
    checks.append(_checked("key", check_key) if rows else _unchecked("key"))
    checks.append(
        _checked("endpoint", lambda: _endpoint(rows[0], refs[0].model, env))
        if rows
        else _unchecked("endpoint")
    )
    answers = bool(keys) and checks[-1].passed
    checks.append(_access(rows[0], keys[0], refs[0].model) if answers else _unchecked("access"))
    checks.append(_checked("store", lambda: _store(env.paths.data)))
    return checks


def _checked(name: str, find: Callable[[], str]) -> Check:
    try:
        return Check(name, True, find())
    except JpqError as error:
        parts = (error.message, f"({error.where})" if error.where else "", error.hint)
        return Check(name, False, " ".join(part for part in parts if part))
    except OSError as error:
        return Check(name, False, f"{error.strerror or error}.")


def _unchecked(name: str) -> Check:
    return Check(name, None, "not checked")


def _terminal(env: Environment) -> str:
    caps = caps_of(env.environ, env.stdout, env.stderr)
    asks = "can ask you" if interactive(env.environ, False) else "cannot ask you (no terminal)"
    kind = "a terminal" if caps.stdout.terminal else "not a terminal"
    return f"stdout is {kind}, {caps.stdout.encoding}; {asks}"


def _endpoint(row: ProviderRow, model: str, env: Environment) -> str:
    """What answers there, found out without asking it anything that costs. Raises JpqError."""
    if row.api == "local":
        weights = find_weights(model)
        require_engine()
        installed = WeightsStore(env.paths.data).installed(weights)
        return "installed" if installed else f"fetched at its first use: {weights.summary}"
    if row.api == "scripted":
        path = row.base_url or model
        return f"{len(load_script(path))} replies in {path}"
    proxy = _proxy_for(row.base_url)
    parts = urlsplit(proxy or row.base_url)
    address = (parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443))
    try:
        socket.create_connection(address, _CONNECT_S).close()
    except OSError as error:
        named = f"the proxy {address[0]}:{address[1]}" if proxy else row.base_url
        raise JpqError(
            f"Cannot connect to {named}: {error.strerror or error}.",
            hint="Correct the proxy variables." if proxy else "Start the server or set base_url.",
        ) from error
    through = f" (through the proxy {address[0]}:{address[1]})" if proxy else ""
    return f"{row.base_url} accepts connections{through}"


def _access(row: ProviderRow, key: Optional[str], model: str) -> Check:
    if row.api in ("local", "scripted"):
        return Check("access", True, "nobody has to be asked")
    # Loads requests, and asks somebody.
    access = importlib.import_module("jpq.cli.doctor_access")
    return Check("access", *access.check_access(row, key, model))


def _proxy_for(url: str) -> str:
    """The proxy that the environment puts before ``url``, or nothing."""
    # Loads requests, which no other command than a query and this one needs.
    proxies = importlib.import_module("jpq.wire.route").proxies_for(url)
    return str(proxies.get(urlsplit(url).scheme) or proxies.get("all") or "")


def _store(folder: str) -> str:
    existing = folder
    while not os.path.lexists(existing) and os.path.dirname(existing) != existing:
        existing = os.path.dirname(existing)
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"jpq")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise WriteError(
            f"{folder} cannot be written: {error.strerror}.",
            where=existing,
            hint="Set JPQ_HOME to a folder that you can write to.",
        ) from error
    return f"{folder} can be written"
