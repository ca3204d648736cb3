"""The versions of a statement as one story, and what disagrees."""

from collections.abc import Iterable
from typing import Final

from retentive.clock import Clock
from retentive.errors import NotFound
from retentive.indexes import ScopeIndexes
from retentive.life.lineage import head, in_order, older_versions
from retentive.ranking.disagreements import differing, linked_pairs
from retentive.stores.base import MemoryStore, StoredMemory
from retentive.types import Disagreement, MemoryItem, Scope
from retentive.writes import has_expired

_PAIRS_AT_ONCE: Final = 256


class Histories:
    """Reads memories together with those whose place they took."""

    def __init__(self, store: MemoryStore, indexes: ScopeIndexes, clock: Clock) -> None:
        self._store = store
        self._indexes = indexes
        self._clock = clock

    async def version(self, scope: Scope, memory_id: str) -> MemoryItem:
        """The memory, superseded or not.

        Raises:
            NotFound: there is none, or it has expired.
        """
        found = (await self._get(scope, [memory_id])).get(memory_id)
        if found is None or has_expired(found.item, self._clock()):
            raise NotFound(f"no memory {memory_id!r} in this scope")
        return found.item

    async def story(self, scope: Scope, memory_id: str) -> list[MemoryItem]:
        """All versions of the statement, the first one first; empty if there is no such memory."""
        now = self._clock()
        asked = await self._get(scope, [memory_id])
        if not asked or has_expired(asked[memory_id].item, now):
            return []
        successors = (await self._indexes.view(scope)).successors
        latest = head(memory_id, successors)
        found = await self._get(scope, [latest, *older_versions([latest], successors)])
        versions = {id: got.item for id, got in (asked | found).items()}
        return in_order(item for item in versions.values() if not has_expired(item, now))

    async def disagreements(self, scope: Scope, limit: int) -> list[Disagreement]:
        """The pairs of living memories that say nearly the same but differ in a fact, newest first."""
        pairs = linked_pairs(await self._indexes.view(scope), self._clock())
        found: list[Disagreement] = []
        for start in range(0, len(pairs), _PAIRS_AT_ONCE):
            if len(found) >= limit:
                break
            some = pairs[start : start + _PAIRS_AT_ONCE]
            stored = await self._get(scope, [id for pair in some for id in pair])
            found += differing(some, {id: got.item for id, got in stored.items()})
        return found[:limit]

    async def _get(self, scope: Scope, ids: Iterable[str]) -> dict[str, StoredMemory]:
        wanted = list(dict.fromkeys(ids))
        found = await self._store.get(scope, wanted) if wanted else []
        return {got.item.id: got for got in found if got is not None}
