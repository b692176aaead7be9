"""Opens what asks the person about a press of Ctrl+C, when there is one."""

from __future__ import annotations

from typing import Mapping

from jpq.config.load import Config
from jpq.events.turn import Waiting
from jpq.interrupt.handler import FixedActions, InterruptHandler
from jpq.interrupt.prompt import Prompter
from jpq.interrupt.signals import SignalRouter
from jpq.interrupt.watchdog import Watchdog
from jpq.render.display import Display
from jpq.render.sanitize import sanitize


def open_menus(
    config: Config,
    environ: Mapping[str, str],
    renderer: Display,
    router: SignalRouter,
    menus: bool,
) -> InterruptHandler:
    """What ``router``'s signals are to do, asked where ``menus`` can be opened. Main thread."""
    watchdog = Watchdog(
        config["interrupt.shutdown_s"],
        lambda left: renderer.show(Waiting("the end, which is forced", left)),
    )
    prompter = Prompter(renderer.lease_now, sanitize, environ) if menus else None
    actions = FixedActions(config["interrupt.streaming"], config["interrupt.tools"])
    return InterruptHandler(prompter, router, watchdog, actions)
