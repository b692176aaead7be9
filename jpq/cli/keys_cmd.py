"""``jpq keys``: the API keys that jpq keeps."""

from __future__ import annotations

import argparse
import getpass
import json
import string
from typing import Dict

from jpq.cli.command_help import CommandParser, with_examples
from jpq.cli.environment import Environment
from jpq.config.keys import KeyStore, kept_keys, key_store
from jpq.config.load import Config, load_config
from jpq.errors import BadInputError, ExitCode, UsageError
from jpq.provider.registry import configured, provider_names

LONGEST_KEY = 65536  # bytes; whatever is longer is not a key

_NAME_CHARS = frozenset(string.ascii_letters + string.digits + "._-")


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq keys``."""
    parser = CommandParser(
        prog=prog,
        description="Keep API keys for providers, in a file that only you can read, or in the "
        "system's keyring (keys.store).",
    )
    actions = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    keep = actions.add_parser("set", help="keep a key; it is asked for, or read from a pipe")
    keep.add_argument("name", metavar="NAME", help="the provider's name, such as openai")
    keep.add_argument("value", nargs="*", help=argparse.SUPPRESS)  # taken only to be refused
    listing = actions.add_parser("ls", help="list the keys, and where each comes from")
    listing.add_argument("--format", choices=("text", "json"), default="text")
    remove = actions.add_parser("rm", help="forget a key")
    remove.add_argument("name", metavar="NAME")
    actions.add_parser("path", help="where the keys are kept")
    return with_examples(
        parser,
        "jpq keys set openai                     asks for it without showing it",
        "pass show openai | jpq keys set openai",
    )


def run(args: argparse.Namespace, env: Environment) -> int:
    """Run ``jpq keys``. Raises JpqError."""
    _ACTIONS[args.action](args, env)
    return int(ExitCode.OK)


def _set(args: argparse.Namespace, env: Environment) -> None:
    name: str = args.name
    if not name or not _NAME_CHARS.issuperset(name):
        # Not shown: it may be the key itself, typed in the wrong place.
        raise UsageError("That is no provider's name.", hint="For example: jpq keys set openai")
    if args.value:
        raise UsageError(
            "A key is not taken from the command line, where others can read it.",
            hint="jpq keys set NAME asks for it, or takes it from a pipe.",
        )
    store = _store(env, _config(env))
    value = _typed_or_piped(name, env)
    if not value.strip():
        raise BadInputError(f"No key for {name} was given; nothing is changed.")
    store.set(name, value)
    env.tell(f"Kept the key for {name} in {store.place}.")


def _typed_or_piped(name: str, env: Environment) -> str:
    if env.stdin is None:
        raise BadInputError("There is nothing to read the key from: stdin is closed.")
    if env.stdin.isatty():
        try:
            return getpass.getpass(f"API key for {name} (not shown): ")
        except EOFError:
            return ""
    data = env.stdin.read(LONGEST_KEY + 1)
    if len(data) > LONGEST_KEY:
        raise BadInputError("What was read is too long for a key; nothing is changed.")
    return data.decode("utf-8", "replace")


def _list(args: argparse.Namespace, env: Environment) -> None:
    sources = _sources(env)
    if args.format == "json":
        rows = [{"name": name, "source": source} for name, source in sources.items()]
        env.out(json.dumps(rows, indent=2) + "\n")
        return
    if not sources:
        env.tell("No keys. To keep one: jpq keys set NAME")
        return
    width = max(map(len, sources))
    for name, source in sources.items():
        env.out(f"{name:<{width}}  {source}\n")


def _sources(env: Environment) -> Dict[str, str]:
    """Where the key of each provider that has one comes from, by name."""
    config = _config(env)
    providers = config.table("providers")
    store = _store(env, config)
    kept = store.names()
    found: Dict[str, str] = {}
    for name in sorted({*provider_names(providers), *kept}):
        row = configured(name, providers.get(name, {}), env.environ)
        if row.key_env and env.environ.get(row.key_env, "").strip():
            found[name] = f"environment variable {row.key_env}"
        elif row.key_cmd:
            found[name] = f"command {row.key_cmd[0]}"
        elif name in kept:
            found[name] = store.source
    return found


def _config(env: Environment) -> Config:
    config = load_config(env.paths, env.environ, env.cwd)
    for warning in config.warnings:
        env.notice(warning)
    return config


def _store(env: Environment, config: Config) -> KeyStore:
    return kept_keys(env.paths, config["keys.store"])


def _remove(args: argparse.Namespace, env: Environment) -> None:
    if not _store(env, _config(env)).remove(args.name):
        raise BadInputError(
            f"There is no key for {args.name}.", hint="jpq keys ls shows which there are."
        )
    env.tell(f"Forgot the key for {args.name}.")


def _print_path(args: argparse.Namespace, env: Environment) -> None:
    env.out(key_store(env.paths).path + "\n")


_ACTIONS = {"set": _set, "ls": _list, "rm": _remove, "path": _print_path}
