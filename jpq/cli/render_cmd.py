"""``jpq render``: Markdown from a file or stdin, drawn as answers are."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import functools
import select
import sys
from typing import Any, BinaryIO, Iterator, Optional

from jpq.cli.command_help import CommandParser, with_examples
from jpq.cli.environment import Environment
from jpq.config.load import Config, load_config
from jpq.errors import BadInputError, ExitCode
from jpq.render.chat import Formatter
from jpq.render.theme import Look, find_look
from jpq.render.views import make_markdown, wrap_columns
from jpq.terminal.caps import caps_of

_READ_SIZE = 65536


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq render``."""
    parser = CommandParser(
        prog=prog,
        description="Draw Markdown as answers are drawn, while it comes. "
        "On a pipe the result is laid-out plain text.",
    )
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="unset or -: stdin")
    parser.add_argument("--wrap", metavar="COLUMNS", help="auto, off or where lines end")
    parser.add_argument(
        "--color", metavar="WHEN", choices=("auto", "always", "never"), help="auto, always or never"
    )
    return with_examples(parser, "jpq render README.md", "some-program | jpq render")


def run(args: argparse.Namespace, env: Environment) -> int:
    """Run ``jpq render``. Raises JpqError, and BrokenPipeError when nobody reads any more."""
    options = {"style.wrap": _wrap(args.wrap), "style.color": args.color}
    config = load_config(
        env.paths,
        env.environ,
        env.cwd,
        options={name: value for name, value in options.items() if value is not None},
    )
    for warning in config.warnings:
        env.notice(warning)
    formatter = _formatter(env, config)
    with _source(args.file, env) as source:
        try:
            _copy(source, formatter, env)
        except BaseException:
            env.out_styled(formatter.suspend())  # no colour stays behind
            raise
    env.out_styled(formatter.close())
    return int(ExitCode.OK)


def _wrap(text: Optional[str]) -> Any:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else text


def _formatter(env: Environment, config: Config) -> Formatter:
    color = config["style.color"]
    caps = caps_of(env.environ, env.stdout, env.stderr, color=color).stdout
    look = Look(encoding=caps.encoding)
    if caps.colour:
        look = find_look(env.environ, caps, config["style.background"], config["style.link"])
    columns = functools.partial(wrap_columns, config["style.wrap"], caps, env.stdout)
    return make_markdown(look, columns, config["style.sanitize"])


@contextlib.contextmanager
def _source(name: str, env: Environment) -> Iterator[BinaryIO]:
    if name == "-":
        if env.stdin is None:
            raise BadInputError("There is nothing to draw: stdin is closed.")
        yield env.stdin
        return
    with contextlib.ExitStack() as files:
        try:
            file = files.enter_context(open(name, "rb"))
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise BadInputError(
                f"Cannot read it: {getattr(error, 'strerror', error)}.", where=name
            ) from error
        yield file


def _copy(source: BinaryIO, formatter: Formatter, env: Environment) -> None:
    """Draw what comes, as it comes, to its end."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    while True:
        if not _is_ready(source, formatter.tick()):
            env.out_styled(formatter.release())
            continue
        try:
            data = source.read1(_READ_SIZE)  # type: ignore[attr-defined]
        except OSError as error:
            raise BadInputError(f"Cannot read further: {error.strerror}.") from error
        env.out_styled(formatter.feed(decoder.decode(data, final=not data)))
        if not data:
            return


def _is_ready(source: BinaryIO, wait_s: Optional[float]) -> bool:
    """Whether there is something to read; False when ``wait_s`` passed without."""
    if wait_s is None or sys.platform == "win32":  # where only sockets can be waited for
        return True
    try:
        return bool(select.select([source], [], [], wait_s)[0])
    except (OSError, ValueError):  # no descriptor
        return True
