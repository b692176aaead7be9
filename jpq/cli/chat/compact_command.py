"""/compact: from now on less of the conversation is sent, and nothing is lost."""

from __future__ import annotations

import importlib
from typing import NoReturn

from jpq.cli.chat.place import Done, Place
from jpq.cli.chat.signals import Pressed
from jpq.cli.conversation_compact import share
from jpq.conversation.compaction import plan_compaction, summarize
from jpq.conversation.event import Compaction, Draft, Entry
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import build_thread
from jpq.conversation.tokens import estimate_tokens
from jpq.errors import BadInputError, UsageError
from jpq.interrupt.signals import Signalled, is_key

_SUMMARY = "summary"
_KEPT = 1  # the last turn, which the next message is about


def compact(place: Place, words: str) -> Done:
    """Shorten what stands before the last turn, or have the model sum it up."""
    if words not in ("", _SUMMARY):
        raise UsageError(
            "/compact takes the word summary or nothing.",
            hint="/compact leaves reasoning and long results out; /compact summary sums up.",
        )
    journal = place.chat.journal
    plan = None if journal is None else plan_compaction(journal.stream, _KEPT)
    if journal is None or plan is None:
        raise BadInputError("There is nothing before the last turn that could be shorter.")
    if words:
        plan = plan._replace(summary=_summed_up(place, journal.stream, plan))
    else:
        plan = plan._replace(drop_reasoning=True, shorten_results=True)
    before = _tokens(journal.stream)
    after = _tokens(journal.stream, Entry("compaction", "", plan))
    if after >= before:
        place.voice.say("That would save nothing, so nothing was done. /compact summary may.")
        return None
    journal.commit([Draft(plan)])
    place.voice.say(
        f"About {after:,} tokens are sent instead of {before:,} ({share(before, after)} less)."
    )
    return None


def _summed_up(place: Place, stream: ConversationStream, plan: Compaction) -> str:
    # What asks a model apart from the conversation is of no use to most chats.
    asking = importlib.import_module("jpq.cli.conversation_ask")
    place.voice.mention(f"{place.chat.model} sums the conversation up.")
    chat = place.chat
    with asking.Asker(chat.config, chat.env, _give_up, chat.own_url, chat.log) as asker:
        return summarize(stream.entries, plan, asker.ask)


def _give_up(signum: int) -> NoReturn:
    raise Pressed(None) if is_key(signum) else Signalled(signum)


def _tokens(stream: ConversationStream, *more: Entry) -> int:
    return estimate_tokens(build_thread([*stream.entries, *more]))
