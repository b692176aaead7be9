"""Library: the folder that holds every saved conversation."""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, List, Mapping, Optional, Tuple

from jpq.config.paths import make_folder
from jpq.conversation.entry import to_json_bytes
from jpq.conversation.identity import base36, random_base36, utc_timestamp
from jpq.conversation.stream import ConversationStream
from jpq.errors import BadInputError
from jpq.store.files import (
    is_file,
    make_private_folder,
    names_in,
    open_private,
    remove_tree,
    write_all,
    write_error,
)
from jpq.store.inflight import Recovery
from jpq.store.journal import FileJournal
from jpq.store.last import noted_last, remember_last
from jpq.store.lock import ConversationLock
from jpq.store.reading import (
    BASE_CONFIG,
    EVENTS,
    INFLIGHT,
    METADATA,
    SCHEMA,
    Contents,
    FilesState,
    SavedConversation,
    files_state,
    read_contents,
    read_conversation,
    read_object,
)

if TYPE_CHECKING:
    from jpq.store.summary import Summary

_REMOVED = ".removed-"  # a folder whose removal has begun
_NAMED_AT_MOST = 5


class Library:
    """The conversations in ``folder``, which need not exist yet. Main thread only.

    ``clock`` returns seconds since the epoch. Anything in the folder that is not a
    conversation is left alone.
    """

    def __init__(self, folder: str, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        # What was read last, with the state of its files: to be opened next, most likely.
        self._just_read: Optional[Tuple[FilesState, SavedConversation]] = None

    def create(
        self,
        metadata: Mapping[str, Any],
        base_config: Optional[Mapping[str, Any]] = None,
        id: Optional[str] = None,
        is_last: bool = True,
    ) -> FileJournal:
        """A new conversation, open for writing; ``metadata`` has ``workspace``, ``model``,
        ``title``. It is called ``id`` where that is given and free, and is from now on the
        ``last`` of its workspace unless told otherwise. Raises WriteError."""
        now = self._clock()
        make_folder(os.path.dirname(self._folder))
        try:
            folder = self._make_folder(now, id)
        except OSError as error:
            raise write_error("create a conversation", error, self._folder) from error
        lock = ConversationLock(folder)
        try:
            lock.acquire(0, _unheard)
            about = {"created_at": utc_timestamp(now), "schema": SCHEMA, **metadata}
            _write_object(os.path.join(folder, METADATA), about)
            _write_object(os.path.join(folder, BASE_CONFIG), base_config or {})
            stream = ConversationStream(base_config, self._clock)
            journal = FileJournal(lock, folder, stream, is_new=True)
        except OSError as error:
            lock.release()
            remove_tree(folder)
            raise write_error("create a conversation", error, folder) from error
        if is_last:
            remember_last(self._folder, journal.metadata.get("workspace"), journal.id)
        return journal

    def open(
        self,
        id: str,
        lock_wait_s: float,
        notify: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
        name_damage: bool = True,
    ) -> FileJournal:
        """The conversation ``id``, open for writing, with what a killed process recorded.

        Waits up to ``lock_wait_s`` seconds while another process writes it; ``notify`` is
        told of that, and of what is damaged. Raises BadInputError, ConversationBusyError or
        WriteError.
        """
        folder = self._existing(id)
        lock = ConversationLock(folder)
        lock.acquire(lock_wait_s, notify, sleep)
        try:
            contents = self._contents(folder)
            journal = FileJournal(lock, folder, contents.stream, is_new=False)
        except OSError as error:
            lock.release()
            raise write_error("open the conversation", error, folder) from error
        except BadInputError:
            lock.release()
            raise
        for notice in contents.notices if name_damage else ():
            notify(notice)
        journal.recover(contents.recovery, contents.torn)
        remember_last(self._folder, journal.metadata.get("workspace"), journal.id)
        return journal

    def read(self, id: str) -> SavedConversation:
        """The conversation ``id`` as it is now; writes nothing and waits for nobody."""
        folder = self._existing(id)
        state = files_state(folder)
        saved = read_conversation(folder, self._clock)
        self._just_read = (state, saved)
        return saved

    def last(self, workspace: str) -> Optional[str]:
        """The id of the conversation of ``workspace`` that was written last.

        It is noted where it is opened for writing, so that neither a clock that went back
        nor the number of conversations matters; without a note the files' times decide.
        """
        noted = noted_last(self._folder, workspace)
        if noted is not None and self._is_of(noted, workspace):
            return noted
        newest_first = sorted(self.ids(), key=lambda id: (self._written_at(id), id), reverse=True)
        for id in newest_first:
            if self._is_of(id, workspace):
                return id
        return None

    def list(self) -> List[Summary]:
        """A summary of every conversation, the one written last first."""
        # Not loaded by a question, which needs no list.
        summarize = importlib.import_module("jpq.store.summary").summarize
        summaries = []
        for id in self.ids():
            try:
                summaries.append(summarize(os.path.join(self._folder, id)))
            except FileNotFoundError:
                continue  # just removed
        return sorted(summaries, key=lambda row: (row.updated_at, row.id), reverse=True)

    def ids(self) -> List[str]:
        """The id of every conversation, the oldest first. Raises BadInputError."""
        return sorted(filter(self._is_conversation, names_in(self._folder)))

    def resolve(self, text: str, part_of_title: bool = True) -> str:
        """The id that ``text`` names: an id, the beginning of one, or a title or part of one.

        Raises BadInputError when there is no such conversation or more than one.
        """
        ids = self.ids()
        if text in ids:
            return text
        found = [id for id in ids if text and id.startswith(text)]
        found = found or self._titled(text, part_of_title)
        if len(found) == 1:
            return found[0]
        hint = "See the saved ones with: jpq conversation ls"
        if not found:
            raise BadInputError(f"There is no conversation {text!r}.", hint=hint)
        named = ", ".join(found[:_NAMED_AT_MOST]) + (", ..." if found[_NAMED_AT_MOST:] else "")
        raise BadInputError(f"{text!r} names more than one conversation: {named}.", hint=hint)

    def path(self, id: str) -> str:
        """The folder of the conversation ``id``."""
        return self._existing(id)

    def remove(self, id: str) -> None:
        """Remove the conversation ``id`` with all its files.

        Raises ConversationBusyError while a process writes it. The folder is renamed
        first, so that a kill leaves no half of a conversation.
        """
        folder = self._existing(id)
        lock = ConversationLock(folder)
        lock.acquire(0, _unheard)
        doomed = os.path.join(self._folder, _REMOVED + id)
        try:
            if sys.platform == "win32":
                lock.release()  # an open file keeps its folder from being renamed there
            os.rename(folder, doomed)
            for name in os.listdir(self._folder):
                if name.startswith(_REMOVED):
                    remove_tree(os.path.join(self._folder, name))
        except OSError as error:
            raise write_error("remove the conversation", error, folder) from error
        finally:
            lock.release()

    def _contents(self, folder: str) -> Contents:
        """What is in ``folder``; not read again if it was read just now and is the same."""
        just_read, self._just_read = self._just_read, None
        if just_read is not None:
            state, saved = just_read
            # What a killed process left in flight has to be told apart from what is committed.
            if saved.folder == folder and state.inflight is None and state == files_state(folder):
                return Contents(saved.stream, Recovery([], []), 0, saved.notices)
        return read_contents(folder, self._clock)

    def _make_folder(self, now: float, id: Optional[str]) -> str:
        if not os.path.isdir(self._folder):
            try:
                make_private_folder(self._folder)
            except FileExistsError:
                pass  # another process was quicker
        while True:
            # Sorts by time until the year 2059, and is short enough to type.
            name = id or base36(max(0, int(now * 1000)), 8) + random_base36(3)
            folder, id = os.path.join(self._folder, name), None
            try:
                make_private_folder(folder)
            except FileExistsError:
                continue
            return folder

    def _existing(self, id: str) -> str:
        if not self._is_conversation(id):
            raise BadInputError(
                f"There is no conversation {id!r}.",
                where=self._folder,
                hint="See the saved ones with: jpq conversation ls",
            )
        return os.path.join(self._folder, id)

    def _is_conversation(self, name: str) -> bool:
        if not name or name.startswith(".") or os.path.basename(name) != name:
            return False
        folder = os.path.join(self._folder, name)
        try:
            return any(is_file(os.path.join(folder, file)) for file in (METADATA, EVENTS))
        except PermissionError:
            return True  # whatever reads it says so

    def _is_of(self, id: str, workspace: str) -> bool:
        if not self._is_conversation(id):
            return False
        try:
            metadata = read_object(os.path.join(self._folder, id, METADATA))
        except OSError:
            return False  # not ours to read, or just removed
        return metadata.get("workspace") == workspace

    def _written_at(self, id: str) -> int:
        """When the conversation was last written, in nanoseconds since the epoch."""
        times = [0]
        for name in (EVENTS, INFLIGHT):
            try:
                times.append(os.stat(os.path.join(self._folder, id, name)).st_mtime_ns)
            except OSError:
                continue
        return max(times)

    def _titled(self, text: str, part: bool) -> List[str]:
        wanted = text.casefold().strip()
        if not wanted:
            return []
        titles = {row.id: (row.title or "").casefold() for row in self.list()}
        exact = [id for id, title in titles.items() if title == wanted]
        return exact or [id for id, title in titles.items() if part and wanted in title]


def _write_object(path: str, fields: Mapping[str, Any]) -> None:
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT)
    try:
        write_all(descriptor, to_json_bytes(dict(fields)) + b"\n")
    finally:
        os.close(descriptor)


def _unheard(text: str) -> None:
    """Takes the notice of a wait that does not happen."""
