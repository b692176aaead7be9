"""The first line of a chat, and the last."""

from __future__ import annotations

from typing import Optional

from jpq.cli.chat.past import counting_turns
from jpq.cli.chat.state import Chat
from jpq.cli.chat.voice import Voice
from jpq.render.theme import GREEN


def greet(chat: Chat, voice: Voice) -> None:
    """Say who answers, and how to go on; in an old conversation, which one it is."""
    if not voice.is_heard:
        return
    voice.mention(f"{chat.model} answers. /help lists the commands, Ctrl+D leaves.")
    if chat.journal is None:
        return
    turns = counting_turns(chat.journal.stream)
    title = chat.journal.metadata.get("title") or "without a title"
    count = "1 turn" if len(turns) == 1 else f"{len(turns)} turns"
    voice.mention(f"This goes on: {title} ({count}). /show shows what was said.")
    if turns and turns[-1].unfinished:
        voice.mention("The last answer is not whole. /retry goes on with it.")


def say_goodbye(voice: Voice, saved_id: Optional[str]) -> None:
    """Say how to come back."""
    if voice.is_heard:
        back = "" if saved_id is None else f" Come back with: jpq chat -r {saved_id}"
        voice.mention(f"Goodbye.{back}", GREEN)
