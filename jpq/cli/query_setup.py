"""What a query needs before anything is sent: settings, prompt, conversation, provider."""

from __future__ import annotations

import argparse
import importlib
import os
from typing import Any, Callable, List, Mapping, Sequence, Tuple

from jpq.cli.early_end import EarlyEnd
from jpq.cli.environment import Environment
from jpq.cli.progress import StderrProgress
from jpq.cli.prompt_text import gather_prompt
from jpq.cli.query_conversation import create, following, going_on, saved_conversation
from jpq.cli.query_options import chosen_settings
from jpq.cli.query_tools import offered_toolset, tools_showed_something
from jpq.config.load import Config, load_config
from jpq.config.secrets import Secrets
from jpq.conversation.attachment import as_metadata
from jpq.conversation.event import ChatRequest, Draft
from jpq.errors import ConfigError
from jpq.named import NamedTuple
from jpq.provider.base import ModelRef, Provider
from jpq.provider.registry import parse_model
from jpq.render.lines import one_line
from jpq.session import open_provider
from jpq.store.journal import Journal
from jpq.store.library import Library
from jpq.terminal.tty import interactive
from jpq.tools.toolset import Toolset


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
    wanted: Any = None  # what the answer must be (jpq.cli.query_demand.Wanted)


class NoModelError(ConfigError):
    """No model is configured; the person is shown the ways on instead of an error."""

    def __init__(self) -> None:
        super().__init__(
            "No model is configured.",
            hint="Choose one with -m PROVIDER/MODEL; jpq models ls shows what can answer.",
        )


def show_ways_on(env: Environment) -> int:
    """Tell a person who has no model what to do about it; the exit code."""
    for line in _rare("provider.discover").ways_on(env.environ):
        env.tell(line)
    return int(NoModelError.exit_code)


def prepare(
    args: argparse.Namespace,
    env: Environment,
    secrets: Secrets,
    early: EarlyEnd,
) -> Query:
    """The query that ``args`` describe. Main thread; may ask the person and wait for stdin.

    ``secrets`` learns the keys; ``early`` is told how many seconds the run may take.
    Raises JpqError; then nothing was saved and nothing was sent.
    """
    asks = interactive(env.environ, args.non_interactive)
    template = _opened_template(args, env)
    chosen = chosen_settings(args, env)
    library = Library(os.path.join(env.paths.data, "conversations"))
    saved = saved_conversation(args, env, library)
    own = {} if saved is None else saved.stream.config()
    config = load_settings(args, env, chosen, asks, own, template)
    if template is not None:
        chosen = {**template.settings, **chosen}
    for warning in config.warnings:
        teller(args, env)(warning)
    early.limit(config["request.total_timeout_s"])
    wanted = _wanted(args, env, saved)
    if config["model"] is None:
        raise NoModelError()
    # All that can be found wrong is, before anybody types a question that would be lost.
    model, provider = _opened_provider(args, env, config, wanted, secrets.add)
    servers, prompt = begin_servers(args, env, config, asks), ""
    try:
        toolset = offered_toolset(args, config, env.cwd, known=servers is None)
        attached = {**_attached(args, env, config, model), **(wanted.metadata if wanted else {})}
        if args.edit and saved is not None and not args.words:
            prompt = _rare("cli.conversation_edit").edit_last(saved, env, asks)
        else:
            prompt = "" if args.retry else _gather(args, env, config, asks, template)
        get_ready(args, env, provider, model)
        if servers is not None:
            toolset = offered_toolset(args, config, env.cwd, servers.tools(provider, model))
        if toolset.tools or (saved is not None and tools_showed_something(saved)):
            provider = _rare("provider.tool_names").RenamedTools(provider)
        questions = _questions(prompt, attached, template)
        if saved is None:
            journal = _new(early, args, env, library, model, chosen, _title(questions[-1], config))
            requests = questions
        else:
            lock_wait_s = config["conversation.lock_wait_s"]
            journal = going_on(args, library, saved, lock_wait_s, teller(args, env))
            try:
                requests = following(args, journal, chosen, questions)
            except BaseException:
                journal.close()
                raise
    except BaseException as error:
        if servers is not None:
            servers.close()
        if prompt and _was_typed(args, env):
            _rare("cli.typed_question").keep_question(prompt, env, error)
        raise
    return Query(config, model, provider, journal, requests, toolset, asks, servers, wanted)


def _was_typed(args: argparse.Namespace, env: Environment) -> bool:
    """Whether the question is nowhere else: neither on the command line nor in a pipe."""
    return not args.words and (args.edit or env.stdin is None or env.stdin.isatty())


