"""``jpq config``: the settings in effect, where each comes from, and how to change them."""

from __future__ import annotations

import argparse
import os
import pkgutil
from typing import Any, Iterable, List, Mapping

from jpq.cli.command_help import CommandParser, with_examples
from jpq.cli.edit_checked import edit_checked
from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.config.check import checked_value
from jpq.config.file_lock import only_writer
from jpq.config.files import decoded, read_text, write_private
from jpq.config.load import Config, check_model, load_config
from jpq.config.lookup import find_owner, find_row, is_group, nearest
from jpq.config.nested import Path, join_name, leaves, split_name
from jpq.config.secrets import Secrets
from jpq.config.sources import (
    CONFIG,
    INSTRUCTIONS,
    file_source,
    find_project_file,
    read_bytes,
    value_in_text,
)
from jpq.config.table import ROWS, Row
from jpq.config.toml_edit import to_toml, with_setting
from jpq.config.toml_text import parse
from jpq.config.trust import TrustStore
from jpq.errors import BadInputError, ConfigError, ExitCode, UsageError

_NEW_FILE = "# jpq's settings; see docs/configuration.md.\n"


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq config``."""
    parser = CommandParser(
        prog=prog,
        description="Show and change settings.",
    )
    actions = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    show = actions.add_parser("show", help="settings in effect, and where each comes from")
    show.add_argument("--format", choices=("text", "json"), default="text")
    explain = actions.add_parser("explain", help="what a setting is for and who sets it")
    explain.add_argument("key", metavar="KEY")
    actions.add_parser("path", help="where your configuration file is")
    actions.add_parser("edit", help="open it in $VISUAL or $EDITOR; checked before it is used")
    change = actions.add_parser("set", help="change one setting in your configuration file")
    change.add_argument("key", metavar="KEY")
    change.add_argument("value", metavar="VALUE", help="a string, or a value as TOML writes it")
    trust = actions.add_parser("trust", help="use this project's settings and instructions")
    trust.add_argument("--revoke", action="store_true", help="do not use it any more")
    actions.add_parser("schema", help="the JSON Schema of the lines of --format jsonl")
    return with_examples(
        parser, "jpq config set model local/smollm2", "jpq config explain request.idle_timeout_s"
    )


def run(args: argparse.Namespace, env: Environment) -> int:
    """Run ``jpq config``. Raises JpqError."""
    _ACTIONS[args.action](args, env)
    return int(ExitCode.OK)


def _show(args: argparse.Namespace, env: Environment) -> None:
    config = _load(env)
    secrets = _secrets(config, env)
    rows = [
        {"key": name, "value": _masked(name, value, secrets), "source": secrets.mask(source)}
        for name, value, source in config.settings()
    ]
    if args.format == "json":
        env.out(to_json(rows))
        return
    settings = [f"{row['key']} = {to_toml(row['value'])}" for row in rows]
    width = min(44, max(map(len, settings)))
    for text, row in zip(settings, rows):
        env.out(f"{text:<{width}}  # {row['source']}\n")


def _explain(args: argparse.Namespace, env: Environment) -> None:
    path = _path(args.key)
    row = _owner(path)
    config = _load(env)
    secrets = _secrets(config, env)
    name = join_name(path)
    lines = [name, f"  {row.help}", f"  type: {row.type}{_limits(row)}"]
    lines += [f"  option: {row.option}"] if row.option else []
    lines.append("Set by, the last one counts:")
    for source, value in config.explain(name) or [("default", None)]:
        text = "unset" if value is None else to_toml(_masked(name, value, secrets))
        lines.append(f"  {source}: {text}")
    env.out("\n".join(lines) + "\n")


def _limits(row: Row) -> str:
    texts = [f"in {row.unit}"] if row.unit else []
    texts += [row.bound] if row.bound else []
    texts += ["one of " + ", ".join(row.choices)] if row.choices else []
    return "".join(f", {text}" for text in texts)


def _print_schema(args: argparse.Namespace, env: Environment) -> None:
    data = pkgutil.get_data("jpq", "events/schema.json")
    assert data is not None
    env.out(data.decode("utf-8"))


def _print_path(args: argparse.Namespace, env: Environment) -> None:
    env.out(env.paths.config_file + "\n")


def _edit(args: argparse.Namespace, env: Environment) -> None:
    file = env.paths.config_file
    edit_checked(
        file,
        _NEW_FILE,
        lambda text: _checked_file(file, text),
        env,
        what="Your configuration",
        again="jpq config edit",
        instead="use: jpq config set KEY VALUE",
    )


def _set(args: argparse.Namespace, env: Environment) -> None:
    path = _path(args.key)
    _owner(path)
    file = env.paths.config_file
    value = value_in_text(path, args.value, "jpq config set")
    row = find_row(path)
    if row is not None:
        checked_value(row, path, value, lambda _: "jpq config set")
    # Not beside the file: its folder may be one that is kept in step with other machines.
    with only_writer(os.path.join(env.paths.state, "config.lock")):
        old = read_text(file)
        text = _NEW_FILE if old is None else old
        parse(text, file)  # settings that are wrong may be what is being mended
        new = with_setting(text, path, value)
        if new is None:
            raise ConfigError(
                f"{join_name(path)} cannot be set without changing more of the file.",
                where=file,
                hint="Set it by hand: jpq config edit",
            )
        warnings = _checked_file(file, new)
        write_private(file, new)
    _tell_all(warnings, env)
    env.tell(f"Set {join_name(path)} in {file}.")


def _checked_file(file: str, text: str) -> List[str]:
    """The warnings about ``text`` as the configuration file. Raises ConfigError."""
    warnings: List[str] = []
    check_model(Config([file_source(file, text, warnings)]))
    return warnings


def _trust(args: argparse.Namespace, env: Environment) -> None:
    found = [find_project_file(env.paths, env.cwd, name) for name in (CONFIG, INSTRUCTIONS)]
    files = [file for file in found if file is not None]
    if not files:
        raise BadInputError(
            f"There is no .jpq/{CONFIG} or .jpq/{INSTRUCTIONS} here or in a folder above.",
            where=env.cwd,
        )
    for file in files:
        _trust_file(file, args.revoke, env)


def _trust_file(file: str, revoke: bool, env: Environment) -> None:
    data = read_bytes(file)
    trust = TrustStore(env.paths.state)
    if revoke:
        trust.remember(file, data, False)
        env.tell(f"Not used any more: {file}")
        return
    warnings: List[str] = []
    text = decoded(data, file)
    told = f"It tells the model {len(text.split())} words with each question."
    if os.path.basename(file) == CONFIG:
        names = [join_name(path) for path, _ in leaves(file_source(file, text, warnings).values)]
        told = f"It sets: {', '.join(names) or 'nothing'}"
    trust.remember(file, data, True)
    _tell_all(warnings, env)
    env.tell(f"Used until it changes: {file}")
    env.tell(told)


def _load(env: Environment) -> Config:
    config = load_config(env.paths, env.environ, env.cwd)
    _tell_all(config.warnings, env)
    return config


def _tell_all(lines: Iterable[str], env: Environment) -> None:
    for line in lines:
        env.notice(line)


def _path(key: str) -> Path:
    try:
        return split_name(key)
    except ValueError as error:
        raise UsageError(f"{key!r} is no setting: {error}.") from None


def _owner(path: Path) -> Row:
    row = find_owner(path)
    if row is None and is_group(path):
        start = join_name(path) + "."
        below = [row.name for row in ROWS if row.name.startswith(start)]
        raise UsageError(
            f"{join_name(path)} is a table of settings, and none itself.",
            hint=", ".join(below) or "jpq config show lists those that are set.",
        )
    if row is None:
        suggestion = nearest(path)
        raise UsageError(
            f"There is no setting {join_name(path)}.",
            hint=f"Did you mean {suggestion}?" if suggestion else "jpq config show lists them.",
        )
    return row


def _secrets(config: Config, env: Environment) -> Secrets:
    """The keys in the environment that settings name, to be masked wherever they show up."""
    secrets = Secrets()
    for name, value, _ in config.settings():
        if name.endswith(".api_key_env"):
            secrets.add(env.environ.get(value, ""))
    return secrets


def _masked(name: str, value: Any, secrets: Secrets) -> Any:
    if isinstance(value, str):
        return secrets.mask_setting(name, value)
    if isinstance(value, Mapping):
        return {key: _masked(f"{name}.{key}", item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(name, item, secrets) for item in value]
    return value


_ACTIONS = {
    "show": _show,
    "explain": _explain,
    "path": _print_path,
    "schema": _print_schema,
    "edit": _edit,
    "set": _set,
    "trust": _trust,
}
