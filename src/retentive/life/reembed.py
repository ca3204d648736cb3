"""Giving memories the vectors of the embedder in use: those another one embedded, and those none has yet.

What is left to do is never written down anywhere: it is the memories whose fingerprint is not the current
one. So a run that is killed goes on where it was, and two runs at once only share the work.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from retentive import drafts
from retentive.embedders.base import Embedder, embed_checked, fingerprint
from retentive.errors import Conflict, EmbedderError, EmbedderUnavailable, NotFound
from retentive.indexes import ScopeIndexes
from retentive.life.reembedded import Progress, Reembedded
from retentive.stores.base import Changes, MemoryStore, StoredMemory
from retentive.types import Scope

BATCH: Final = 256
FOLLOWED: Final = 64  # of those without a vector, after each remember
TRIES: Final = 5
MAX_DONE: Final = 10_000  # scopes known to wait for nothing


@dataclass(slots=True)
class _Tally:
    """The run so far."""

    total: int
    progress: Progress
    moved: int
    failed: Counter[str]

    def add(self, moved: int) -> None:
        self.moved += moved
        self.progress(self.moved + self.failed.total(), self.total)


class Reembedding:
    """Moves memories to the embedder in use, some at a time, each time in one atomic change."""

    def __init__(self, store: MemoryStore, embedder: Embedder, indexes: ScopeIndexes) -> None:
        self._store = store
        self._embedder = embedder
        self._fingerprint = fingerprint(embedder)
        self._indexes = indexes
        self._done: set[Scope] = set()

    def expect(self, scope: Scope) -> None:
        """Have `follow` look at the scope again: something was kept without a vector."""
        self._done.discard(scope)

    async def outdated(self, scope: Scope) -> Mapping[str | None, int]:
        """How many memories of the scope have which other fingerprint, or none (under None)."""
        return (await self._indexes.view(scope)).outdated

    async def move_all(self, scopes: Sequence[Scope], progress: Progress | None) -> Reembedded:
        """Move all memories of the scopes that there are now, oldest first.

        Ends early when the embedder cannot be reached; the report says so, and what is left.
        """
        before: Counter[str | None] = Counter()
        for scope in scopes:
            before.update(await self.outdated(scope))
        tally = _Tally(before.total(), progress or (lambda _done, _total: None), 0, Counter())
        for scope in scopes:
            if not await self._move_scope(scope, tally):
                break
        left = [sum((await self.outdated(scope)).values()) for scope in scopes]
        return Reembedded(
            embedder=self._fingerprint,
            before=dict(before),
            moved=tally.moved,
            failed=dict(tally.failed),
            left=sum(left),
        )

    async def follow(self, scope: Scope) -> int:
        """Embed the oldest `FOLLOWED` memories that were kept while the embedder was down; gives how many.

        Raises:
            EmbedderError, StoreError: the others still wait.
        """
        if scope in self._done:
            return 0
        view = await self._indexes.view(scope)
        if None not in view.outdated:
            if len(self._done) >= MAX_DONE:
                self._done.clear()
            self._done.add(scope)
            return 0
        waiting = view.outdated_ids(of=[None])[:FOLLOWED]
        tally = _Tally(len(waiting), lambda _done, _total: None, 0, Counter())
        await self._move(scope, waiting, tally)
        return tally.moved

    async def _move_scope(self, scope: Scope, tally: _Tally) -> bool:
        """Whether the embedder could be reached all the time."""
        ids = (await self._indexes.view(scope)).outdated_ids()
        for start in range(0, len(ids), BATCH):
            try:
                await self._move(scope, ids[start : start + BATCH], tally)
            except EmbedderUnavailable as error:
                tally.failed[_reason(error)] += len(ids) - start
                return False
        return True

    async def _move(self, scope: Scope, ids: Sequence[str], tally: _Tally) -> None:
        """Move these; where that fails for several together, each half alone, so that one spoils no other."""
        try:
            tally.add(await self._move_together(scope, ids))
        except EmbedderUnavailable:
            raise
        except (EmbedderError, Conflict, NotFound) as error:
            if len(ids) == 1:
                await self._move_one(scope, ids[0], error, tally)
                return
            middle = len(ids) // 2
            await self._move(scope, ids[:middle], tally)
            await self._move(scope, ids[middle:], tally)

    async def _move_one(self, scope: Scope, id: str, error: Exception, tally: _Tally) -> None:
        for _ in range(TRIES):
            if isinstance(error, EmbedderError):
                break
            try:
                tally.add(await self._move_together(scope, [id]))
            except EmbedderUnavailable:
                raise
            except (EmbedderError, Conflict, NotFound) as again:
                error = again
            else:
                return
        tally.failed[_reason(error)] += 1
        tally.add(0)

    async def _move_together(self, scope: Scope, ids: Sequence[str]) -> int:
        """How many of them were there and moved, all in one change."""
        there = [got for got in await self._store.get(scope, ids) if got is not None]
        old = [got for got in there if got.item.embedder != self._fingerprint]
        if not old:
            return 0
        texts = [drafts.text_to_embed(got.item) for got in old]
        rows = await embed_checked(self._embedder, texts, "document")
        moved = [
            _with_vector(got, self._fingerprint, row.tobytes() if row.any() else None)
            for got, row in zip(old, rows, strict=True)
        ]
        unchanged = {got.item.id: got.item.updated_at for got in old}
        await self._store.write(Changes(scope=scope, updates=moved, unchanged=unchanged))
        return len(moved)


def _with_vector(stored: StoredMemory, mark: str, vector: bytes | None) -> StoredMemory:
    return replace(stored, item=replace(stored.item, embedder=mark), vector=vector)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