def _questions(prompt: str, metadata: Mapping[str, Any], template: Any) -> List[Draft]:
    """The question, after what a template begins the conversation with."""
    question = Draft(ChatRequest(prompt), metadata)
    return [question] if template is None else list(template.questions(question))


def _title(question: Draft, config: Config) -> str:
    """What a conversation is called that begins with ``question``."""
    if config["conversation.title"] == "off":
        return ""
    assert isinstance(question.event, ChatRequest)
    attached = question.metadata.get("attachments", ())
    return question.event.content or ", ".join(each["name"] for each in attached)


def _new(early: EarlyEnd, *about: Any) -> Journal:
    early.turn_begins()  # else a signal could leave an empty conversation
    return create(*about)


def begin_servers(args: argparse.Namespace, env: Environment, config: Config, asks: bool) -> Any:
    """The configured MCP servers, which start meanwhile; None for none."""
    if not config.table("mcp"):
        return None
    # Of no use to most queries.
    module = importlib.import_module("jpq.cli.query_mcp")
    return module.begin_servers(env, config, asks=asks, tell=teller(args, env))


def _opened_provider(
    args: argparse.Namespace,
    env: Environment,
    config: Config,
    wanted: Any,
    learn_key: Callable[[str], None],
) -> Tuple[ModelRef, Provider]:
    model = parse_model(config["model"], config.table("aliases"))
    base_url = args.base_url or config.option(f"providers.{model.provider}.base_url") or ""
    opens = _rare("cli.dry_run").open_dry if args.dry_run else open_provider
    provider: Provider = opens(model, config, env.paths, env.environ, learn_key, base_url)
    return model, provider if wanted is None else wanted.told(provider, model, config, env)


def _wanted(args: argparse.Namespace, env: Environment, saved: Any) -> Any:
    """What the answer must be, where anything was asked for."""
    turn = saved.stream.last_turn() if saved and (args.retry or args.edit) else None
    stored = turn.entries[0].metadata.get("schema") if turn else None
    if not (args.schema or args.schema_multi or stored) and args.extract is None:
        return None
    return _rare("cli.query_demand").find_wanted(args, env, stored)


def get_ready(
    args: argparse.Namespace, env: Environment, provider: Provider, model: ModelRef
) -> None:
    """Have the provider do what it must before it can answer, and show how that goes."""
    progress = StderrProgress(env, quiet=args.quiet)
    try:
        provider.prepare(model.model, progress)
    finally:
        progress.end()


def load_settings(
    args: argparse.Namespace,
    env: Environment,
    chosen: Mapping[str, Any],
    asks: bool,
    own: Mapping[str, Any],
    template: Any = None,
) -> Config:
    """The settings in effect: ``chosen`` by options, ``own`` by the conversation."""
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
        template=None if template is None else template.source,
        confirm=_ask_trust if asks else None,
    )


def _attached(
    args: argparse.Namespace, env: Environment, config: Config, model: ModelRef
) -> Mapping[str, Any]:
    """The metadata of a question with attachments."""
    if not args.attach:
        return {}
    attach = importlib.import_module("jpq.cli.attach")  # few questions have any
    shows = args.verbose > 0 or (env.stderr is not None and env.stderr.isatty())
    attachments = attach.gather_attachments(
        args.attach, env, config, model, teller(args, env), show=shows
    )
    metadata: Mapping[str, Any] = as_metadata(attachments)
    return metadata


def _gather(
    args: argparse.Namespace, env: Environment, config: Config, asks: bool, template: Any
) -> str:
    def gather(words: Sequence[str], may_be_blank: bool) -> str:
        return gather_prompt(
            words,
            None if "-" in args.attach else env.stdin,
            may_be_blank=may_be_blank or bool(args.attach),
            wait_s=config["input.stdin_wait_s"],
            environ=env.environ,
            interactive=asks,
            tell=teller(args, env),
        )

    if template is None:
        return gather(args.words, False)
    return str(template.question(args.words, gather, config))


def _opened_template(args: argparse.Namespace, env: Environment) -> Any:
    """What ``--template`` names; None without."""
    if args.template is None:
        return None
    return _rare("cli.template_use").open_template(args, env, teller(args, env))


def teller(args: argparse.Namespace, env: Environment) -> Callable[[str], None]:
    """Takes lines for the person, who does not want them with --quiet."""
    return lambda line: None if args.quiet else env.notice(one_line(line))


def _ask_trust(path: str, text: str) -> bool:
    return bool(_rare("cli.trust_prompt").ask_trust(path, text))


def _rare(module: str) -> Any:
    """A module of ours that few queries need, loaded when one does."""
    return importlib.import_module(f"jpq.{module}")
