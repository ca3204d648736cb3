"""The indexes of the scopes in use: made from the store, following it, thrown away when there are many."""

import asyncio
import threading
from collections import OrderedDict
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from retentive.embedders.base import Vectors, WordVectors
from retentive.ranking.dedupe import NEAR_COSINE
from retentive.ranking.scope_index import ScopeIndex
from retentive.ranking.view import IndexView
from retentive.stores.base import IndexRow, MemoryStore, Scan
from retentive.types import Scope

MAX_INDEX_BYTES = 512 * 1024 * 1024
EMPTY_INDEX_BYTES = 16 * 1024
INLINE_ROWS = 256
MAX_WAITING = 128

_ROUNDING = 1e-4


class ScopeIndexes:
    """One ScopeIndex a scope, the least recently used dropped when all hold more than `max_bytes`.

    The newest is always kept, however large; an empty one counts as `EMPTY_INDEX_BYTES`. May be used from
    several event loops at once.
    """

    def __init__(
        self,
        store: MemoryStore,
        word_vectors: WordVectors,
        fingerprint: str,
        *,
        max_bytes: int = MAX_INDEX_BYTES,
    ) -> None:
        self._store = store
        self._word_vectors = word_vectors
        self._fingerprint = fingerprint
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._followers: OrderedDict[Scope, _Follower] = OrderedDict()
        self._nbytes = 0

    async def view(self, scope: Scope) -> IndexView:
        """The scope's index with every write that finished before this call."""
        return await self._follow(scope, None)

    async def view_to_compare(self, scope: Scope, vectors: Vectors) -> IndexView:
        """The same, or without some of the latest memories if none is as near to `vectors` as `NEAR_COSINE`.

        So a run of single writes takes in what it wrote by the dozen.
        """
        return await self._follow(scope, vectors)

    def drop(self, scope: Scope) -> None:
        """Let go of the scope's index, with all that it holds in memory; the next view reads it anew."""
        with self._lock:
            follower = self._followers.pop(scope, None)
            if follower is not None:
                self._nbytes -= follower.accounted

    async def _follow(self, scope: Scope, compared: Vectors | None) -> IndexView:
        follower = self._follower(scope)
        view = await follower.follow(self._store, compared)
        self._account(scope, follower)
        return view

    def _follower(self, scope: Scope) -> "_Follower":
        with self._lock:
            follower = self._followers.get(scope)
            if follower is None:
                follower = _Follower(scope, self._word_vectors, self._fingerprint)
                self._followers[scope] = follower
            else:
                self._followers.move_to_end(scope)
            return follower

    def _account(self, scope: Scope, follower: "_Follower") -> None:
        nbytes = follower.nbytes
        if nbytes == follower.accounted:
            return
        with self._lock:
            if self._followers.get(scope) is not follower:
                return
            self._nbytes += nbytes - follower.accounted
            follower.accounted = nbytes
            while self._nbytes > self._max_bytes and len(self._followers) > 1:
                _, oldest = self._followers.popitem(last=False)
                self._nbytes -= oldest.accounted


class _Follower:
    """A ScopeIndex and how far it has followed its scope.

    It holds about `nbytes` of memory, of which its owner has counted `accounted`.
    A few rows with ids beyond all others', so certainly new, may wait to be taken in together.
    """

    def __init__(self, scope: Scope, word_vectors: WordVectors, fingerprint: str) -> None:
        self.nbytes = EMPTY_INDEX_BYTES
        self.accounted = 0
        self._index = ScopeIndex(word_vectors, fingerprint)
        self._view: IndexView | None = None
        self._waiting: list[IndexRow] = []
        self._newest = ""
        self._scope = scope
        self._fingerprint = fingerprint
        self._position = 0
        self._lock = threading.Lock()
        self._loading: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def follow(self, store: MemoryStore, compared: Vectors | None) -> IndexView:
        """The index once it has taken in what the store has, less what may wait if it is to be `compared`.

        The first load of a scope is done once, however many tasks of a loop ask for it at that moment.
        """
        if self._position:
            return await self._catch_up(store, compared)
        loop = asyncio.get_running_loop()
        async with self._loading.setdefault(loop, asyncio.Lock()):
            view = await self._catch_up(store, compared)
        self._loading.pop(loop, None)  # a lock that was waited for holds on to its loop
        return view

    async def _catch_up(self, store: MemoryStore, compared: Vectors | None) -> IndexView:
        while True:
            since = self._position
            scan = await store.scan(self._scope, since)
            if len(scan.rows) <= INLINE_ROWS:
                done = self._apply(scan, since)
            else:
                done = await asyncio.to_thread(self._apply, scan, since)
            if done:
                return self._settled(compared)

    def _apply(self, scan: Scan, since: int) -> bool:
        """False when another call moved on meanwhile, so that the scan begins at the wrong place."""
        if scan.position == since and not scan.reset:
            return True
        with self._lock:
            if self._position != since:
                return self._position >= scan.position and not scan.reset
            if self._may_wait(scan):
                self._waiting.extend(scan.rows)
            else:
                self._take_in(scan)
            self._newest = max(self._newest, *(row.id for row in scan.rows), "")
            self._position = scan.position
            return True

    def _settled(self, compared: Vectors | None) -> IndexView:
        with self._lock:
            if self._waiting and (compared is None or self._has_near(compared)):
                self._take_in(None)
            if self._view is None:
                self._view = self._index.view()
            return self._view

    def _has_near(self, compared: Vectors) -> bool:
        """Whether a waiting row is near to one of the vectors."""
        own = [row.vector for row in self._waiting if row.vector and row.embedder == self._fingerprint]
        if not own:
            return False
        waiting = np.frombuffer(b"".join(own), dtype="<f4").reshape(len(own), -1)
        return bool((waiting @ compared.T >= NEAR_COSINE - _ROUNDING).any())

    def _may_wait(self, scan: Scan) -> bool:
        if scan.reset or scan.gone or len(self._waiting) + len(scan.rows) > MAX_WAITING:
            return False
        ids = [self._newest, *(row.id for row in scan.rows)]
        return all(before < after for before, after in pairwise(ids))

    def _take_in(self, scan: Scan | None) -> None:
        """Apply what waits, then the scan; make the view, as outside the lock it could be half applied."""
        if self._waiting:
            self._index.apply(Scan(position=self._position, rows=self._waiting))
            self._waiting = []
        if scan is not None:
            self._index.apply(scan)
        self._view = self._index.view()
        self.nbytes = EMPTY_INDEX_BYTES + self._index.nbytes
