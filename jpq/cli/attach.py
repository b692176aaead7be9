"""``-a PATH|URL|-``: reads what is attached to a question. Loaded when something is."""

from __future__ import annotations

import importlib
import os
from typing import Callable, List, Sequence, Tuple
from urllib.parse import unquote, urlsplit

from jpq.cli.environment import Environment
from jpq.cli.prompt_text import read_stdin
from jpq.config.load import Config
from jpq.conversation.attachment import Attachment, recognised
from jpq.errors import BadInputError, UsageError
from jpq.provider.base import ModelRef
from jpq.provider.registry import resolve
from jpq.provider.wire_thread import check_attachments

STDIN = "-"
# All attachments of a question together. As base64 that is what Google takes in one request
# (20 MB), the least of the providers' limits.
MAX_BYTES = 15_000_000


def gather_attachments(
    sources: Sequence[str],
    env: Environment,
    config: Config,
    model: ModelRef,
    tell: Callable[[str], None],
) -> List[Attachment]:
    """What ``sources`` hold, in their order. Main thread; waits for stdin without limit.

    Kinds are known by content. Raises BadInputError for what cannot be read, is too large,
    is of no known kind or is not taken by ``model``; StreamError for a URL's server.
    """
    if sources.count(STDIN) > 1:
        raise UsageError("stdin can be attached once only.", hint="Give -a - one time.")
    attachments: List[Attachment] = []
    left = MAX_BYTES
    for source in sources:
        name, data = _read(source, env, config, tell)
        left -= len(data)
        if left < 0:
            raise BadInputError(
                f"The attachments are larger than {MAX_BYTES // 1_000_000} MB together.",
                where=name,
                hint="Leave some out, or ask about them one after the other.",
            )
        attachments.append(_as_attachment(name, data, tell))
    row = resolve(model.provider, config.table("providers").get(model.provider, {}), env.environ)
    check_attachments(attachments, row, model)
    return attachments


def _read(
    source: str, env: Environment, config: Config, tell: Callable[[str], None]
) -> Tuple[str, bytes]:
    if source == STDIN:
        if env.stdin is None:
            raise BadInputError("There is no stdin to attach.", hint="Pipe something in.")
        return "stdin", read_stdin(env.stdin, tell)
    if source.lower().startswith(("http://", "https://")):
        return _fetched(source, config)
    if source.lower().startswith("mcp://"):
        return _from_server(source, env, config)
    path = os.path.join(env.cwd, os.path.expanduser(source))
    try:
        with open(path, "rb") as file:
            return os.path.basename(path), file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise BadInputError(
            f"The attachment cannot be read: {getattr(error, 'strerror', error)}.", where=path
        ) from error


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


def _as_attachment(name: str, data: bytes, tell: Callable[[str], None]) -> Attachment:
    if not data.strip():
        raise BadInputError(f"The attachment {name!r} is empty.")
    attached = recognised(_printable(name), data)
    if attached is None:
        raise BadInputError(
            f"The attachment {name!r} is neither text, an image (png, jpeg, gif, webp) nor a PDF.",
            hint="Convert it first, or give the text that is in it.",
        )
    if attached.kind == "text" and "\ufffd" in attached.content and "\ufffd".encode() not in data:
        tell(f"{name} holds bytes that are not UTF-8; they are sent as U+FFFD.")
    return attached


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else "_" for char in name)
