"""LineAnswerer: answers the lines of a batch. Shared by all workers."""

from __future__ import annotations

import argparse
import json
import os
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional

from jpq.cli.attach import gather_attachments
from jpq.cli.batch.lines import Job, Line, parse_line
from jpq.cli.environment import Environment
from jpq.cli.failure import as_error
from jpq.cli.query_demand import Wanted, schema_of, wanted_json
from jpq.cli.query_setup import NoModelError, load_settings
from jpq.config.load import Config
from jpq.config.nested import join_name
from jpq.conversation.attachment import as_metadata
from jpq.conversation.event import ChatRequest, Draft
from jpq.conversation.schema_text import list_of
from jpq.conversation.stream import ConversationStream
from jpq.events.turn import Result, TurnEvent
from jpq.events.usage import Usage
from jpq.provider.base import Exchange, ModelRef, Progress, Provider, ProviderRequest
from jpq.provider.registry import parse_model
from jpq.provider.tool_names import RenamedTools
from jpq.session import TurnSetup, open_provider, run_turn
from jpq.store.memory import MemoryJournal
from jpq.tools.toolset import Toolset
from jpq.turn.calls import Surroundings
from jpq.turn.ending import of_error
from jpq.turn.inbox import Inbox

# Settings that lines have in common are kept; each line may have its own, of a million.
_MOST_KEPT = 64


class Collected:
    """The ``Display`` of a turn that nobody watches: keeps its result."""

    def __init__(self) -> None:
        self.result: Optional[Result] = None

    def show(self, event: TurnEvent) -> None:
        """Keep ``event`` if it is the result."""
        if isinstance(event, Result):
            self.result = event

    def flush(self, timeout_s: float) -> bool:
        """All is kept."""
        return True

    def lease(self) -> Any:
        """Nobody is asked anything in a batch."""
        raise AssertionError("a batch asks nobody")

    lease_now = lease


