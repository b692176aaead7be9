"""What a query needs before anything is sent: settings, prompt, conversation, provider."""

from __future__ import annotations

import argparse
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from jpq.cli.environment import Environment
from jpq.cli.progress import StderrProgress
from jpq.cli.prompt_text import gather_prompt
from jpq.cli.trust_prompt import ask_trust
from jpq.config.load import Config, load_config
from jpq.conversation.event import ChatRequest, ConfigDelta, Draft
from jpq.conversation.stream import ConversationStream
from jpq.errors import BadInputError, ConfigError, UsageError, WriteError
from jpq.provider.base import ModelRef, Provider
from jpq.provider.registry import parse_model
from jpq.session import open_provider
from jpq.store.journal import Journal
from jpq.store.library import Library
from jpq.store.memory import MemoryJournal
from jpq.store.workspace import workspace_of
from jpq.terminal.tty import interactive

_TITLE_CHARACTERS = 60


class Query(NamedTuple):
    """A turn that is ready to run; ``unsaved`` says why it cannot be saved, if so."""

    config: Config
    model: ModelRef
    provider: Provider
    journal: Journal
    requests: List[Draft]
    unsaved: Optional[WriteError]


class NoModelError(ConfigError):
    """No model is configured; the person is shown the ways on instead of an error."""


def prepare(args: argparse.Namespace, env: Environment) -> Query:
    """The query that ``args`` describe. Main thread; may ask the person and wait for stdin.

    Raises JpqError; then nothing was saved and nothing was sent.
    """
    asks = interactive(env.environ, args.non_interactive)
    config = _load(args, env, asks, {})
    if config["model"] is None and not _goes_on(args):
        raise NoModelError("No model is configured.")  # before anybody types a question
    prompt = "" if args.retry and not args.words else _gather(args, env, config, asks)
    journal = _existing(args, env, config)
    try:
        return _with_conversation(args, env, asks, config, journal, prompt)
    except BaseException:
        if journal is not None:
            journal.close()
        raise


def _with_conversation(
    args: argparse.Namespace,
    env: Environment,
    asks: bool,
    config: Config,
    journal: Optional[Journal],
    prompt: str,
) -> Query:
    own = {} if journal is None else journal.stream.config()
    if own:
        config = _load(args, env, asks, own)
    for warning in config.warnings:
        env.tell(f"jpq: {warning}")
    if config["model"] is None:
        raise NoModelError("No model is configured.")
    model = parse_model(config["model"], config.table("aliases"))
    provider = open_provider(model, config, env.paths, env.environ)
    progress = StderrProgress(env, quiet=args.quiet)
    provider.prepare(model.model, progress)
    progress.end()
    chosen = _chosen(args, env)
    unsaved: Optional[WriteError] = None
    if journal is None:
        journal, unsaved = _create(args, env, model, chosen, prompt)
        requests = [Draft(ChatRequest(prompt))]
    else:
        _check_retry(args, journal)
        changes = {key: value for key, value in chosen.items() if own.get(key) != value}
        requests = [Draft(ConfigDelta(changes))] if changes else []
        requests += [Draft(ChatRequest(prompt))] if prompt else []
    return Query(config, model, provider, journal, requests, unsaved)


def _load(args: argparse.Namespace, env: Environment, asks: bool, own: Mapping[str, Any]) -> Config:
    options = _chosen(args, env)
    if args.retries is not None:
        options["request.max_attempts"] = args.retries + 1
    if args.max_cycles is not None:
        options["request.max_cycles"] = args.max_cycles
    if args.reasoning is not None:
        mode = args.reasoning
        options["style.reasoning"] = int(mode) if mode.isdigit() else mode
    return load_config(
        env.paths,
        env.environ,
        env.cwd,
        options=options,
        sets=args.set,
        conversation=own,
        confirm=ask_trust if asks else None,
    )


def _chosen(args: argparse.Namespace, env: Environment) -> Dict[str, Any]:
    """What the options set for the conversation: dotted key to value."""
    chosen: Dict[str, Any] = {}
    if args.model is not None:
        chosen["model"] = args.model
    if args.system is not None:
        chosen["system"] = _text_or_file(args.system, env)
    for option in args.option:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise UsageError(f"-o {option!r} is not KEY=VALUE.", hint="As in: -o temperature=0.2")
        chosen[f"options.{key}"] = _plain_value(value)
    return chosen


def _plain_value(text: str) -> Any:
    """A number or a truth value where ``text`` is one, else the text itself."""
    words = {"true": True, "false": False}
    if text in words:
        return words[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _text_or_file(text: str, env: Environment) -> str:
    if not text.startswith("@"):
        return text
    path = os.path.join(env.cwd, text[1:])
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise BadInputError(
            f"The system prompt cannot be read: {error.strerror}.", where=path
        ) from error


def _gather(args: argparse.Namespace, env: Environment, config: Config, asks: bool) -> str:
    return gather_prompt(
        args.words,
        env.stdin,
        wait_s=config["input.stdin_wait_s"],
        environ=env.environ,
        interactive=asks,
        tell=lambda line: env.tell(f"jpq: {line}"),
    )


def _goes_on(args: argparse.Namespace) -> bool:
    return bool(args.continue_last or args.retry or args.resume is not None)


def _library(env: Environment) -> Library:
    return Library(os.path.join(env.paths.data, "conversations"))


def _existing(args: argparse.Namespace, env: Environment, config: Config) -> Optional[Journal]:
    """The conversation to go on with, open for writing; None for a new one."""
    library = _library(env)
    if args.resume is not None:
        id = library.resolve(args.resume)
    elif _goes_on(args):
        last = library.last(workspace_of(env.cwd))
        if last is None:
            raise BadInputError(
                "There is no conversation in this workspace yet.",
                where=workspace_of(env.cwd),
                hint="Start one without -c, or choose one: jpq conversation ls, then -r ID.",
            )
        id = last
    else:
        return None
    return library.open(
        id, config["conversation.lock_wait_s"], lambda line: env.tell(f"jpq: {line}")
    )


def _check_retry(args: argparse.Namespace, journal: Journal) -> None:
    if not args.retry:
        return
    turn = journal.stream.last_turn()
    if turn is None or not turn.unfinished:
        raise BadInputError(
            "The last turn is complete; there is nothing to retry.",
            where=f"conversation {journal.id}",
            hint="Ask something new with: jpq -c QUESTION",
        )


def _create(
    args: argparse.Namespace,
    env: Environment,
    model: ModelRef,
    chosen: Mapping[str, Any],
    prompt: str,
) -> Any:
    """A new conversation, and why it is not saved where it should be."""
    if args.ephemeral:
        return MemoryJournal(ConversationStream(chosen)), None
    metadata = {
        "title": " ".join(prompt.split())[:_TITLE_CHARACTERS],
        "workspace": workspace_of(env.cwd),
        "model": str(model),
    }
    try:
        return _library(env).create(metadata, chosen), None
    except WriteError as error:
        return MemoryJournal(ConversationStream(chosen)), error
