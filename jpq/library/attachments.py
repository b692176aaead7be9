"""What a program attaches to a question: files, or bytes with a name."""

from __future__ import annotations

import os
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


def read_attachments(
    sources: Sequence[Attachable], place: Place, config: Config, model: ModelRef
) -> Mapping[str, Any]:
    """The metadata of a question that ``sources`` belong to; kinds are known by content.

    Raises BadInputError for what cannot be read, is of no known kind or is not taken by
    ``model``.
    """
    none: Dict[str, Any] = {}
    if not sources:
        return none
    attachments = [_read(source, place.cwd) for source in sources]
    overrides = config.table("providers").get(model.provider, {})
    check_attachments(attachments, resolve(model.provider, overrides, place.environ), model)
    return as_metadata(attachments)


def _read(source: Attachable, cwd: str) -> Attachment:
    if isinstance(source, tuple):
        name, data = source
    else:
        path = os.path.join(cwd, os.path.expanduser(os.fspath(source)))
        name = os.path.basename(path)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise BadInputError(
                f"The attachment cannot be read: {error.strerror}.", where=path
            ) from error
    attached = recognised(name, data) if data.strip() else None
    if attached is None:
        raise BadInputError(
            f"The attachment {name!r} is empty, or neither text, an image nor a PDF."
        )
    return attached