class SharedProvider:
    """A Provider that several turns use at a time. Any thread; ``shut`` at the end."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._lock = threading.Lock()  # guards what the provider does but its exchanges
        self._prepared: List[str] = []

    def prepare(self, model: str, progress: Progress) -> None:
        """As the provider does, once for each model."""
        with self._lock:
            if model not in self._prepared:
                self._provider.prepare(model, progress)
                self._prepared.append(model)

    def exchange(self, request: ProviderRequest) -> Exchange:
        """A new exchange."""
        with self._lock:
            return self._provider.exchange(request)

    def close(self) -> None:
        """Nothing: others still use it."""

    def shut(self) -> None:
        """Close the provider. Main thread, after the last turn."""
        self._provider.close()


class LineAnswerer:
    """Answers each line as a conversation of its own that is not saved. Any thread."""

    def __init__(
        self,
        args: argparse.Namespace,
        env: Environment,
        chosen: Mapping[str, Any],
        config: Config,
        toolset: Toolset,
        progress: Progress,
        learn_key: Callable[[str], None],
    ) -> None:
        self._args = args
        self._env = env
        self._chosen = chosen
        self._toolset = toolset
        self._progress = progress
        self._learn_key = learn_key
        self._lock = threading.RLock()  # guards the four below
        self._configs: Dict[str, Config] = {"{}": config}
        self._providers: Dict[str, SharedProvider] = {}
        self._fitted: Dict[str, Provider] = {}
        self._schemas: Dict[str, Dict[str, Any]] = {}
        self.deadline: Optional[float] = None

    def answer(self, line: Line, inbox: Inbox) -> Result:
        """The result of ``line``, whatever happens. ``inbox`` is where its turn can be stopped."""
        try:
            return self._answer(parse_line(line), inbox)
        except Exception as error:
            ending = of_error(as_error(error))
            code = ending.exit_code
            return Result(ending.status, "", None, Usage(), None, code, ending.told)

    def provider(self, model: ModelRef, config: Config) -> SharedProvider:
        """The provider of ``model``, which all lines share. Raises JpqError."""
        with self._lock:
            if model.provider not in self._providers:
                env, args = self._env, self._args
                name = f"providers.{model.provider}.base_url"
                base_url = args.base_url or config.option(name) or ""
                self._providers[model.provider] = SharedProvider(
                    open_provider(model, config, env.paths, env.environ, self._learn_key, base_url)
                )
            return self._providers[model.provider]

    def offer(self, toolset: Toolset) -> None:
        """Offer these tools from now on. Main thread, before the first line."""
        self._toolset = toolset

    def close(self) -> None:
        """Close the providers. Main thread, after the last turn."""
        for provider in self._providers.values():
            provider.shut()

    def _answer(self, job: Job, inbox: Inbox) -> Result:
        settings = self._settings(job)
        config = self._config(settings)
        if config["model"] is None:
            raise NoModelError()
        model = parse_model(config["model"], config.table("aliases"))
        wanted = self._wanted(job)
        provider = self._fitted_provider(wanted, model, config)
        provider.prepare(model.model, self._progress)
        metadata = self._attached(job, config, model)
        shown = Collected()
        setup = self._setup(config, model, provider, wanted, settings)
        run_turn(setup, [Draft(ChatRequest(job.prompt), metadata)], inbox, shown)
        assert shown.result is not None, "each turn ends with one"
        return shown.result

    def _fitted_provider(
        self, wanted: Optional[Wanted], model: ModelRef, config: Config
    ) -> Provider:
        """The provider for tools, and for what is wanted. Lines that ask the same model for the
        same share it, as it remembers what that refuses."""
        key = json.dumps([str(model), None if wanted is None else wanted.metadata])
        with self._lock:
            if key not in self._fitted:
                provider: Provider = self.provider(model, config)
                if wanted is not None:
                    provider = wanted.told(provider, model, config, self._env)
                if self._toolset.tools:
                    provider = RenamedTools(provider)
                _keep(self._fitted, key, provider)
            return self._fitted[key]

    def _setup(
        self,
        config: Config,
        model: ModelRef,
        provider: Provider,
        wanted: Optional[Wanted],
        settings: Mapping[str, Any],
    ) -> TurnSetup:
        args, env = self._args, self._env
        return TurnSetup(
            config=config,
            model=model,
            provider=provider,
            journal=MemoryJournal(ConversationStream({**self._chosen, **settings})),
            stream=not args.no_stream,
            deadline=self.deadline,
            toolset=self._toolset,
            tool_choice=args.tool_choice,
            surroundings=Surroundings(env.environ, env.cwd, None, False, args.yes),
            demand=None if wanted is None else wanted.demand,
        )

    def _settings(self, job: Job) -> Dict[str, Any]:
        """What the line sets itself: dotted key to value."""
        settings: Dict[str, Any] = {
            join_name(("options", name)): value for name, value in job.options.items()
        }
        if job.model is not None:
            settings["model"] = job.model
        if job.system is not None:
            settings["system"] = job.system
        return settings

    def _config(self, settings: Mapping[str, Any]) -> Config:
        key = json.dumps(settings, sort_keys=True)
        with self._lock:
            if key not in self._configs:
                chosen = {**self._chosen, **settings}
                config = load_settings(self._args, self._env, chosen, False, {})
                _keep(self._configs, key, config)
            return self._configs[key]

    def _wanted(self, job: Job) -> Optional[Wanted]:
        asked: Any = job
        if job.schema is None and job.schema_multi is None:
            asked = self._args
        if asked.schema is not None:
            return wanted_json(self._schema(asked.schema))
        if asked.schema_multi is not None:
            return wanted_json(list_of(self._schema(asked.schema_multi)))
        return None

    def _schema(self, spec: Any) -> Dict[str, Any]:
        if isinstance(spec, dict):
            return spec
        with self._lock:
            if spec not in self._schemas:
                _keep(self._schemas, spec, schema_of(spec, self._env))
            return self._schemas[spec]

    def _attached(self, job: Job, config: Config, model: ModelRef) -> Mapping[str, Any]:
        if not job.attach:
            return {}
        sources = [os.path.expanduser(each) for each in job.attach]
        attachments = gather_attachments(sources, self._env, config, model, lambda line: None)
        metadata: Mapping[str, Any] = as_metadata(attachments)
        return metadata


def _keep(kept: Dict[str, Any], key: str, value: Any) -> None:
    """Put ``value`` into ``kept``, in the place of the oldest where there are many."""
    if len(kept) >= _MOST_KEPT:
        del kept[next(iter(kept))]
    kept[key] = value
