"""``-a``: reads what is attached to a question. Loaded when something is."""

from __future__ import annotations

import base64
import importlib
import os
import re
from typing import Callable, Iterator, List, Optional, Sequence, Tuple
from urllib.parse import unquote, urlsplit

from jpq.cli.attach_path import Found, Reading, is_pattern, matching, read_path, size_words
from jpq.cli.environment import Environment
from jpq.cli.prompt_text import read_stdin
from jpq.config.load import Config
from jpq.conversation.attachment import PDF, PLAIN_TEXT, Attachment, recognised
from jpq.conversation.tokens import tokens_of
from jpq.errors import BadInputError, UsageError
from jpq.provider.base import ModelRef
from jpq.provider.registry import resolve
from jpq.provider.window import context_window
from jpq.provider.wire_thread import check_attachments

STDIN = "-"
CLIPBOARD = "clipboard:"
# All attachments of a question together. As base64 that is what Google takes in one request
# (20 MB), the least of the providers' limits.
MAX_BYTES = 15_000_000
# Tokens of a picture, and of a page of a PDF: about what providers count for them.
_IMAGE_TOKENS = 1000
_PAGE_TOKENS = 1500
# An estimate can be wrong by half; more than twice the window does not fit for certain.
_SURELY_TOO_LONG = 2
_MOST_LINES = 5


def gather_attachments(
    sources: Sequence[str],
    env: Environment,
    config: Config,
    model: ModelRef,
    tell: Callable[[str], None],
    *,
    show: bool = False,
) -> List[Attachment]:
    """What ``sources`` hold, in their order. Main thread; waits for stdin without limit.

    Kinds are known by content. ``show`` tells size and tokens. Raises BadInputError for what
    cannot be read, is too large, is of no known kind or is not taken by ``model``;
    StreamError for a URL's server.
    """
    if sources.count(STDIN) > 1:
        raise UsageError("stdin can be attached only once.", hint="Give -a - one time.")
    attachments: List[Attachment] = []
    left = MAX_BYTES
    for source in sources:
        if not source:  # a script's variable that is not set; as a path it is the folder
            raise UsageError("-a was given nothing to attach.", hint="The working folder is: -a .")
        several = is_pattern(source, env.cwd) and not _is_address(source)
        found = _matched(source, env, config) if several else [_read(source, env, config, tell)]
        passed_over: List[str] = []
        before = len(attachments)
        for name, data in found:
            attached = None
            if several or len(data) <= left:
                attached = _as_attachment(name, data, tell, passed_over if several else None)
                if attached is None:
                    continue
            left -= len(data)
            if left < 0:
                raise BadInputError(
                    f"The attachments are larger than {MAX_BYTES // 1_000_000} MB together.",
                    where=name,
                    hint="Leave some out, or ask about them one after the other.",
                )
            if attached is not None:
                attachments.append(attached)
        if passed_over and len(attachments) == before:
            raise BadInputError(
                f"Nothing that matches {source!r} can be attached.", where=_few(passed_over)
            )
        if passed_over:
            tell(f"Left out of {source}: {_few(passed_over)}.")
    row = resolve(model.provider, config.table("providers").get(model.provider, {}), env.environ)
    check_attachments(attachments, row, model)
    _check_length(attachments, model, config, env, tell)
    if show:
        _show(attachments, tell)
    return attachments


def _is_address(source: str) -> bool:
    return source.lower().startswith(("http://", "https://", "mcp://"))


def _matched(source: str, env: Environment, config: Config) -> Iterator[Found]:
    """The files of a pattern, under the paths that tell them apart."""
    reading = _reading(env, config, lambda line: None)
    for path in matching(source, env.cwd):
        name = os.path.relpath(path, env.cwd)
        yield Found(path if name.startswith(os.pardir) else name, read_path(path, reading).data)


def _read(source: str, env: Environment, config: Config, tell: Callable[[str], None]) -> Found:
    if source == STDIN:
        if env.stdin is None:
            raise BadInputError("There is no stdin to attach.", hint="Pipe something in.")
        return Found("stdin", read_stdin(env.stdin, tell))
    if source.lower().startswith(("http://", "https://")):
        return Found(*_fetched(source, config))
    if source.lower().startswith("mcp://"):
        return Found(*_from_server(source, env, config))
    if source == CLIPBOARD:
        clipboard = importlib.import_module("jpq.cli.attach_clipboard")  # runs other programs
        return Found("clipboard", clipboard.read_clipboard(env.environ))
    return read_path(source, _reading(env, config, tell))


