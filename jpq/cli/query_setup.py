"""What a query needs before anything is sent: settings, prompt, conversation, provider."""

from __future__ import annotations

import argparse
import importlib
import os
from typing import Any, Callable, List, Mapping, NamedTuple, Optional

from jpq.cli.environment import Environment
from jpq.cli.progress import StderrProgress
from jpq.cli.prompt_text import gather_prompt
from jpq.cli.query_options import chosen_settings
from jpq.cli.query_tools import offered_toolset
from jpq.config.load import Config, load_config
from jpq.config.secrets import Secrets
from jpq.conversation.attachment import as_metadata
from jpq.conversation.event import ChatRequest, ConfigDelta, Draft
from jpq.conversation.stream import ConversationStream
from jpq.errors import BadInputError, ConfigError, WriteError
from jpq.provider.base import ModelRef, Provider
from jpq.provider.registry import parse_model
from jpq.render.lines import PREFIX, one_line
from jpq.session import open_provider
from jpq.store.journal import Journal
from jpq.store.library import Library
from jpq.store.memory import MemoryJournal, UnsavedJournal
from jpq.store.reading import SavedConversation
from jpq.store.workspace import workspace_of
from jpq.terminal.tty import interactive
from jpq.tools.toolset import Toolset

_TITLE_CHARACTERS = 60


class Query(NamedTuple):
    """A turn that is ready to run."""

    config: Config
    model: ModelRef
    provider: Provider
    journal: Journal
    requests: List[Draft]
    toolset: Toolset
    interactive: bool
    servers: Any = None  # the MCP servers of its tools, to be closed


class NoModelError(ConfigError):
    """No model is configured; the person is shown the ways on instead of an error."""

    def __init__(self) -> None:
        super().__init__(
            "No model is configured.",
            hint="Choose one with -m PROVIDER/MODEL; jpq models ls shows what can answer.",
        )


def prepare(
    args: argparse.Namespace,
    env: Environment,
    secrets: Secrets,
    limit: Callable[[Optional[float]], None],
) -> Query:
    """The query that ``args`` describe. Main thread; may ask the person and wait for stdin.

    ``secrets`` learns the keys; ``limit`` is told how many seconds the run may take.
    Raises JpqError; then nothing was saved and nothing was sent.
    """
    asks = interactive(env.environ, args.non_interactive)
    chosen = chosen_settings(args, env)
    library = Library(os.path.join(env.paths.data, "conversations"))
    saved = _saved(args, env, library)
    own = {} if saved is None else saved.stream.config()
    config = _load(args, env, chosen, asks, own)
    for warning in config.warnings:
        _teller(args, env)(warning)
    limit(config["request.total_timeout_s"])
    if config["model"] is None:
        raise NoModelError()
    # All that can be found wrong is, before anybody types a question that would be lost.
    model = parse_model(config["model"], config.table("aliases"))
    base_url = args.base_url or config.option(f"providers.{model.provider}.base_url") or ""
    provider = open_provider(model, config, env.paths, env.environ, secrets.add, base_url)
    servers = _begin_servers(args, env, config, asks)
    try:
        toolset = offered_toolset(args, config, env.cwd, known=servers is None)
        attached = _attached(args, env, config, model)
        if args.edit and saved is not None and not args.words:
            prompt = _rare("cli.conversation_edit").edit_last(saved, env, asks)
        else:
            prompt = "" if args.retry else _gather(args, env, config, asks)
        _get_ready(args, env, provider, model)
        if servers is not None:
            toolset = offered_toolset(args, config, env.cwd, servers.tools(provider, model))
        if toolset.tools:
            provider = _rare("provider.tool_names").RenamedTools(provider)
        question = Draft(ChatRequest(prompt), attached)
        if saved is None:
            title = prompt or ", ".join(each["name"] for each in attached["attachments"])
            journal = _create(args, env, library, model, chosen, title)
            return Query(config, model, provider, journal, [question], toolset, asks, servers)
        journal = _going_on(args, env, library, saved, config["conversation.lock_wait_s"])
        try:
            requests = _following(args, journal, chosen, question)
        except BaseException:
            journal.close()
            raise
    except BaseException:
        if servers is not None:
            servers.close()
        raise
    return Query(config, model, provider, journal, requests, toolset, asks, servers)


def _begin_servers(args: argparse.Namespace, env: Environment, config: Config, asks: bool) -> Any:
    """The configured MCP servers, which start meanwhile; None for none."""
    if not config.table("mcp"):
        return None
    # Of no use to most queries.
    module = importlib.import_module("jpq.cli.query_mcp")
    return module.begin_servers(env, config, asks=asks, tell=_teller(args, env))


