"""make_view: the view for a ``--format``."""

from __future__ import annotations

import functools
from typing import BinaryIO, Optional

from jpq.render.aside import Aside, ViewOptions
from jpq.render.chat import ChatView, Formatter, Verbatim
from jpq.render.jsonl import JsonLinesView, JsonView
from jpq.render.printer import Printer
from jpq.render.sanitize import Sanitizer
from jpq.render.worker import View
from jpq.terminal.caps import Caps, terminal_width


def make_view(
    format: str,
    out: Optional[BinaryIO],
    err: Optional[BinaryIO],
    caps: Caps,
    options: ViewOptions,
) -> View:
    """The view of ``auto``, ``text``, ``markdown``, ``json`` or ``jsonl``.

    ``out`` and ``err`` are the binary stdout and stderr, None where closed; what others
    wrote to them must not come between, so nobody else writes until the renderer is closed.
    """
    printer = Printer(out, err, (caps.stdout.encoding, caps.stderr.encoding))
    if format == "jsonl":
        options = options._replace(reasoning="hidden", tools=False)
    width = functools.partial(terminal_width, caps.stderr, err)
    aside = Aside(printer, caps.stderr, options, width)
    if format == "json":
        return JsonView(printer, aside)
    if format == "jsonl":
        return JsonLinesView(printer, aside)
    # Any terminal obeys control sequences, so none gets the model's, however it is asked for.
    terminal = caps.stdout.terminal
    formatter: Formatter = Sanitizer(options.sanitize) if terminal else Verbatim()
    return ChatView(printer, aside, formatter, terminal)
