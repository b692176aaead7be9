"""``jpq chat``: opens everything, talks, and closes it again."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import sys
from typing import Iterator, Optional, Tuple

from jpq import __version__
from jpq.cli.chat.greeting import greet, say_goodbye
from jpq.cli.chat.messages import PipedMessages, TypedMessages
from jpq.cli.chat.place import Place
from jpq.cli.chat.signals import PromptSignals
from jpq.cli.chat.state import Chat
from jpq.cli.chat.talk import Messages, Talk
from jpq.cli.chat.turns import Turns
from jpq.cli.chat.voice import Voice
from jpq.cli.environment import Environment
from jpq.cli.log import run_log
from jpq.cli.prompt_text import joined_words
from jpq.cli.query_cmd import open_view
from jpq.cli.query_setup import NoModelError, show_ways_on
from jpq.interrupt.signals import SignalRouter, end_by_signal, is_key
from jpq.store.workspace import workspace_of
from jpq.terminal.caps import ChannelFacts, find_caps
from jpq.terminal.line_editor import LineEditor, open_line_editor
from jpq.terminal.tty import interactive

Ended = Tuple[Optional[int], int]  # the signal to end by, and the exit code


def run(args: argparse.Namespace, env: Environment) -> int:
    """Talk until the person leaves; the exit code. Ends the process by the signal that ended
    a turn. Raises what comes before the first prompt, and a BaseException for a signal."""
    if args.format == "jsonl":
        return int(importlib.import_module("jpq.cli.chat_jsonl").run(args, env))
    gc.enable()  # unlike a command, a chat lives for long
    with run_log(args, env) as log:
        try:
            with SignalRouter() as router, _editor(args, env) as editor:
                chat = Chat(args, env, log, interactive(env.environ, args.non_interactive))
                log.info("jpq %s talks with %s", __version__, chat.model)
                signum, code = _talk(chat, editor, router)
        except NoModelError:
            return show_ways_on(env)
    if signum is not None:
        end_by_signal(signum)
    return code


@contextlib.contextmanager
def _editor(args: argparse.Namespace, env: Environment) -> Iterator[Optional[LineEditor]]:
    """Where the person types; None where lines come from a pipe, a file, or a program."""
    forbidden = args.non_interactive or env.environ.get("CI", "").lower() == "true"
    if forbidden or env.stdin is None or not env.stdin.isatty():
        yield None
        return
    try:
        editor = open_line_editor(env.environ)
    except OSError:
        yield None
        return
    try:
        yield editor
    finally:
        editor.close()


def _talk(chat: Chat, editor: Optional[LineEditor], router: SignalRouter) -> Ended:
    args, env = chat.args, chat.env
    facts = ChannelFacts(editor is not None, getattr(sys.stderr, "encoding", None) or "utf-8")
    caps = find_caps(env.environ, facts, facts, "auto", chat.config["style.color"]).stderr
    voice = Voice(env, caps, editor, args.quiet)
    router.prompt_follows = editor is not None
    signals = PromptSignals(router, editor)
    messages = _messages(chat, editor, voice, signals)
    with contextlib.ExitStack() as open_things:
        open_things.callback(chat.close)
        view = open_view(
            args, env, chat.config, lambda *call: chat.answering.toolset.title(*call), chat=True
        )
        turns = Turns(chat, view, router, signals)
        open_things.callback(turns.close)
        open_things.callback(router.stop_listening)
        talk = Talk(Place(chat, voice, messages.remember, signals.command), messages, turns)
        if editor is not None:  # with a pipe a press means what it means to a query
            open_things.enter_context(router.scope(signals.notify))
        greet(chat, voice)
        outcome = talk.run(joined_words(args.words, env.notice))
        saved = chat.saved_id
    # Who pressed Ctrl+C was told of /retry, and is out of the chat now. Behind other signals the
    # terminal may be gone, or held (Ctrl+S), which a key ends.
    if outcome is None or (outcome.signum is not None and is_key(outcome.signum)):
        say_goodbye(voice, saved)
    if outcome is None:
        return None, talk.exit_code if editor is None else 0
    return outcome.signum, outcome.ending.exit_code


def _messages(
    chat: Chat, editor: Optional[LineEditor], voice: Voice, signals: PromptSignals
) -> Messages:
    if editor is None:
        return PipedMessages(chat.env.stdin, voice.warn)
    # Of no use where nobody types.
    completion = importlib.import_module("jpq.cli.chat.completion")
    editor.complete_with(completion.Completion(chat))
    history = None
    if not chat.args.ephemeral:
        module = importlib.import_module("jpq.cli.chat.history")
        history = module.History(chat.env.paths.state, workspace_of(chat.env.cwd))
    return TypedMessages(editor, voice, signals, history)
