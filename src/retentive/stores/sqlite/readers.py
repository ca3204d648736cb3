"""Connections for reading, as many as read at once and a few kept; not bound to threads."""

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from json import dumps
from pathlib import Path
from typing import NamedTuple

import apsw

from retentive.codec import item_from_json
from retentive.errors import StoreClosed, StoreCorrupt
from retentive.stores.base import IndexRow, Scan, StoredMemory
from retentive.stores.pieces import PIECE_BYTES
from retentive.stores.sqlite.changes import can_exist, place
from retentive.stores.sqlite.connection import open_reader, run, translated
from retentive.stores.sqlite.queries import load_queries
from retentive.types import Scope

MAX_IDLE = 4
"""How many unused connections are kept open."""

INLINE_ROWS = 200
"""A scan of up to so many rows (about a millisecond) is done at once instead of in a thread."""

_SQL = load_queries()


class Readers:
    """Lends reader connections; a reader never waits for a writer or for another reader."""

    def __init__(self, path: Path, *, busy_timeout_s: float) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._idle: list[apsw.Connection] = []
        self._lent = 0
        self._lock = threading.Condition()
        self._closed = False

    @contextmanager
    def one(self) -> Generator[apsw.Connection, None, None]:
        """A connection for the block; a transaction that it leaves open is ended.

        Raises:
            StoreClosed, StoreUnavailable, StoreCorrupt: it cannot be had, or the block's statement failed.
        """
        connection = self._take()
        try:
            yield connection
        except apsw.Error as error:
            raise translated(error, self._path) from error
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        with self._lock:
            self._closed = True
            self._close_idle()

    def pause(self) -> None:
        """Close everything and lend nothing until `resume`: a fork must not copy an open connection."""
        self._lock.acquire()
        self._lock.wait_for(lambda: self._lent == 0)
        self._close_idle()

    def resume(self) -> None:
        """Lend again."""
        self._lock.release()

    def _take(self) -> apsw.Connection:
        with self._lock:
            if self._closed:
                raise StoreClosed(f"{self._path} was closed")
            connection = (
                self._idle.pop()
                if self._idle
                else open_reader(self._path, busy_timeout_s=self._busy_timeout_s)
            )
            self._lent += 1
            return connection

    def _give_back(self, connection: apsw.Connection) -> None:
        if connection.in_transaction:
            run(connection, "ROLLBACK")
        with self._lock:
            self._lent -= 1
            if self._closed or len(self._idle) >= MAX_IDLE:
                connection.close()
            else:
                self._idle.append(connection)
            self._lock.notify_all()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()


def database_pieces(connection: apsw.Connection, size: int) -> Iterator[bytes]:
    """The first `size` bytes of the database file, as they lie there.

    They are read through SQLite's own handle. Who closes another handle on the file lets go of all locks
    that this process has on it, and other processes then throw away the log that is in use
    (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """
    for start in range(0, size, PIECE_BYTES):
        _, piece = connection.read("main", 0, start, PIECE_BYTES)
        yield piece[: size - start]


def get(connection: apsw.Connection, scope: Scope, ids: Sequence[str]) -> list[StoredMemory | None]:
    """See `MemoryStore.get`."""
    asked = (scope.namespace, scope.user_id, dumps(list(ids)))
    rows = run(connection, _SQL["get_memories"], asked)
    found = {row[0]: row[1:] for row in rows}
    return [_memory(id, found[id]) if id in found else None for id in ids]


def scan_if_short(connection: apsw.Connection, scope: Scope, since: int) -> Scan | None:
    """The scan, if it is quickly done; else None: then call `scan` in a thread."""
    run(connection, "BEGIN")
    span = _changes_of(connection, scope, since)
    if span is not None and span.rows > INLINE_ROWS:
        bounds = (place(span.scope_id, span.start), place(span.scope_id, span.end), INLINE_ROWS)
        if run(connection, _SQL["has_more_than"], bounds):
            return None
    return _scan(connection, since, span)


def scan(connection: apsw.Connection, scope: Scope, since: int) -> Scan:
    """See `MemoryStore.scan`; one consistent moment."""
    run(connection, "BEGIN")
    return _scan(connection, since, _changes_of(connection, scope, since))


class _Span(NamedTuple):
    """The changes of a scope after `start` up to `end`; when `reset`, its whole content."""

    scope_id: int
    start: int
    end: int
    reset: bool

    @property
    def rows(self) -> int:
        """How many memories it can have at most: each change has a position of its own."""
        return self.end - self.start


def _changes_of(connection: apsw.Connection, scope: Scope, since: int) -> _Span | None:
    """None when the store holds nothing of the scope."""
    found = next(iter(run(connection, _SQL["find_scope"], (scope.namespace, scope.user_id))), None)
    if found is None:
        return None
    scope_id, position, complete_after = found
    reset = since <= 0 or not complete_after <= since <= position
    return _Span(scope_id, 0 if reset else since, position, reset)


def _scan(connection: apsw.Connection, since: int, span: _Span | None) -> Scan:
    if span is None:
        return Scan(position=0, rows=(), reset=since != 0)
    if not span.rows:
        return Scan(position=span.end, rows=())
    bounds = (place(span.scope_id, span.start), place(span.scope_id, span.end))
    rows = [
        IndexRow(id=id, packed=packed, vector=vector, embedder=embedder)
        for id, packed, vector, embedder in run(connection, _SQL["changed_since"], bounds)
    ]
    gone: list[str] = []
    if not span.reset and len(rows) < span.rows:
        gone = [id for (id,) in run(connection, _SQL["gone_since"], bounds)]
    return Scan(position=span.end, rows=rows, gone=gone, reset=span.reset)


def notes(connection: apsw.Connection, scope: Scope, prefix: str) -> dict[str, bytes]:
    """See `MemoryStore.notes`."""
    if not can_exist(prefix):
        return {}
    return dict(run(connection, _SQL["list_notes"], (scope.namespace, scope.user_id, prefix)))


def ids(connection: apsw.Connection, scope: Scope) -> list[str]:
    """See `ListsIds.ids`."""
    return [id for (id,) in run(connection, _SQL["list_ids"], (scope.namespace, scope.user_id))]


def scopes(connection: apsw.Connection, namespace: str) -> list[Scope]:
    """See `MemoryStore.scopes`."""
    return [Scope(namespace, user) for (user,) in run(connection, _SQL["list_scopes"], (namespace,))]


def namespaces(connection: apsw.Connection) -> list[str]:
    """See `MemoryStore.namespaces`."""
    return [name for (name,) in run(connection, _SQL["list_namespaces"])]


def _memory(id: str, row: tuple[bytes | None, str | None, bytes, bytes | None, str]) -> StoredMemory:
    text_key, key, packed, vector, item = row
    try:
        return StoredMemory(
            item=item_from_json(item), text_key=text_key, key=key, packed=packed, vector=vector
        )
    except StoreCorrupt as error:
        raise StoreCorrupt(f"memory {id}: {error}") from error