def _reading(env: Environment, config: Config, tell: Callable[[str], None]) -> Reading:
    return Reading(env.cwd, MAX_BYTES, config["input.stdin_wait_s"], tell)


def _fetched(url: str, config: Config) -> Tuple[str, bytes]:
    # These load requests, which a question without a URL may do without.
    fetch = importlib.import_module("jpq.provider.fetch")
    transport = importlib.import_module("jpq.wire.transport").Transport(
        config["request.connect_timeout_s"]
    )
    try:
        fetched = fetch.fetch(url, transport, MAX_BYTES)
    finally:
        transport.close()
    parts = urlsplit(url)
    name = os.path.basename(unquote(parts.path).rstrip("/")) or parts.hostname or "page"
    return name, fetched.body


def _from_server(uri: str, env: Environment, config: Config) -> Tuple[str, bytes]:
    use = importlib.import_module("jpq.cli.mcp_use")  # starts a server of its own
    contents = use.read_resource(uri, env, config)
    if len(contents) != 1:
        raise BadInputError(f"The resource has {len(contents)} contents, not one.", where=uri)
    address, data = contents[0]
    return os.path.basename(address.rstrip("/")) or address, data


def _as_attachment(
    name: str, data: bytes, tell: Callable[[str], None], passed_over: Optional[List[str]]
) -> Optional[Attachment]:
    """What can be sent. What cannot is an error, or None and named in ``passed_over``."""
    if not data.strip():
        if passed_over is not None:
            passed_over.append(f"{name} (empty)")
            return None
        raise BadInputError(f"The attachment {name!r} is empty.")
    attached = recognised(_printable(name), data)
    if attached is None:
        if passed_over is not None:
            passed_over.append(f"{name} (neither text, image nor PDF)")
            return None
        raise BadInputError(
            f"The attachment {name!r} is neither text, an image (png, jpeg, gif, webp) nor a PDF.",
            hint="Convert it first, or give the text that is in it.",
        )
    if attached.kind == "text" and "\ufffd" in attached.content and "\ufffd".encode() not in data:
        tell(f"{name} holds bytes that are not UTF-8; they are sent as U+FFFD.")
    return attached


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else "_" for char in name)


def _check_length(
    attachments: Sequence[Attachment],
    model: ModelRef,
    config: Config,
    env: Environment,
    tell: Callable[[str], None],
) -> None:
    """Refuse what is longer than the model's context window, as far as that is known."""
    tokens = sum(map(_tokens, attachments))
    window = context_window(model, config, env.paths.cache, env.environ)
    if window is None or tokens <= window:
        return
    told = f"about {tokens:,} tokens of attachments, and {model} takes {window:,} in all"
    if tokens > window * _SURELY_TOO_LONG:
        raise BadInputError(
            f"They do not fit: {told}.",
            where=_few([each.name for each in attachments]),
            hint="Leave some out, attach a part, or choose a model with a longer context.",
        )
    tell(f"They may not fit: {told}.")


def _show(attachments: Sequence[Attachment], tell: Callable[[str], None]) -> None:
    """Tell what is sent: each attachment, or the sums of many."""
    if len(attachments) > _MOST_LINES:
        size, tokens = sum(map(_size, attachments)), sum(map(_tokens, attachments))
        count = len(attachments)
        tell(f"Attached {count} files: {size_words(size)}, about {tokens:,} tokens.")
        return
    for each in attachments:
        size, tokens = _size(each), _tokens(each)
        about = "about 1 token" if tokens == 1 else f"about {tokens:,} tokens"
        tell(f"Attached {each.name}: {each.kind}, {size_words(size)}, {about}.")


def _size(attached: Attachment) -> int:
    if attached.media_type == PLAIN_TEXT:
        return len(attached.content.encode("utf-8", "replace"))
    return len(base64.b64decode(attached.content))


def _tokens(attached: Attachment) -> int:
    if attached.media_type == PLAIN_TEXT:
        return tokens_of(attached.content)
    if attached.media_type != PDF:
        return _IMAGE_TOKENS
    pages = len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(attached.content)))
    return _PAGE_TOKENS * max(1, pages)


def _few(names: Sequence[str]) -> str:
    """The first of ``names``, and how many more there are."""
    shown = ", ".join(map(_printable, names[:_MOST_LINES]))
    return shown if len(names) <= _MOST_LINES else f"{shown} and {len(names) - _MOST_LINES} more"
