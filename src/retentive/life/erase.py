"""Memories removed for good with all that is kept of them: looked at first, then taken out in one change."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from retentive import drafts
from retentive.clock import Clock
from retentive.errors import Conflict, WrongKey
from retentive.indexes import ScopeIndexes
from retentive.life.lineage import later, older_versions, relinked
from retentive.life.merging import unmerged
from retentive.life.traces import Tracing
from retentive.stores.base import Changes, MemoryStore, StoredMemory
from retentive.stores.wrapped import bare_memories, ids_of, without_keys
from retentive.types import MemoryItem, MemoryKind, Scope, Source
from retentive.uses import UseNotes

TRIES: Final = 5
AT_ONCE: Final = 1_000
"""How many memories are held in memory while they are looked at."""
INLINE: Final = 32

_LINKS = ("near", "supersedes", "superseded_by")


@dataclass(frozen=True, slots=True)
class Going:
    """What is kept in mind of a memory that is to go: no text."""

    id: str
    kind: MemoryKind
    has_vector: bool
    links: int
    successor: str | None
    sources: tuple[Source, ...]
    run: str | None


@dataclass(slots=True, kw_only=True)
class Erased:
    """What is to be removed of a scope, and then what was; `history` are older versions not asked for."""

    tracing: Tracing
    gone: Mapping[str, Going] = field(default_factory=dict[str, Going])
    history: int = 0
    notes: int = 0


class Erasing:
    """Removes memories together with those whose place they took."""

    def __init__(self, store: MemoryStore, indexes: ScopeIndexes, clock: Clock) -> None:
        self._store = store
        self._indexes = indexes
        self._uses = UseNotes(store)
        self._clock = clock

    async def ids(self, scope: Scope) -> list[str]:
        """The ids of all memories of the scope, also of those that no reading gives any more."""
        return await ids_of(self._store, scope)

    async def from_thread(self, scope: Scope, thread: str) -> list[str]:
        """The ids of the memories that came from the thread of that id, in whole or in part."""
        return [item.id async for item in self._from_thread(scope, thread)]

    async def merged_from_thread(self, scope: Scope, thread: str) -> list[str]:
        """The ids of those of them that a consolidation made, what was made later first."""
        made = [item async for item in self._from_thread(scope, thread) if item.merged_from]
        made.sort(key=lambda item: (item.created_at, item.id), reverse=True)
        return [item.id for item in made]

    async def _from_thread(self, scope: Scope, thread: str) -> AsyncIterator[MemoryItem]:
        async for some in self._batches(scope, await self.ids(scope)):
            for got in some:
                if any(source.thread == thread for source in got.item.sources):
                    yield got.item

    async def look(self, scope: Scope, ids: Sequence[str], tracing: Tracing | None) -> Mapping[str, Going]:
        """Those of the memories that are there, by id; `tracing` takes in what will be looked for."""
        going: dict[str, Going] = {}
        async for some in self._batches(scope, ids):
            if len(some) <= INLINE:
                seen = _seen(some, tracing)
            else:
                seen = await asyncio.to_thread(_seen, some, tracing)
            going |= {one.id: one for one in seen}
            if tracing is not None:
                await self._trace_as_kept(scope, list(seen), tracing)
        return going

    async def _trace_as_kept(self, scope: Scope, going: Sequence[Going], tracing: Tracing) -> None:
        """Take in the memories as they lie there, if the store keeps them otherwise than it gives them."""
        bare = bare_memories(self._store)
        if bare is not self._store:
            kept = await bare.get(scope, [one.id for one in going])
            await asyncio.to_thread(_seen, [memory for memory in kept if memory is not None], tracing)

    async def versions(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """The ids, then those of their older versions, but for one that still holds, and what came before it.

        That is so where the correction begins later: until then the older statement is no history.
        """
        successors = dict((await self._indexes.view(scope)).successors)
        older, now = older_versions(ids, successors), self._clock()
        async for some in self._batches(scope, older):
            for got in some:
                if _still_holds(got.item, now):
                    del successors[got.item.id]
        return [*dict.fromkeys(ids), *older_versions(ids, successors)]

    async def erase(
        self, scope: Scope, asked: Iterable[str], erased: Erased, notes: Mapping[str, bytes]
    ) -> None:
        """Remove the memories in `erased.gone`, how often they were used, and the notes, in one change.

        `erased` then says what went. A newer version that stays is no longer said to supersede what is gone.
        An older one that stays, as it still holds, is superseded no longer, and holds for as long as it said.

        Raises:
            Conflict: others kept changing the memories that are linked to these; nothing was removed.
        """
        bare = bare_memories(self._store)
        kept = await bare.notes(scope) if notes and bare is not self._store else {}
        for note in (*notes.values(), *(note for name, note in kept.items() if name in notes)):
            erased.tracing.add_note(note)
        if not erased.gone and not notes:
            return
        for _ in range(TRIES):
            newer = await self._newer(scope, erased.gone)
            holding = await self._holding(scope, erased.gone)
            uses = await self._uses.without(scope, erased.gone.keys())
            changes = Changes(
                scope=scope,
                deletes=sorted(erased.gone, reverse=True),  # newest first: links lead to older ones
                updates=self._revived(holding, await self._unlinked(scope, newer, erased.gone)),
                unchanged={stored.item.id: stored.item.updated_at for stored in (*newer, *holding)},
                notes={**uses.after, **dict.fromkeys(notes)},
                expected=uses.before,
            )
            try:
                deleted = set((await self._store.write(changes)).deleted)
            except Conflict:
                continue
            erased.gone = {id: one for id, one in erased.gone.items() if id in deleted}
            erased.history += len(deleted.difference(asked))
            erased.notes += len(notes)
            return
        raise Conflict("other writers kept changing the memories that supersede these; try again")

    async def erase_all(self, scope: Scope, tracing: Tracing) -> Erased:
        """Empty the scope of memories and notes, in one change; what comes in meanwhile is removed after it.

        Raises:
            Conflict: others kept writing into the scope.
        """
        total, gone = Erased(tracing=tracing), dict[str, Going]()
        for _ in range(TRIES):
            ids = await self.ids(scope)
            try:
                notes = await self._store.notes(scope)
                total.gone = await self.look(scope, ids, tracing)
            except WrongKey:
                gone |= await self._erase_unread(scope, total)
                continue
            if not ids and not notes:
                self._indexes.drop(scope)
                total.gone = gone
                return total
            await self.erase(scope, ids, total, notes)
            gone |= total.gone
        raise Conflict(f"others kept writing into the scope of {scope.user_id!r}; stop them, then try again")

    async def _erase_unread(self, scope: Scope, total: Erased) -> dict[str, Going]:
        """Empty the scope of what cannot be read, as its key is gone; gives what went."""
        store = without_keys(self._store)
        ids, notes = await ids_of(store, scope), await store.notes(scope)
        kept = [memory for memory in await store.get(scope, ids) if memory is not None]
        going = await asyncio.to_thread(_seen, kept, total.tracing)
        written = await store.write(Changes(scope=scope, deletes=ids, notes=dict.fromkeys(notes)))
        total.notes += len(notes)
        return {one.id: one for one in going if one.id in set(written.deleted)}

    async def _newer(self, scope: Scope, gone: Mapping[str, Going]) -> list[StoredMemory]:
        """The memories that stay and are said to supersede one that goes."""
        names = {one.successor for one in gone.values()} - gone.keys()
        wanted = sorted(name for name in names if name is not None)
        found = [got async for some in self._batches(scope, wanted) for got in some]
        return [
            got
            for got in found
            if got.item.supersedes in gone or not gone.keys().isdisjoint(got.item.merged_from)
        ]

    async def _holding(self, scope: Scope, gone: Mapping[str, Going]) -> list[StoredMemory]:
        """The memories that stay and still hold, though what goes would have taken their place later."""
        successors, now = (await self._indexes.view(scope)).successors, self._clock()
        wanted = sorted(old for old, new in successors.items() if new in gone and old not in gone)
        found = [got async for some in self._batches(scope, wanted) for got in some]
        return [got for got in found if _still_holds(got.item, now)]

    def _revived(
        self, holding: Sequence[StoredMemory], unlinked: Sequence[StoredMemory]
    ) -> list[StoredMemory]:
        """The unlinked memories, and those that still hold, superseded no longer."""
        updates = {stored.item.id: stored for stored in unlinked}
        for stored in holding:
            changed = updates.get(stored.item.id, stored)
            item = unmerged(changed.item, later(changed.item, self._clock()))
            updates[item.id] = relinked(replace(changed, text_key=drafts.key_of(item)), item)
        return list(updates.values())

    async def _unlinked(
        self, scope: Scope, newer: Sequence[StoredMemory], gone: Mapping[str, Going]
    ) -> list[StoredMemory]:
        """These memories, each superseding the newest of the versions that stay, or none."""
        if not newer:
            return []
        successors = (await self._indexes.view(scope)).successors
        done: list[StoredMemory] = []
        for stored in newer:
            item = stored.item
            left = [old for old, new in successors.items() if new == item.id and old not in gone]
            moment = later(item, self._clock())
            merged = tuple(id for id in item.merged_from if id not in gone)
            supersedes = max(left, default=None)
            linked = replace(item, supersedes=supersedes, merged_from=merged, updated_at=moment)
            done.append(relinked(stored, linked))
        return done

    async def _batches(self, scope: Scope, ids: Sequence[str]) -> AsyncIterator[list[StoredMemory]]:
        for start in range(0, len(ids), AT_ONCE):
            got = await self._store.get(scope, ids[start : start + AT_ONCE])
            yield [memory for memory in got if memory is not None]


def _still_holds(old: MemoryItem, now: datetime) -> bool:
    """Whether a superseded memory holds until its successor begins, later than now."""
    return old.valid_until is not None and old.valid_until > now


def _seen(memories: Sequence[StoredMemory], tracing: Tracing | None) -> list[Going]:
    if tracing is not None:
        for memory in memories:
            tracing.add_memory(memory)
    return [_going(memory) for memory in memories]


def _going(stored: StoredMemory) -> Going:
    item = stored.item
    run = item.metadata.get("run_id", item.metadata.get("run"))
    return Going(
        id=item.id,
        kind=item.kind,
        has_vector=stored.vector is not None,
        links=sum(getattr(item, link) is not None for link in _LINKS),
        successor=item.superseded_by,
        sources=item.sources,
        run=run if isinstance(run, str) else None,
    )
