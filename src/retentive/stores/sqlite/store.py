"""The store in one SQLite file: one writing thread, readers beside it, readable with `sqlite3`."""

import asyncio
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from glob import escape
from pathlib import Path

from retentive.errors import StoreClosed
from retentive.stores.base import Changes, Scan, StoredMemory, Written
from retentive.stores.pieces import pieces
from retentive.stores.sqlite import readers
from retentive.stores.sqlite.backup import backups_of, memories_in
from retentive.stores.sqlite.changes import prepare
from retentive.stores.sqlite.connection import wipe
from retentive.stores.sqlite.readers import Readers
from retentive.stores.sqlite.writer import Writer
from retentive.types import Scope

_INLINE_IDS = 32
_INLINE_CHANGES = 200


class SQLiteStore:
    """Memories in one SQLite file (see `MemoryStore`). Usable from several threads and event loops at once.

    Several processes may use the file. Short reads are done at once (they cost less than going to a thread);
    long ones and all writes happen in threads. Deleted text is overwritten in the file, and in its log as
    soon as no reader needs the log, as a rule before the delete returns.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy_timeout_s: float = 10.0) -> None:
        """Name the file; `open` makes it. A locked database is waited for `busy_timeout_s` seconds."""
        self._path = Path(path).absolute()
        self._busy_timeout_s = busy_timeout_s
        self._readers = Readers(self._path, busy_timeout_s=busy_timeout_s)
        self._writer: Writer | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def url(self) -> str:
        """`sqlite:///` and the absolute path."""
        return f"sqlite:///{self._path.as_posix()}"

    async def open(self) -> None:
        """See `MemoryStore.open`."""
        if self._writer is None or self._closed:
            await asyncio.to_thread(self._open)

    async def write(self, changes: Changes) -> Written:
        """See `MemoryStore.write`. When the caller is cancelled the change happens wholly or not at all."""
        size = len(changes.deletes) + len(changes.updates) + len(changes.inserts)
        if size <= _INLINE_CHANGES:
            prepared = prepare(changes)
        else:
            prepared = await asyncio.to_thread(prepare, changes)
        writer = self._writer or await asyncio.to_thread(self._open)
        return await writer.submit(prepared)

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[StoredMemory | None]:
        """See `MemoryStore.get`."""
        await self.open()
        if len(ids) <= _INLINE_IDS:
            return self._get(scope, ids)
        return await asyncio.to_thread(self._get, scope, ids)

    async def scan(self, scope: Scope, since: int) -> Scan:
        """See `MemoryStore.scan`."""
        await self.open()
        with self._readers.one() as connection:
            short = readers.scan_if_short(connection, scope, since)
        return short or await asyncio.to_thread(self._scan, scope, since)

    async def notes(self, scope: Scope, prefix: str = "") -> dict[str, bytes]:
        """See `MemoryStore.notes`."""
        await self.open()
        return await asyncio.to_thread(self._notes, scope, prefix)

    async def ids(self, scope: Scope) -> list[str]:
        """See `ListsIds.ids`."""
        await self.open()
        return await asyncio.to_thread(self._ids, scope)

    async def scopes(self, namespace: str) -> list[Scope]:
        """See `MemoryStore.scopes`."""
        await self.open()
        return await asyncio.to_thread(self._scopes, namespace)

    async def namespaces(self) -> list[str]:
        """See `MemoryStore.namespaces`."""
        await self.open()
        return await asyncio.to_thread(self._namespaces)

    async def files(self, namespace: str) -> list[Path]:  # noqa: ARG002 - all namespaces are in one file
        """See `KeepsFiles.files`: the database, its log, and the backups made before a migration.

        What the processes share beside it (`-shm`) holds page numbers alone, and no data.
        """
        await self.open()
        return await asyncio.to_thread(self._files)

    def pieces(self, path: Path) -> Iterator[bytes]:
        """See `ReadsFiles.pieces`: the database is read through SQLite."""
        if path == self._path:
            with self._readers.one() as connection:
                yield from readers.database_pieces(connection, path.stat().st_size)
        else:
            yield from pieces(path)

    async def copies_with(self, scope: Scope, ids: Sequence[str], *, everyone: bool) -> dict[Path, int]:
        """See `KeepsCopies.copies_with`: the backups made before a migration."""
        copies = await asyncio.to_thread(backups_of, self._path)
        return {
            copy: await asyncio.to_thread(memories_in, copy, scope, list(ids), everyone=everyone)
            for copy in copies
        }

    async def close(self) -> None:
        """See `MemoryStore.close`. Writes that were begun are finished first."""
        await asyncio.to_thread(self._close)

    def _open(self) -> Writer:
        with self._lock:
            if self._closed:
                raise StoreClosed(f"{self._path} was closed")
            if self._writer is None:
                self._writer = Writer(self._path, busy_timeout_s=self._busy_timeout_s)
                self._finalizer = weakref.finalize(self, _let_go, self._writer, self._readers)
                _stores.add(self)
            return self._writer

    def _close(self) -> None:
        with self._lock:
            self._closed = True
            self._readers.close()
            if self._writer is not None:
                self._finalizer()

    def _pause(self) -> None:
        self._lock.acquire()
        self._readers.pause()
        if self._writer is not None:
            self._writer.pause()

    def _resume(self) -> None:
        if self._writer is not None:
            self._writer.resume()
        self._readers.resume()
        self._lock.release()

    def _get(self, scope: Scope, ids: Sequence[str]) -> list[StoredMemory | None]:
        with self._readers.one() as connection:
            return readers.get(connection, scope, ids)

    def _scan(self, scope: Scope, since: int) -> Scan:
        with self._readers.one() as connection:
            return readers.scan(connection, scope, since)

    def _notes(self, scope: Scope, prefix: str) -> dict[str, bytes]:
        with self._readers.one() as connection:
            return readers.notes(connection, scope, prefix)

    def _files(self) -> list[Path]:
        wipe(self._path, busy_timeout_s=self._busy_timeout_s)
        own = [self._path.with_name(self._path.name + end) for end in _BESIDE]
        half_made = self._path.parent.glob(f"{escape(self._path.name)}.v*.bak.new")
        return sorted([*(path for path in own if path.exists()), *backups_of(self._path), *half_made])

    def _ids(self, scope: Scope) -> list[str]:
        with self._readers.one() as connection:
            return readers.ids(connection, scope)

    def _scopes(self, namespace: str) -> list[Scope]:
        with self._readers.one() as connection:
            return readers.scopes(connection, namespace)

    def _namespaces(self) -> list[str]:
        with self._readers.one() as connection:
            return readers.namespaces(connection)


_BESIDE = ("", "-wal", "-journal")


def _let_go(writer: Writer, connections: Readers) -> None:
    connections.close()
    writer.close()


_stores: "weakref.WeakSet[SQLiteStore]" = weakref.WeakSet()
_paused: "list[SQLiteStore]" = []


def _before_fork() -> None:
    """SQLite's connections and locks do not survive a fork, so there are none while it happens."""
    _paused.extend(_stores)
    for store in _paused:
        store._pause()  # pyright: ignore[reportPrivateUsage]


def _after_fork() -> None:
    while _paused:
        _paused.pop()._resume()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
