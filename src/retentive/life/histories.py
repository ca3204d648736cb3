"""The versions of a statement as one story, how all of it is forgotten, and what disagrees."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from retentive.clock import Clock
from retentive.errors import Conflict, NotFound
from retentive.indexes import ScopeIndexes
from retentive.life.lineage import head, in_order, later, older_versions, relinked
from retentive.ranking.disagreements import differing, linked_pairs
from retentive.stores.base import Changes, MemoryStore, StoredMemory
from retentive.types import Disagreement, MemoryItem, Scope
from retentive.writes import has_expired

TRIES: Final = 5
_PAIRS_AT_ONCE: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was removed; `history` of it were older versions that were not asked for by id."""

    gone: Sequence[StoredMemory] = ()
    history: int = 0


class Histories:
    """Reads and removes memories together with those whose place they took."""

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

    async def forget(self, scope: Scope, ids: Sequence[str], *, history: bool = True) -> Forgotten:
        """Remove the memories, and with `history` their older versions, in one change.

        A newer version that stays is no longer said to supersede what is gone.

        Raises:
            Conflict: others kept changing the memories that are linked to these; nothing was removed.
        """
        successors = (await self._indexes.view(scope)).successors
        found = await self._get(scope, [*ids, *(older_versions(ids, successors) if history else ())])
        if not found:
            return Forgotten()
        newest_first = sorted(found, reverse=True)  # links lead to older ones
        for _ in range(TRIES):
            newer = await self._newer(scope, found)
            changes = Changes(
                scope=scope,
                deletes=newest_first,
                updates=[self._unlinked(stored, successors, found) for stored in newer],
                unchanged={stored.item.id: stored.item.updated_at for stored in newer},
            )
            try:
                deleted = set((await self._store.write(changes)).deleted)
            except Conflict:
                continue
            gone = [got for id, got in found.items() if id in deleted]
            return Forgotten(gone=gone, history=len(deleted.difference(ids)))
        raise Conflict("other writers kept changing the memories that supersede these; try again")

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

    async def _newer(self, scope: Scope, gone: Mapping[str, StoredMemory]) -> list[StoredMemory]:
        """The memories that stay and are said to supersede one that goes."""
        names = {got.item.superseded_by for got in gone.values()} - gone.keys()
        found = await self._get(scope, sorted(name for name in names if name is not None))
        return [got for got in found.values() if got.item.supersedes in gone]

    def _unlinked(
        self, stored: StoredMemory, successors: Mapping[str, str], gone: Mapping[str, StoredMemory]
    ) -> StoredMemory:
        """The memory, superseding the newest of those that stay, or none."""
        item = stored.item
        left = [old for old, new in successors.items() if new == item.id and old not in gone]
        linked = replace(item, supersedes=max(left, default=None), updated_at=later(item, self._clock()))
        return relinked(stored, linked)

    async def _get(self, scope: Scope, ids: Iterable[str]) -> dict[str, StoredMemory]:
        wanted = list(dict.fromkeys(ids))
        found = await self._store.get(scope, wanted) if wanted else []
        return {got.item.id: got for got in found if got is not None}
