"""The store in a folder: one journal a namespace, one JSON object a line, readable by people."""

import itertools
import os
import secrets
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from retentive.errors import RetentiveError, StoreClosed, StoreUnavailable
from retentive.names import file_name, name_of
from retentive.stores import log_file
from retentive.stores.append_queue import AppendQueue
from retentive.stores.base import Changes, Damage, Scan, StoredMemory, Written
from retentive.stores.journal import Journal
from retentive.stores.kept import KeptChanges, keep_changes
from retentive.types import Scope

MAX_JOURNALS = 64
"""How many namespaces are held in memory; the one used longest ago is let go."""

_INLINE_IDS = 32
_INLINE_ROWS = 500
_SUFFIX = ".jsonl"
_Answer = TypeVar("_Answer")


class FileStore:
    """Memories in `<folder>/<namespace>.jsonl` (see `MemoryStore`). Several processes may use the folder.

    A namespace in use is held in memory. Inserts and new notes append a line; deletes, updates and what
    removes or replaces a note write the namespace's file anew, so that no old text stays: choose SQLite where
    there is much to change. A position is good for the store object that gave it; another answers it with the
    whole scope.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Name the folder; `open` makes it."""
        self._folder = Path(folder).absolute()
        self._queue: AppendQueue[str, tuple[Scope, KeptChanges], Written] = AppendQueue(self._write_all)
        self._journals: OrderedDict[str, Journal] = OrderedDict()
        self._lock = threading.Lock()
        self._next_position = itertools.count(secrets.randbits(48) + 1).__next__
        self._closed = False
        _stores.add(self)

    @property
    def url(self) -> str:
        """`file://` and the absolute path."""
        return f"file:///{self._folder.as_posix().lstrip('/')}"

    async def open(self) -> None:
        """See `MemoryStore.open`."""
        self._check_open()
        await self._queue.run(self._make_folder)

    async def write(self, changes: Changes) -> Written:
        """See `MemoryStore.write`. When the caller is cancelled the change happens wholly or not at all."""
        self._check_open()
        return await self._queue.put(changes.scope.namespace, (changes.scope, keep_changes(changes)))

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[StoredMemory | None]:
        """See `MemoryStore.get`."""
        return await self._read(
            scope.namespace, lambda journal: journal.get(scope, ids), lambda _: len(ids) <= _INLINE_IDS
        )

    async def scan(self, scope: Scope, since: int) -> Scan:
        """See `MemoryStore.scan`."""
        return await self._read(
            scope.namespace,
            lambda journal: journal.scan(scope, since),
            lambda journal: journal.size(scope) <= _INLINE_ROWS,
        )

    async def notes(self, scope: Scope, prefix: str = "") -> dict[str, bytes]:
        """See `MemoryStore.notes`."""
        return await self._read(scope.namespace, lambda journal: journal.notes(scope, prefix), lambda _: True)

    async def scopes(self, namespace: str) -> list[Scope]:
        """See `MemoryStore.scopes`."""
        return await self._read(namespace, lambda journal: journal.scopes, lambda _: False)

    async def namespaces(self) -> list[str]:
        """See `MemoryStore.namespaces`."""
        self._check_open()
        return await self._queue.run(self._namespaces)

    async def damage(self, namespace: str) -> list[Damage]:
        """The lines of the namespace's journal that cannot be read; they stay where they are."""
        return await self._read(namespace, lambda journal: journal.damage, lambda _: False)

    async def files(self, namespace: str) -> list[Path]:
        """See `KeepsFiles.files`: the journal, what was torn off it, what a kill left of a rewriting."""
        self._check_open()
        return await self._queue.run(self._files, file_name(namespace) + _SUFFIX)

    async def close(self) -> None:
        """See `MemoryStore.close`. Writes that were begun are finished first."""
        self._closed = True
        await self._queue.close()
        self._journals.clear()

    def _write_all(
        self, namespace: str, changes: Sequence[tuple[Scope, KeptChanges]]
    ) -> Sequence[Written | RetentiveError]:
        self._make_folder()
        return self._journal(namespace).write_all(changes)

    async def _read(
        self, namespace: str, read: Callable[[Journal], _Answer], is_short: Callable[[Journal], bool]
    ) -> _Answer:
        """What `read` gives of the journal as it is now: at once if that is short and nobody writes."""
        self._check_open()
        journal = self._journal(namespace)
        if journal.lock.acquire(blocking=False):
            try:
                if journal.is_current() and is_short(journal):
                    return read(journal)
            finally:
                journal.lock.release()
        return await self._queue.run(_read_fresh, journal, read)

    def _journal(self, namespace: str) -> Journal:
        with self._lock:
            journal = self._journals.get(namespace)
            if journal is None:
                path = self._folder / (file_name(namespace) + _SUFFIX)
                journal = self._journals[namespace] = Journal(path, namespace, self._next_position)
                if len(self._journals) > MAX_JOURNALS:
                    self._journals.popitem(last=False)
            self._journals.move_to_end(namespace)
            return journal

    def _files(self, name: str) -> list[Path]:
        journal = self._folder / name
        there = [journal, log_file.temporary(journal), *log_file.set_aside_files(journal)]
        return sorted(path for path in there if path.exists())

    def _namespaces(self) -> list[str]:
        names = [entry.name.removesuffix(_SUFFIX) for entry in self._folder.glob(f"*{_SUFFIX}")]
        ours = [name_of(name) for name in names if file_name(name_of(name)) == name]
        return sorted(
            name for name in ours if _read_fresh(self._journal(name), lambda journal: journal.scopes)
        )

    def _start_anew_after_fork(self) -> None:
        """Another thread of the parent may have held a lock."""
        self._lock = threading.Lock()
        self._journals.clear()

    def _make_folder(self) -> None:
        try:
            log_file.make_folder(self._folder)
        except OSError as error:
            raise StoreUnavailable(f"{self._folder} cannot be made: {error.strerror or error}") from error

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(f"{self._folder} was closed")


def _read_fresh(journal: Journal, read: Callable[[Journal], _Answer]) -> _Answer:
    with journal.lock:
        if not journal.is_current():
            journal.refresh()
        return read(journal)


_stores: "weakref.WeakSet[FileStore]" = weakref.WeakSet()


def _after_fork() -> None:
    for store in _stores:
        store._start_anew_after_fork()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
