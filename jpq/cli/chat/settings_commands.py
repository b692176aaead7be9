"""/model, /system and /tools: who answers, and how."""

from __future__ import annotations

from typing import Any, Mapping

from jpq.cli.chat.place import Done, Place
from jpq.cli.query_options import text_or_file
from jpq.config.sources import OPTION
from jpq.errors import ConfigError, UsageError
from jpq.tools.registry import BUILTINS, is_configured, offered_names

_OFF = "off"


def model(place: Place, words: str) -> Done:
    """Show which model answers, or choose another."""
    chat, voice = place.chat, place.voice
    if words:
        _choose(place, {"model": words})
        voice.say(f"{chat.model} answers from now on.")
        return None
    voice.say(f"{chat.model} answers. /model PROVIDER/MODEL chooses another.")
    aliases = chat.config.table("aliases")
    if aliases:
        voice.say("Aliases: " + ", ".join(f"{name} ({aliases[name]})" for name in sorted(aliases)))
    return None


def system(place: Place, words: str) -> Done:
    """Show the system prompt, or choose another."""
    chat, voice = place.chat, place.voice
    if words:
        _choose(place, {"system": "" if words == _OFF else text_or_file(words, chat.env)})
    voice.say(chat.config["system"] or "There is no system prompt.")
    return None


def tools(place: Place, words: str) -> Done:
    """Show which tools are offered, or choose others."""
    chat, voice = place.chat, place.voice
    if words:
        wanted = [] if words == _OFF else words.replace(",", " ").split()
        with place.interruptible():
            answering = chat.answering_with({"active_tools": wanted})
        idle = offered_names(answering.config, wanted, answering.server_tools)[1]
        if idle:
            raise UsageError(
                f"There is no tool {idle[0]!r}.", hint="/tools lists those that there are."
            )
        chat.use(answering)
    with place.interruptible():
        chat.settle()
    offered = chat.answering.toolset.tools
    configured = chat.config.table("tools")
    names = [name for name, table in configured.items() if is_configured(table)]
    names += [
        name for name in (*chat.answering.server_tools, *BUILTINS, *offered) if name not in names
    ]
    for name in dict.fromkeys(names):
        voice.say(f"  [{'x' if name in offered else ' '}] {name}")
    voice.say("/tools NAME ... offers these and no others; /tools off offers none.")
    return None


def _choose(place: Place, changes: Mapping[str, Any]) -> None:
    try:
        with place.interruptible():
            ready = place.chat.answering_with(changes)
    except ConfigError as error:
        if error.where.startswith(OPTION):
            error.where = ""  # no option said it, but the line above
        raise
    place.chat.use(ready)
