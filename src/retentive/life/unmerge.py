"""Making several memories again of the one they were merged into, in one atomic change."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from retentive import drafts
from retentive.clock import Clock
from retentive.errors import Conflict, NotFound
from retentive.indexes import ScopeIndexes
from retentive.life.lineage import ended, later, relinked
from retentive.life.merging import unmerged
from retentive.stores.base import Changes, MemoryStore, StoredMemory
from retentive.types import MemoryItem, Scope

TRIES: Final = 5


class Unmerging:
    """Undoes what a consolidation did."""

    def __init__(self, store: MemoryStore, indexes: ScopeIndexes, clock: Clock) -> None:
        self._store = store
        self._indexes = indexes
        self._clock = clock

    async def unmerge(self, scope: Scope, memory_id: str) -> list[MemoryItem]:
        """The memories that became this one, apart again, oldest first; it is removed, in the same change.

        They live again. If another statement took its place meanwhile, it has taken theirs, at that time.

        Raises:
            NotFound: no such memory, or it was not made by a consolidation, or all it was made of is gone.
            Conflict: another consolidation made it part of another memory, or another memory states now what
                one of them says.
        """
        for _ in range(TRIES):
            one = (await self._get(scope, [memory_id])).get(memory_id)
            if one is None or not one.item.merged_from:
                raise NotFound(f"no memory {memory_id!r} in this scope that a consolidation made")
            successor = await self._successor(scope, one.item)
            changes = await self._apart(scope, one, successor)
            try:
                await self._store.write(changes)
            except Conflict as error:
                if not await self._moved(scope, changes):
                    raise Conflict(f"{error}: forget or reword that memory, then unmerge again") from error
                continue
            restored = [each.item for each in changes.updates if each.item.id in one.item.merged_from]
            return sorted(restored, key=lambda item: (item.created_at, item.id))
        raise Conflict(f"other writers kept changing memory {memory_id!r}; try again")

    async def _successor(self, scope: Scope, one: MemoryItem) -> StoredMemory | None:
        """The memory that took this one's place, if one did and is there."""
        if one.superseded_by is None:
            return None
        successor = (await self._get(scope, [one.superseded_by])).get(one.superseded_by)
        if successor is not None and one.id in successor.item.merged_from:
            raise Conflict(
                f"memory {one.id!r} was made part of memory {successor.item.id!r} by another consolidation: "
                "unmerge that one first"
            )
        return successor

    async def _apart(self, scope: Scope, one: StoredMemory, successor: StoredMemory | None) -> Changes:
        """The change that brings the sources back; what else it took the place of gets their first again."""
        now, name = self._clock(), one.item.id
        successors = (await self._indexes.view(scope)).successors
        behind = [old for old, new in successors.items() if new == name]
        found = {
            id: got
            for id, got in (await self._get(scope, [*one.item.merged_from, *behind])).items()
            if got.item.superseded_by == name
        }
        sources = [id for id in one.item.merged_from if id in found]
        if not sources:
            raise NotFound(f"what memory {name!r} was made of is gone")
        heir = one.item.supersedes if one.item.supersedes in sources else max(sources)
        updates: list[StoredMemory] = []
        for id, stored in found.items():
            moment = later(stored.item, now)
            if id in sources:
                item = _as_merged(one.item, unmerged(stored.item, moment))
                updates.append(relinked(replace(stored, text_key=drafts.key_of(item)), item))
            else:
                updates.append(relinked(stored, replace(stored.item, superseded_by=heir, updated_at=moment)))
        found[name] = one
        if successor is not None:
            found[successor.item.id] = successor
            if successor.item.supersedes == name:
                item = replace(successor.item, supersedes=heir, updated_at=later(successor.item, now))
                updates.append(relinked(successor, item))
        return Changes(
            scope=scope,
            deletes=[name],
            updates=updates,
            unchanged={each.item.id: found[each.item.id].item.updated_at for each in updates},
        )

    async def _moved(self, scope: Scope, changes: Changes) -> bool:
        """Whether another writer changed one of those that were to be updated."""
        now = await self._get(scope, changes.unchanged)
        return any(id not in now or now[id].item.updated_at != at for id, at in changes.unchanged.items())

    async def _get(self, scope: Scope, ids: Iterable[str]) -> dict[str, StoredMemory]:
        wanted = list(dict.fromkeys(ids))
        found = await self._store.get(scope, wanted) if wanted else []
        return {got.item.id: got for got in found if got is not None}


def _as_merged(one: MemoryItem, source: MemoryItem) -> MemoryItem:
    """The source as the merged one is: superseded by the same memory at the same time, if it is."""
    if one.superseded_by is None or one.superseded_at is None:
        return source
    item = ended(source, one.superseded_by, one.valid_until, one.superseded_at)
    return replace(item, updated_at=source.updated_at)
