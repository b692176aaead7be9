"""What was said, on the person's terminal again."""

from __future__ import annotations

from jpq.cli.chat.place import Place
from jpq.cli.conversation_text import regions
from jpq.conversation.stream import ConversationStream
from jpq.render.theme import BOLD, CYAN, DIM, GREEN

_YOU, _MODEL = "You", "Assistant"
_STYLES = {_YOU: BOLD + CYAN, _MODEL: BOLD + GREEN}


def draw(stream: ConversationStream, place: Place) -> None:
    """Show the whole of ``stream``; texts of a person and of a model as Markdown."""
    voice = place.voice
    for region in regions(stream.entries):
        voice.say(f"{region.speaker}:", _STYLES.get(region.speaker, BOLD))
        if region.speaker in _STYLES:
            voice.show_markdown(region.text)
        else:
            voice.say(region.text, DIM)
        voice.write("\n")
