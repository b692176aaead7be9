"""``jpq mcp import``: takes over the servers of another client."""

from __future__ import annotations

import os
from typing import Tuple

from jpq.cli.environment import Environment
from jpq.config.files import read_text, write_private
from jpq.config.load import Config
from jpq.config.nested import join_name
from jpq.config.sources import file_source
from jpq.config.toml_edit import with_setting
from jpq.config.toml_text import parse
from jpq.errors import BadInputError, ConfigError, ExitCode
from jpq.mcp.foreign import read_foreign
from jpq.mcp.settings import configured_servers
from jpq.render.lines import one_line


def import_servers(file: str, env: Environment, *, force: bool) -> int:
    """Add the servers in ``file`` to the person's configuration. Raises JpqError."""
    where, text = _read(file, env)
    foreign = read_foreign(text, where)
    target = env.paths.config_file
    config_text = read_text(target) or ""
    known = parse(config_text, target).get("mcp", {})
    added = []
    for name, settings in foreign.servers.items():
        if name in known and not force:
            env.notice(f"{one_line(name)}: configured already; --force replaces it.")
            continue
        changed = with_setting(config_text, ("mcp", name), dict(settings))
        if changed is None:
            raise ConfigError(
                f"{join_name(('mcp', name))} cannot be added without changing more of the file.",
                where=target,
                hint="Add it by hand: jpq config edit",
            )
        config_text = changed
        added.append(name)
    for note in foreign.notes:
        env.notice(one_line(note))
    if added:
        configured_servers(Config([file_source(target, config_text, [])]))
        write_private(target, config_text)
    names = ", ".join(map(one_line, added)) or "nothing"
    env.notice(f"Took over {names} into {target}.")
    return int(ExitCode.OK)


def _read(file: str, env: Environment) -> Tuple[str, str]:
    if file == "-":
        if env.stdin is None:
            raise BadInputError("There is no stdin to read.")
        return "stdin", env.stdin.read().decode("utf-8", "replace")
    path = os.path.join(env.cwd, os.path.expanduser(file))
    text = read_text(path)
    if text is None:
        raise BadInputError("There is no such file.", where=path)
    return path, text
