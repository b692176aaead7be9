"""Bytes as they arrive to newline-delimited JSON: one message a line."""

from __future__ import annotations

from typing import Iterable, Iterator, List

from jpq.wire.message import Message


def messages(chunks: Iterable[bytes]) -> Iterator[Message]:
    """The lines in ``chunks`` that are not blank, each as soon as its line end has come.

    The last line is handed out without its line end. Bytes that are not UTF-8 are
    replaced. The pieces of a line are joined once, so one huge line costs linear time.
    """
    held: List[bytes] = []
    for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        held.append(first)
        if rest:
            yield from _message(b"".join(held))
            for line in rest[:-1]:
                yield from _message(line)
            held = [rest[-1]]
    yield from _message(b"".join(held))


def _message(line: bytes) -> Iterator[Message]:
    text = line.decode("utf-8-sig", "replace").strip()
    if text:
        yield Message("", text)
