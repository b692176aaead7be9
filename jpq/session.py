"""The composition root: creates everything a turn needs and wires it together."""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    ContextManager,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    cast,
)

from jpq.config.keys import kept_keys, require_key
from jpq.config.load import Config
from jpq.config.paths import Paths
from jpq.conversation.event import Draft
from jpq.conversation.thread import Thread, ThreadToolResult, build_thread
from jpq.events.turn import ConversationOpened
from jpq.events.usage import Usage
from jpq.interrupt.signals import Interrupt, SignalRouter
from jpq.named import NamedTuple
from jpq.provider.base import ModelRef, Provider, ProviderRequest, ProviderRow
from jpq.provider.prices import cost_of, price_table
from jpq.provider.registry import load_api, resolve
from jpq.render.worker import DisplayFailed
from jpq.tools.toolset import Toolset
from jpq.turn.allowance import TurnLimits
from jpq.turn.calls import CallRound, Settle, Surroundings
from jpq.turn.cycle import CycleTimes, RetryLimits
from jpq.turn.ending import TurnOutcome, of_display
from jpq.turn.inbox import Inbox
from jpq.turn.loop import TurnLoop, TurnSettings

if TYPE_CHECKING:
    from jpq.interrupt.menus import Chosen, Situation
    from jpq.render.display import Display
    from jpq.turn.demand import Demand
    from jpq.turn.interruption import Menus

_STDOUT = 1
# How often a wait for a slow reader looks for a signal.
_FLUSH_POLL_S = 0.1
# How long a reader may take over what is left to write when a signal ends the run.
_LAST_WORDS_S = 0.3


class TurnSetup(NamedTuple):
    """What one turn is made of.

    ``journal`` is the open conversation; ``deadline`` is when the run must end, as a
    ``time.monotonic`` reading, or None. ``tool_choice`` holds until a tool was called.
    ``menus`` says whether Ctrl+C asks what to do, or just saves and ends. ``demand`` is what
    the answer must be besides whole.
    """

    config: Config
    model: ModelRef
    provider: Provider
    journal: Any
    stream: bool
    deadline: Optional[float]
    toolset: Toolset
    tool_choice: Optional[str]
    surroundings: Surroundings
    menus: bool = False
    demand: Optional[Demand] = None


def open_provider(
    model: ModelRef,
    config: Config,
    paths: Paths,
    environ: Mapping[str, str],
    learn_key: Callable[[str], None],
    base_url: str = "",
) -> Provider:
    """The provider of ``model``, with its key, which ``learn_key`` is told. Sends nothing.

    ``base_url`` is the command line's. Raises ConfigError for an unknown provider and
    DeniedError for a missing key.
    """
    overrides = config.table("providers").get(model.provider, {})
    row = resolve(model.provider, overrides, environ, base_url)
    if row.api == "local":
        return _local_provider(row, config, paths, environ)
    if row.api == "scripted":
        return cast(Provider, load_api(row.api)(row))
    store = kept_keys(paths, config["keys.store"])
    key = require_key(row.name, row.key_env, row.key_cmd, environ, store)
    if key is not None:
        learn_key(key.value)
    return _http_provider(row, None if key is None else key.value, config)


def _http_provider(row: ProviderRow, key: Optional[str], config: Config) -> Provider:
    # requests costs most of the start of a run, and only a run that sends something pays it.
    http = importlib.import_module("jpq.provider.http")
    connect_s = config["request.connect_timeout_s"]
    return cast(Provider, http.HttpProvider(row, load_api(row.api), key, connect_s))


def _local_provider(
    row: ProviderRow, config: Config, paths: Paths, environ: Mapping[str, str]
) -> Provider:
    provider: Provider = load_api(row.api)(
        row,
        paths,
        lambda server, key: _http_provider(server, key, config),
        keep_alive_s=config["providers.local.keep_alive_s"],
        environ=environ,
    )
    return provider


def run_turn(
    setup: TurnSetup,
    requests: Sequence[Draft],
    inbox: Inbox,
    renderer: Display,
    router: Optional[SignalRouter] = None,
) -> TurnOutcome:
    """Run one turn and show it whole, its error and its result too. Main thread, or without a
    ``router`` any one thread, for which "main thread" stands in all that belongs to the turn.

    Without a question in ``requests`` the conversation's unfinished turn is answered. With a
    ``router`` signals are messages, from before anything is shown; one may be in the outcome.
    """
    if router is not None:
        router.escalation.cooldown_s = setup.config["interrupt.cooldown_s"]
    rounds: List[CallRound] = []

    def open_round(settle: Settle) -> CallRound:
        rounds.append(_open_round(setup, inbox, renderer, settle))
        return rounds[-1]

    loop = TurnLoop(
        journal=setup.journal,
        provider=setup.provider,
        model=setup.model,
        make_request=request_maker(setup),
        open_round=open_round,
        inbox=inbox,
        show=renderer.show,
        settings=_settings(setup),
        menus=_Menus(setup, renderer, router),
    )
    listening = router.scope(inbox.post) if router else contextlib.nullcontext()
    with listening, _kept_output(setup.menus):
        renderer.show(ConversationOpened(setup.journal.id, str(setup.model)))
        try:
            outcome = loop.run(requests)
        finally:
            for each in rounds:
                each.close()
        prices = price_table(setup.config.table("prices"))
        cost = cost_of(outcome.usage, setup.model.provider, outcome.model, prices)
        for event in outcome.closing(cost):
            renderer.show(event)
        return _shown(outcome, inbox, renderer)


