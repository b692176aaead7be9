"""make_view: the view for a ``--format``."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, BinaryIO, Callable, Optional, Union

from jpq.render.aside import Aside, ViewOptions
from jpq.render.chat import ChatView, Formatter, Late, Sanitized, Verbatim
from jpq.render.printer import Printer
from jpq.render.theme import Look, find_look
from jpq.render.worker import View
from jpq.terminal.caps import Caps, ChannelCaps, terminal_width

if TYPE_CHECKING:
    from jpq.render.whole import Shown


def make_view(
    format: str,
    out: Optional[BinaryIO],
    err: Optional[BinaryIO],
    caps: Caps,
    options: ViewOptions,
    shown: Optional[Shown] = None,
) -> View:
    """The view of ``auto``, ``text``, ``markdown``, ``json`` or ``jsonl``.

    ``out`` and ``err`` are the binary stdout and stderr, None where closed; what others
    wrote to them must not come between, so nobody else writes until the renderer is closed.
    ``shown`` says what of the answer is text, where not all of it is.
    """
    printer = Printer(out, err, (caps.stdout.encoding, caps.stderr.encoding))
    if format == "jsonl":
        options = options._replace(reasoning="hidden", tools=False)
    width = functools.partial(terminal_width, caps.stderr, err)
    aside = Aside(printer, caps.stderr, options, width)
    if format in ("json", "jsonl"):
        module = importlib.import_module("jpq.render.jsonl")
        view: View = (module.JsonView if format == "json" else module.JsonLinesView)(printer, aside)
        return view
    terminal = caps.stdout.terminal
    formatter: Formatter = Verbatim()
    draws = caps.pretty and (shown is None or shown.json)
    if draws:
        look = find_look(options.environ, caps.stdout, options.background, options.link)
        columns = functools.partial(wrap_columns, options.wrap, caps.stdout, out)
        formatter = Late(
            functools.partial(make_markdown, look, columns, options.sanitize, options.typewriter_ms)
        )
        if shown is not None:
            formatter = importlib.import_module("jpq.render.json_block").JsonBlock(formatter)
    elif terminal:
        # Any terminal obeys control sequences, so none gets the model's, however it is asked for.
        formatter = Sanitized(options.sanitize)
    if options.chat:
        talk = importlib.import_module("jpq.render.talk")  # of no use to a single question
        talk_view: View = talk.TalkView(printer, aside, formatter, terminal, not options.quiet)
        return talk_view
    header = caps.pretty and not options.quiet and not options.verbose  # which says it otherwise
    view = ChatView(printer, aside, formatter, terminal, header=header)
    if shown is None or draws:
        return view
    whole: View = importlib.import_module("jpq.render.whole").WholeAnswer(view, shown.choose)
    return whole


def make_markdown(
    look: Look,
    columns: Callable[[], Optional[int]],
    sanitize: str,
    typewriter_ms: float = 0.0,
) -> Formatter:
    """The formatter of Markdown. Loads the parser."""
    module = importlib.import_module("jpq.render.markdown.formatter")
    formatter: Formatter = module.MarkdownFormatter(look, columns, sanitize)
    if typewriter_ms > 0:
        module = importlib.import_module("jpq.render.markdown.typewriter")
        formatter = module.Typewriter(formatter, typewriter_ms / 1000)
    return formatter


def wrap_columns(
    wrap: Union[str, int], caps: ChannelCaps, file: Optional[BinaryIO]
) -> Optional[int]:
    """The columns of a line under ``style.wrap`` now; None where the terminal breaks lines."""
    if wrap == "off":
        return None
    return terminal_width(caps, file) if wrap == "auto" else int(wrap)
