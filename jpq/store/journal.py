"""Journal: one conversation open for writing, on disk (FileJournal) or nowhere (MemoryJournal)."""

from __future__ import annotations

import os
from typing import Any, List, Mapping, Optional, Protocol, Sequence, Tuple

from jpq.config.files import sync_folder
from jpq.conversation.entry import encode_entry, to_json_bytes
from jpq.conversation.event import Draft, Entry, ToolCall
from jpq.conversation.json_splice import with_field
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import Origin
from jpq.errors import WriteError
from jpq.events.parts import StreamEvent
from jpq.named import NamedTuple
from jpq.store.files import (
    keep_damaged,
    open_private,
    read_file,
    remove_tree,
    replace_file,
    write_all,
    write_error,
)
from jpq.store.inflight import (
    InflightFile,
    Recovery,
    encode_commit,
    encode_events,
    encode_header,
)
from jpq.store.lock import ConversationLock
from jpq.store.reading import EVENTS, INFLIGHT, METADATA, adopt, read_object

_PAGE = 4096  # the smallest anywhere


class Mark(NamedTuple):
    """Where a conversation stood: entries, bytes of its file, lines not yet in it."""

    entries: int
    size: int
    unsaved: Tuple[bytes, ...]


class Journal(Protocol):
    """One open conversation. Main thread only.

    ``id`` and ``folder`` are None where nothing is saved.
    """

    stream: ConversationStream

    @property
    def id(self) -> Optional[str]: ...

    @property
    def folder(self) -> Optional[str]: ...

    @property
    def metadata(self) -> Mapping[str, Any]: ...

    def begin_cycle(self, origin: Optional[Origin] = None) -> None:
        """A request is about to be sent to ``origin``; what it yields is recorded."""

    def record(self, events: Sequence[StreamEvent]) -> None:
        """Keep what arrived, before it is shown. Raises WriteError; may be called again."""

    def commit(self, drafts: Sequence[Draft]) -> List[Entry]:
        """Append ``drafts``, which takes the place of all that was recorded.

        After a WriteError they are in ``stream``, and the next commit writes them too.
        """

    def discard_inflight(self) -> None:
        """Forget what was recorded since the last commit."""

    def mark(self) -> Mark:
        """Where the conversation stands."""

    def rollback(self, mark: Mark) -> None:
        """Make the conversation what it was at ``mark``, byte for byte."""

    def unanswered_tool_calls(self) -> List[ToolCall]:
        """The calls of the last turn that wait to be run."""

    def set_title(self, title: str) -> None:
        """Give the conversation a title."""

    def close(self) -> None:
        """Let go of the conversation; what is neither committed nor discarded is kept."""