def _open_round(setup: TurnSetup, inbox: Inbox, renderer: Display, settle: Settle) -> CallRound:
    # What runs and asks about calls is of no use to the many turns without one.
    opening = importlib.import_module("jpq.turn.tool_opening")
    opened: CallRound = opening.open_tool_phase(
        setup.config, setup.toolset, setup.surroundings, inbox, renderer, settle, setup.deadline
    )
    return opened


def _kept_output(menus: bool) -> ContextManager[None]:
    """What makes an answer go on without a hole after a menu, where one can be opened."""
    if not menus or not os.isatty(_STDOUT):
        return contextlib.nullcontext()
    kept: ContextManager[None] = importlib.import_module("jpq.terminal.kept_output").kept_output()
    return kept


class _Menus:
    """Menus that are made at the first press, which most turns never see."""

    def __init__(self, setup: TurnSetup, renderer: Display, router: Optional[SignalRouter]) -> None:
        self._setup = setup
        self._renderer = renderer
        self._router = router
        self._made: Optional[Menus] = None

    def choose(self, interrupt: Interrupt, situation: Situation) -> Chosen:
        return self._menus.choose(interrupt, situation)

    def ask(self, question: str, situation: Situation) -> Tuple[Optional[str], Any]:
        return self._menus.ask(question, situation)

    def confirm(self, question: str, situation: Situation) -> Tuple[Optional[bool], Any]:
        asks = self._setup.menus and self._router is not None
        return self._menus.confirm(question, situation) if asks else (None, None)

    @property
    def _menus(self) -> Menus:
        if self._made is None:
            assert self._router is not None, "without a router there are no signals"
            setup, opening = self._setup, importlib.import_module("jpq.turn.menu_opening")
            self._made = opening.open_menus(
                setup.config, setup.surroundings.environ, self._renderer, self._router, setup.menus
            )
        return self._made


def request_maker(setup: TurnSetup) -> Callable[[bool, bool], ProviderRequest]:
    """What makes a request of the conversation as it is: whether tools may be called, and
    whether it goes on with the answer at its end."""
    options: Mapping[str, Any] = setup.config.table("options")
    system = "\n\n".join(filter(None, map(setup.config.get, ("system", "instructions"))))

    def make_request(tools: bool, continues: bool) -> ProviderRequest:
        setup.toolset.refresh()
        thread = build_thread(setup.journal.stream.entries, system, continue_last=continues)
        return ProviderRequest(
            model=setup.model.model,
            thread=thread,
            tools=setup.toolset.definitions,
            tool_choice=_tool_choice(setup, thread, tools),
            options=options,
            stream=setup.stream,
        )

    return make_request


def _tool_choice(setup: TurnSetup, thread: Thread, allowed: bool) -> Optional[str]:
    """How tools may be called now: a model that is made to call one would never answer."""
    if not setup.toolset.tools:
        return None
    if not allowed:
        return "none"
    called = bool(thread.messages) and any(
        isinstance(block, ThreadToolResult) for block in thread.messages[-1].blocks
    )
    return None if called and setup.tool_choice != "none" else setup.tool_choice


def _settings(setup: TurnSetup) -> TurnSettings:
    config = setup.config
    prices = price_table(config.table("prices"))

    def price(usage: Usage, served: Optional[str]) -> Optional[float]:
        return cost_of(usage, setup.model.provider, served, prices)

    return TurnSettings(
        turn=TurnLimits(config["request.max_cycles"], config["request.max_cost_usd"], price),
        times=CycleTimes(config["request.idle_timeout_s"], setup.deadline),
        limits=RetryLimits(*(config[f"request.{name}"] for name in RetryLimits._fields)),
        demand=setup.demand,
    )


def _shown(outcome: TurnOutcome, inbox: Inbox, renderer: Display) -> TurnOutcome:
    """Wait until all is written, however slow its reader is; a signal ends the wait.

    The turn is saved by now, so only the way the process ends can still change.
    """
    if outcome.signum is not None:
        renderer.flush(_LAST_WORDS_S)
        return outcome
    written = False
    while not written:
        written = renderer.flush(_FLUSH_POLL_S)
        item = inbox.take_ready()
        while item is not None:
            if isinstance(item, Interrupt):
                return outcome._replace(signum=item.signum)
            if isinstance(item, DisplayFailed) and outcome.ending.exit_code == 0:
                outcome = outcome._replace(ending=of_display(item.error))
                written = False
                told = outcome.ending.told
                if told is not None:
                    renderer.show(told)
            item = inbox.take_ready()
    return outcome
