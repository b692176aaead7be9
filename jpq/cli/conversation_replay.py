"""A saved conversation on the screen again, as it was shown when it was held."""

from __future__ import annotations

import argparse
import os

from jpq.cli.conversation_cmd import chosen
from jpq.cli.conversation_text import Region, regions
from jpq.cli.environment import Environment
from jpq.config.load import load_config
from jpq.conversation.stream import ConversationStream
from jpq.errors import UsageError
from jpq.events.turn import TextChunk
from jpq.render.aside import ViewOptions
from jpq.render.sanitize import sanitize
from jpq.render.theme import BOLD, DIM, RESET
from jpq.render.views import make_view
from jpq.store.library import Library
from jpq.terminal.caps import Caps, caps_of

# Texts that are Markdown; all others stay as they are.
_WRITTEN = ("You", "Assistant")


def replay_chosen(args: argparse.Namespace, env: Environment) -> bool:
    """Show the conversation that the options of a query name, before its question is asked.

    True when there is no question: without words it is only shown.
    """
    if args.format in ("json", "jsonl"):
        raise UsageError(
            "--replay is for people, and --format json is for programs.",
            hint="Programs read a conversation with: jpq conversation show --format json",
        )
    library = Library(os.path.join(env.paths.data, "conversations"))
    saved = library.read(chosen(args.resume, env, library))
    replay(saved.stream, env)
    if args.words or args.edit or args.retry:
        env.out_styled("\n")
        return False
    return True


def replay(stream: ConversationStream, env: Environment) -> None:
    """Show the whole conversation on stdout. Main thread.

    Adjacent responses of one kind are one Markdown text. What is no terminal gets the
    texts as they are. Raises BrokenPipeError or WriteError.
    """
    config = load_config(env.paths, env.environ, env.cwd)
    color = config["style.color"]
    caps = caps_of(env.environ, env.stdout, env.stderr, color=color)
    options = ViewOptions(
        sanitize=config["style.sanitize"], wrap=config["style.wrap"], environ=env.environ
    )
    for number, region in enumerate(regions(stream.entries)):
        env.out_styled(
            ("\n" if number else "") + _styled(f"{sanitize(region.speaker)}:", BOLD, caps) + "\n"
        )
        if region.speaker in _WRITTEN and caps.stdout.terminal:
            _show(region, env, caps, options)
        elif caps.stdout.terminal:
            env.out_styled(_styled(sanitize(region.text).rstrip("\n"), DIM, caps) + "\n")
        else:
            env.out_styled(region.text.rstrip("\n") + "\n")


def _show(region: Region, env: Environment, caps: Caps, options: ViewOptions) -> None:
    view = make_view("auto", env.stdout, env.stderr, caps, options)
    view.show(TextChunk(region.text))
    view.close()
    for _, error in view.flush():
        raise error


def _styled(text: str, style: str, caps: Caps) -> str:
    return f"{style}{text}{RESET}" if caps.stdout.colour else text
