"""What a program attaches to a question: files, or bytes with a name."""

from __future__ import annotations

import os
import stat
from typing import Any, Dict, Mapping, Sequence, Tuple, Union

from jpq.config.load import Config
from jpq.conversation.attachment import Attachment, as_metadata, recognised
from jpq.errors import BadInputError
from jpq.library.opening import Place
from jpq.provider.base import ModelRef
from jpq.provider.registry import resolve
from jpq.provider.wire_thread import check_attachments

# A path, or a name and what it holds.
Attachable = Union[str, "os.PathLike[str]", Tuple[str, bytes]]

# All of a question together, as for the command.
_MOST_BYTES = 15_000_000
# Opening a named pipe must not wait for its other end; Windows has none.
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)  # Windows only


def read_attachments(
    sources: Sequence[Attachable], place: Place, config: Config, model: ModelRef
) -> Mapping[str, Any]:
    """The metadata of a question that ``sources`` belong to; kinds are known by content.

    Raises BadInputError for what cannot be read, is too large, of no known kind or not taken
    by ``model``.
    """
    none: Dict[str, Any] = {}
    if not sources:
        return none
    attachments = []
    left = _MOST_BYTES
    for source in sources:
        name, data = _named(source, place.cwd, left)
        left -= len(data)
        if left < 0:
            raise BadInputError(
                f"The attachments are larger than {_MOST_BYTES // 1_000_000} MB together.",
                where=name,
            )
        attachments.append(_known(name, data))
    overrides = config.table("providers").get(model.provider, {})
    check_attachments(attachments, resolve(model.provider, overrides, place.environ), model)
    return as_metadata(attachments)


def _named(source: Attachable, cwd: str, most_bytes: int) -> Tuple[str, bytes]:
    """The name of ``source`` and what it holds; a byte more than ``most_bytes`` if it is more."""
    if isinstance(source, tuple):
        return source
    path = os.path.join(cwd, os.path.expanduser(os.fspath(source)))
    try:
        descriptor = os.open(path, os.O_RDONLY | _NONBLOCK | _BINARY)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise BadInputError(
                    f"The attachment is {'a folder' if stat.S_ISDIR(mode) else 'no file'}.",
                    where=path,
                    hint="Give what is in it as bytes, with a name.",
                )
            with open(descriptor, "rb", closefd=False) as file:
                return os.path.basename(path), file.read(most_bytes + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise BadInputError(
            f"The attachment cannot be read: {getattr(error, 'strerror', None) or error}.",
            where=path,
        ) from error


def _known(name: str, data: bytes) -> Attachment:
    attached = recognised(name, data) if data.strip() else None
    if attached is None:
        raise BadInputError(
            f"The attachment {name!r} is empty, or neither text, an image nor a PDF."
        )
    return attached