def _get_ready(
    args: argparse.Namespace, env: Environment, provider: Provider, model: ModelRef
) -> None:
    progress = StderrProgress(env, quiet=args.quiet)
    try:
        provider.prepare(model.model, progress)
    finally:
        progress.end()


def _following(
    args: argparse.Namespace,
    journal: Journal,
    chosen: Mapping[str, Any],
    question: Draft,
) -> List[Draft]:
    """What is added to a conversation that goes on: new settings and the question."""
    if args.retry:
        _check_retry(journal)
    own = journal.stream.config()
    changes = {key: value for key, value in chosen.items() if own.get(key) != value}
    requests = [Draft(ConfigDelta(changes))] if changes else []
    if args.edit:
        return [
            *requests,
            *_rare("cli.conversation_edit").in_place_of_last(journal.stream, question),
        ]
    return requests if args.retry else [*requests, question]


def _load(
    args: argparse.Namespace,
    env: Environment,
    chosen: Mapping[str, Any],
    asks: bool,
    own: Mapping[str, Any],
) -> Config:
    options = {
        **chosen,
        "request.max_attempts": None if args.retries is None else args.retries + 1,
        "request.max_cycles": args.max_cycles,
        "request.max_cost_usd": args.max_cost,
        "request.total_timeout_s": args.timeout,
        "style.reasoning": args.reasoning,
        "style.color": args.color,
        "style.wrap": args.wrap,
    }
    return load_config(
        env.paths,
        env.environ,
        env.cwd,
        options={name: value for name, value in options.items() if value is not None},
        sets=args.set,
        conversation=own,
        confirm=_ask_trust if asks else None,
    )


def _attached(
    args: argparse.Namespace, env: Environment, config: Config, model: ModelRef
) -> Mapping[str, Any]:
    """The metadata of a question with attachments."""
    if not args.attach:
        return {}
    attach = importlib.import_module("jpq.cli.attach")  # few questions have any
    attachments = attach.gather_attachments(args.attach, env, config, model, _teller(args, env))
    metadata: Mapping[str, Any] = as_metadata(attachments)
    return metadata


def _gather(args: argparse.Namespace, env: Environment, config: Config, asks: bool) -> str:
    return gather_prompt(
        args.words,
        None if "-" in args.attach else env.stdin,
        may_be_blank=bool(args.attach),
        wait_s=config["input.stdin_wait_s"],
        environ=env.environ,
        interactive=asks,
        tell=_teller(args, env),
    )


def _teller(args: argparse.Namespace, env: Environment) -> Callable[[str], None]:
    """Takes lines for the person, who does not want them with --quiet."""
    return lambda line: None if args.quiet else env.tell(PREFIX + one_line(line))


def _saved(
    args: argparse.Namespace, env: Environment, library: Library
) -> Optional[SavedConversation]:
    """The conversation to go on with, as it is now; None for a new one."""
    if args.resume is not None:
        return library.read(library.resolve(args.resume))
    if not (args.continue_last or args.retry or args.edit or args.fork or args.replay):
        return None
    workspace = workspace_of(env.cwd)
    last = library.last(workspace)
    if last is None:
        raise BadInputError(
            "There is no conversation in this workspace yet.",
            where=workspace,
            hint="Start one without -c, or choose one: jpq conversation ls, then -r ID.",
        )
    return library.read(last)


def _going_on(
    args: argparse.Namespace,
    env: Environment,
    library: Library,
    saved: SavedConversation,
    lock_wait_s: float,
) -> Journal:
    """The conversation open for writing; a copy in memory where nothing is to be saved."""
    if args.ephemeral:
        return MemoryJournal(saved.stream, saved.metadata)
    try:
        if args.fork:
            forked: Journal = _rare("store.fork").fork(library, saved.id)
            return forked
        return library.open(saved.id, lock_wait_s, _teller(args, env))
    except WriteError as error:
        return UnsavedJournal(saved.stream, error)


def _check_retry(journal: Journal) -> None:
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
    library: Library,
    model: ModelRef,
    chosen: Mapping[str, Any],
    prompt: str,
) -> Journal:
    """A new conversation; in memory where it is not to be saved, or cannot be."""
    if args.ephemeral:
        return MemoryJournal(ConversationStream(chosen))
    metadata = {
        "title": " ".join(prompt.split())[:_TITLE_CHARACTERS],
        "workspace": workspace_of(env.cwd),
        "model": str(model),
    }
    try:
        return library.create(metadata, chosen)
    except WriteError as error:
        return UnsavedJournal(ConversationStream(chosen), error)


def _ask_trust(path: str, text: str) -> bool:
    return bool(_rare("cli.trust_prompt").ask_trust(path, text))


def _rare(module: str) -> Any:
    """A module of ours that few queries need, loaded when one does."""
    return importlib.import_module(f"jpq.{module}")