class FileJournal:
    """A conversation in its folder, whose lock this process holds. Main thread only.

    An entry is durable once ``commit`` returns. Until then everything recorded is in
    ``inflight.jsonl``, which outlives the process but not a power cut.
    """

    def __init__(
        self, lock: ConversationLock, folder: str, stream: ConversationStream, is_new: bool
    ) -> None:
        self.stream = stream
        self._lock = lock
        self._folder = folder
        self._metadata = read_object(os.path.join(folder, METADATA))
        self._events_path = os.path.join(folder, EVENTS)
        self._events = open_private(self._events_path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self._inflight = InflightFile(os.path.join(folder, INFLIGHT))
        self._unsaved: List[bytes] = []  # lines of entries that could not be written yet
        self._unsynced = [folder, os.path.dirname(folder)] if is_new else []
        self._in_cycle = False  # a header has been recorded since the last commit
        self._is_new = is_new
        self._closed = False

    @property
    def id(self) -> str:
        """The conversation's id, which is its folder's name."""
        return os.path.basename(self._folder)

    @property
    def folder(self) -> str:
        """The conversation's folder."""
        return self._folder

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Title, workspace and so on, unknown fields included."""
        return self._metadata

    def begin_cycle(self, origin: Optional[Origin] = None) -> None:
        self._in_cycle = True
        self._inflight.append(encode_header(self.stream.last_event_id, origin))

    def record(self, events: Sequence[StreamEvent]) -> None:
        lines = encode_events(events)
        if not self._in_cycle:
            self._in_cycle = True
            lines = encode_header(self.stream.last_event_id, None) + lines
        if lines:
            self._inflight.append(lines)

    def commit(self, drafts: Sequence[Draft]) -> List[Entry]:
        entries = [self.stream.append(draft) for draft in drafts]
        self._save(entries)
        return entries

    def commit_copies(self, entries: Sequence[Entry]) -> None:
        """Append entries of another conversation, byte for byte. Raises WriteError."""
        self._save([self.stream.adopt(entry) for entry in entries])

    def discard_inflight(self) -> None:
        if self._unsaved:
            # The file may hold the only copy of entries that still have to be written.
            self._save([])
        self._in_cycle = False
        self._inflight.remove()

    def mark(self) -> Mark:
        return Mark(len(self.stream.entries), os.fstat(self._events).st_size, tuple(self._unsaved))

    def rollback(self, mark: Mark) -> None:
        self.stream.truncate(mark.entries)
        self._unsaved = list(mark.unsaved)
        self._in_cycle = False
        self._inflight.remove()
        try:
            os.ftruncate(self._events, mark.size)
            os.fsync(self._events)
        except OSError as error:
            raise write_error("take the turn back", error, self._events_path) from error

    def unanswered_tool_calls(self) -> List[ToolCall]:
        return self.stream.unanswered_tool_calls()

    def set_title(self, title: str) -> None:
        path = os.path.join(self._folder, METADATA)
        try:
            data = with_field(read_file(path), "title", title)
            if data is None:  # it is damaged, and somebody may still make sense of it
                keep_damaged(path)
                data = to_json_bytes({**self._metadata, "title": title}) + b"\n"
            replace_file(path, data)
        except OSError as error:
            raise write_error("save the title", error, path) from error
        self._metadata["title"] = title

    def recover(self, recovery: Recovery, torn: int = 0) -> None:
        """Commit what an earlier process recorded and did not get to commit, in the place
        of the last ``torn`` bytes of the file.

        A write that fails here is tried again, and told, with the next commit.
        """
        if recovery.foreign:
            try:
                keep_damaged(os.path.join(self._folder, INFLIGHT))
            except OSError:
                return  # then the file itself stays
        if torn:
            try:
                os.ftruncate(self._events, os.fstat(self._events).st_size - torn)
            except OSError:
                pass  # it stays a line that cannot be read
        try:
            self._save(adopt(self.stream, recovery))
        except WriteError:
            pass

    def close(self) -> None:
        """Let go of the conversation; a new one in which nothing was said leaves no trace."""
        if self._closed:
            return
        self._closed = True
        unused = self._is_new and not (self.stream.entries or self._inflight.holds_something)
        self._inflight.close()
        os.close(self._events)
        if unused:
            try:
                remove_tree(self._folder)
            except OSError:
                pass  # an empty conversation is untidy and nothing worse
        self._lock.release()

    def _save(self, entries: Sequence[Entry]) -> None:
        """Write the lines that are not in the file yet, then drop the in-flight file.

        The lines go into the in-flight file first: a kill in the middle of the second
        write then leaves a whole copy. If that fails the recorded events are still there.
        """
        self._in_cycle = False
        self._unsaved.extend(encode_entry(entry) for entry in entries)
        if self._unsaved:
            size = os.fstat(self._events).st_size
            data = self._line_end() + b"".join(line + b"\n" for line in self._unsaved)
            if self._inflight.holds_something or not _in_one_page(size, len(data)):
                try:
                    self._inflight.append(encode_commit(self._unsaved))
                except WriteError:
                    pass
            self._append_durably(data, size)
            self._unsaved.clear()
        self._inflight.remove()

    def _append_durably(self, data: bytes, size: int) -> None:
        """Append ``data`` to the file of ``size`` bytes, or leave it as it was."""
        self._check_in_place()
        try:
            write_all(self._events, data)
            os.fsync(self._events)
            while self._unsynced:
                sync_folder(self._unsynced[-1])
                self._unsynced.pop()
        except OSError as error:
            try:
                os.ftruncate(self._events, size)
            except OSError:
                pass  # a torn tail, which every reader passes over
            raise write_error("save the conversation", error, self._events_path) from error

    def _check_in_place(self) -> None:
        """Raise WriteError where somebody removed the file: it would take what is written
        and keep nothing of it."""
        try:
            in_place = os.path.samestat(os.fstat(self._events), os.stat(self._events_path))
        except FileNotFoundError:
            in_place = False
        except OSError as error:
            raise write_error("save the conversation", error, self._events_path) from error
        if not in_place:
            raise WriteError(
                "Cannot save the conversation: it was removed while it was in use.",
                where=self._folder,
                hint="What is on the screen is the only copy; a new question starts a new one.",
            )

    def _line_end(self) -> bytes:
        """What has to come before the next line: a broken tail must not swallow it."""
        if os.lseek(self._events, 0, os.SEEK_END) == 0:
            return b""
        os.lseek(self._events, -1, os.SEEK_END)
        return b"" if os.read(self._events, 1) == b"\n" else b"\n"


def _in_one_page(size: int, length: int) -> bool:
    """Whether ``length`` bytes behind ``size`` are in one page of the system's cache, so that
    no kill can come in the middle of writing them."""
    return size // _PAGE == (size + length - 1) // _PAGE
