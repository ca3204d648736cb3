"""The store that forgets everything when it goes: for tests, and where nothing may touch a disk."""

import itertools
import threading
from collections.abc import Sequence

from retentive.errors import StoreClosed
from retentive.stores.base import Changes, Scan, StoredMemory, Written
from retentive.stores.kept import keep_changes
from retentive.stores.scope_state import ScopeState
from retentive.types import Scope


class InMemoryStore:
    """Memories in this process (see `MemoryStore`). Usable from several threads and event loops."""

    def __init__(self) -> None:
        """An empty store."""
        self._scopes: dict[Scope, ScopeState] = {}
        self._next_position = itertools.count(1).__next__
        self._lock = threading.Lock()
        self._closed = False

    @property
    def url(self) -> str:
        """`memory://`."""
        return "memory://"

    async def open(self) -> None:
        """See `MemoryStore.open`."""
        self._check_open()

    async def write(self, changes: Changes) -> Written:
        """See `MemoryStore.write`; durable here means until the process ends."""
        self._check_open()
        prepared = keep_changes(changes)
        with self._lock:
            state = self._scopes.get(changes.scope) or ScopeState(self._next_position)
            written = state.apply(prepared)
            if state:
                self._scopes[changes.scope] = state
            else:
                self._scopes.pop(changes.scope, None)
            return written

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[StoredMemory | None]:
        """See `MemoryStore.get`."""
        self._check_open()
        with self._lock:
            state = self._scopes.get(scope)
            found = [None if state is None else state.get(id) for id in ids]
        return [None if memory is None else memory.stored() for memory in found]

    async def scan(self, scope: Scope, since: int) -> Scan:
        """See `MemoryStore.scan`."""
        self._check_open()
        with self._lock:
            state = self._scopes.get(scope)
            return Scan(position=0, rows=(), reset=since != 0) if state is None else state.scan(since)

    async def notes(self, scope: Scope, prefix: str = "") -> dict[str, bytes]:
        """See `MemoryStore.notes`."""
        self._check_open()
        with self._lock:
            state = self._scopes.get(scope)
            return {} if state is None else state.notes(prefix)

    async def scopes(self, namespace: str) -> list[Scope]:
        """See `MemoryStore.scopes`."""
        self._check_open()
        with self._lock:
            named = [scope for scope in self._scopes if scope.namespace == namespace]
        return sorted(named, key=lambda scope: scope.user_id or "")

    async def namespaces(self) -> list[str]:
        """See `MemoryStore.namespaces`."""
        self._check_open()
        with self._lock:
            return sorted({scope.namespace for scope in self._scopes})

    async def close(self) -> None:
        """See `MemoryStore.close`; everything is forgotten."""
        self._closed = True
        self._scopes.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("this in-memory store was closed, and what it held is gone; make a new one")
