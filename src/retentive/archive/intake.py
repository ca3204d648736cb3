"""Takes checked memories into a store as they are: ids, times and history kept, nothing overwritten."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from retentive import drafts
from retentive.archive.lines import MemoryLine
from retentive.archive.report import Tally
from retentive.clock import Clock
from retentive.embedders.base import Embedder, embed_checked, fingerprint, unit
from retentive.errors import Conflict
from retentive.ranking.features import features, pack
from retentive.redaction.base import Redactor
from retentive.redaction.fields import redacted_item
from retentive.stores.base import Changes, MemoryStore, StoredMemory
from retentive.types import MemoryItem, Scope

TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Where memories go, and the tally that is kept of them. In a dry run nothing is embedded or written."""

    store: MemoryStore
    embedder: Embedder
    clock: Clock
    tally: Tally
    dry_run: bool = False
    redactor: Redactor | None = None

    async def take(self, scope: Scope, lines: Sequence[MemoryLine]) -> list[MemoryItem]:
        """Store what the scope does not have, in one change; give what was stored.

        Raises:
            RedactionError, EmbedderError, StoreError: nothing of these lines was written.
        """
        now = self.clock()
        lines = await asyncio.to_thread(lambda: [_redacted(self.redactor, line) for line in lines])
        fresh = await self._unknown(scope, self._alone(self._living(lines, now)))
        if self.dry_run or not fresh:
            self.tally.imported += len(fresh)
            return []
        linked = await self._linked(scope, await self._ending(scope, fresh))
        if not linked:
            return []
        stored = await self._insert(scope, await self._prepared(linked), fresh, now)
        self.tally.imported += len(stored)
        return stored

    def _living(self, lines: Sequence[MemoryLine], now: datetime) -> list[MemoryLine]:
        living = [one for one in lines if not _has_expired(one.item, now)]
        self.tally.expired += len(lines) - len(living)
        return living

    def _alone(self, lines: Sequence[MemoryLine]) -> list[MemoryLine]:
        """The first line of each id."""
        first: dict[str, MemoryLine] = {}
        for line in lines:
            known = first.setdefault(line.item.id, line)
            if known is not line:
                self._compare(line, known.item, known.key)
        return list(first.values())

    async def _unknown(self, scope: Scope, lines: Sequence[MemoryLine]) -> list[MemoryLine]:
        """The lines whose id the scope does not have."""
        held = await self.store.get(scope, [line.item.id for line in lines]) if lines else []
        unknown: list[MemoryLine] = []
        for line, stored in zip(lines, held, strict=True):
            if stored is None:
                unknown.append(line)
            else:
                self._compare(line, stored.item, stored.key)
        return unknown

    def _compare(self, line: MemoryLine, held: MemoryItem, key: str | None) -> None:
        if (_comparable(line.item), line.key) == (_comparable(held), key):
            self.tally.present += 1
        else:
            self.tally.refuse(line.place, f"memory {line.item.id!r} is here already, and differs")

    async def _ending(self, scope: Scope, lines: Sequence[MemoryLine]) -> list[MemoryLine]:
        """The lines but those by which a memory would supersede itself in the end: none would hold."""
        successors = {line.item.id: line.item.superseded_by for line in lines}
        waiting = {one for one in successors.values() if one is not None} - successors.keys()
        while waiting:
            asked = sorted(waiting)
            held = await self.store.get(scope, asked)
            successors |= {
                id: got.item.superseded_by if got is not None else None
                for id, got in zip(asked, held, strict=True)
            }
            waiting = {one for one in successors.values() if one is not None} - successors.keys()
        ending: list[MemoryLine] = []
        for line in lines:
            if _leads_back(line.item.id, successors):
                self.tally.refuse(
                    line.place, f"memory {line.item.id!r} would be superseded by itself in the end"
                )
                successors[line.item.id] = None
            else:
                ending.append(line)
        return ending

    async def _linked(self, scope: Scope, lines: Sequence[MemoryLine]) -> list[MemoryLine]:
        """The lines, those whose `near` leads nowhere without it."""
        here = {line.item.id for line in lines}
        asked = sorted({line.item.near for line in lines if line.item.near} - here)
        if asked:
            here |= {got.item.id for got in await self.store.get(scope, asked) if got is not None}
        return [
            line
            if line.item.near is None or line.item.near in here
            else replace(line, item=replace(line.item, near=None))
            for line in lines
        ]

    async def _prepared(self, lines: Sequence[MemoryLine]) -> list[StoredMemory]:
        mark = fingerprint(self.embedder)
        vectors = {line.item.id: self._own_vector(line, mark) for line in lines}
        without = [line.item for line in lines if vectors[line.item.id] is None]
        made = await embed_checked(self.embedder, [drafts.text_to_embed(one) for one in without], "document")
        vectors |= {
            item.id: row.astype("<f4").tobytes() if row.any() else None
            for item, row in zip(without, made, strict=True)
        }
        return await asyncio.to_thread(lambda: [_stored(line, vectors[line.item.id], mark) for line in lines])

    def _own_vector(self, line: MemoryLine, mark: str) -> bytes | None:
        """The vector that came with the line, if it is one of this embedder's."""
        if line.vector is None or line.item.embedder != mark:
            return None
        if len(line.vector) != 4 * self.embedder.dimensions:
            return None
        row = np.frombuffer(line.vector, dtype="<f4").astype(np.float32).reshape(1, -1)
        if not np.isfinite(row).all() or not row.any():
            return None
        return unit(row).astype("<f4").tobytes()

    async def _insert(
        self, scope: Scope, memories: Sequence[StoredMemory], lines: Sequence[MemoryLine], now: datetime
    ) -> list[MemoryItem]:
        """What is stored now; of the rest the tally says why not."""
        places = {line.item.id: line.place for line in lines}
        stored: list[MemoryItem] = []
        changes = Changes(scope=scope, inserts=memories)
        for _ in range(TRIES):
            written = await self.store.write(changes)
            taken = {
                new.item.id: held
                for new, held in zip(changes.inserts, written.inserted, strict=True)
                if new.item.id != held
            }
            stored += [new.item for new in changes.inserts if new.item.id not in taken]
            changes = await self._again(changes, taken, places, now)
            if not changes.inserts:
                return stored
        raise Conflict("other writers kept changing the same memories; import the file again")

    async def _again(
        self, changes: Changes, taken: Mapping[str, str], places: Mapping[str, str], now: datetime
    ) -> Changes:
        """The change to make next: what an expired or vanished memory kept out. The others are settled."""
        held = await self.store.get(changes.scope, sorted(set(taken.values()))) if taken else []
        holders = {got.item.id: got for got in held if got is not None}
        stale = {id for id, got in holders.items() if _has_expired(got.item, now)}
        again: list[StoredMemory] = []
        for new in changes.inserts:
            holder = holders.get(taken.get(new.item.id, ""))
            if holder is not None and holder.item.id not in stale:
                self._settle(places[new.item.id], new, holder)
            elif new.item.id in taken:
                again.append(new)
        return Changes(scope=changes.scope, deletes=sorted(stale), inserts=again)

    def _settle(self, place: str, new: StoredMemory, holder: StoredMemory) -> None:
        """Count a memory whose text or key another one here has."""
        says_the_same = (new.item.kind, new.text_key) == (holder.item.kind, holder.text_key)
        if says_the_same and new.text_key is not None:
            self.tally.present += 1
        else:
            self.tally.refuse(place, f"memory {holder.item.id!r} has its key, and says something else")


def _redacted(redactor: Redactor | None, line: MemoryLine) -> MemoryLine:
    """The line as it may be kept; a vector of what was taken out is none."""
    item = redacted_item(redactor, line.item)
    return line if item is line.item else replace(line, item=item, vector=None)


def _stored(line: MemoryLine, vector: bytes | None, mark: str) -> StoredMemory:
    item = replace(line.item, embedder=mark)
    return StoredMemory(
        item=item, text_key=drafts.key_of(item), key=line.key, packed=pack(features(item)), vector=vector
    )


def _comparable(item: MemoryItem) -> MemoryItem:
    """The memory without what depends on the store it is in."""
    return replace(item, embedder=None, near=None)


def _has_expired(item: MemoryItem, now: datetime) -> bool:
    return item.expires_at is not None and item.expires_at <= now


def _leads_back(memory_id: str, successors: Mapping[str, str | None]) -> bool:
    """Whether the line of its successors comes to the memory itself again."""
    seen: set[str] = set()
    following = successors.get(memory_id)
    while following is not None and following not in seen:
        if following == memory_id:
            return True
        seen.add(following)
        following = successors.get(following)
    return False
