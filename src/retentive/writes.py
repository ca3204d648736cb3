"""How memories are written: checked, embedded, compared with what is there, then stored in one change."""

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar

import numpy as np

from retentive import drafts
from retentive.clock import Clock, NewId
from retentive.drafts import Lifetimes, NewMemory
from retentive.embedders.base import Embedder, Vectors, embed_checked, fingerprint
from retentive.errors import Conflict, EmbedderUnavailable, NotFound
from retentive.gathering import Gathering
from retentive.indexes import ScopeIndexes
from retentive.ranking.dedupe import NEAR_COSINE
from retentive.ranking.features import features, pack
from retentive.ranking.filters import expired
from retentive.ranking.near import near_memories
from retentive.ranking.restatement import other_use, settled
from retentive.redaction.base import Redactor
from retentive.redaction.fields import redacted_edit, redacted_item
from retentive.stores.base import Changes, MemoryStore, StoredMemory
from retentive.trust import may_replace
from retentive.types import MemoryItem, Scope

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
Outcome: TypeAlias = MemoryItem | Conflict
_Single: TypeAlias = tuple[MemoryItem, str | None, datetime]  # with its key, and when it was remembered

MAX_BATCH = 1_000
MAX_TOGETHER = 64
INLINE_ITEMS = 32
ROWS_PER_ITEM = 2_000
REDACTED_CHARS_PER_ITEM = 1_000
TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What came of drafts, in their order; `restated` are the ids that were there already."""

    items: Sequence[MemoryItem]
    restated: tuple[str, ...]


class Writer:
    """Turns drafts into stored memories, and changes them."""

    def __init__(
        self,
        store: MemoryStore,
        embedder: Embedder,
        indexes: ScopeIndexes,
        clock: Clock,
        redactor: Redactor | None = None,
    ) -> None:
        self._redactor = redactor
        self._store = store
        self._embedder = embedder
        self._fingerprint = fingerprint(embedder)
        self._indexes = indexes
        self._clock = clock
        self._together = Gathering(self._remember_together, most=MAX_TOGETHER)

    async def remember(
        self, scope: Scope, new: Sequence[NewMemory], lifetimes: Lifetimes, new_id: NewId
    ) -> Remembered:
        """Store each draft that is not there already. All are checked before any is written.

        Raises:
            Conflict: the key of one was used for another statement; the others were written.
        """
        rows = await self.remember_each(scope, new, lifetimes, new_id)
        kept = _kept_or_refused([outcome for _, outcome in rows])
        restated = tuple(old.id for (made, _), old in zip(rows, kept, strict=True) if made.id != old.id)
        return Remembered(items=kept, restated=restated)

    async def remember_each(
        self, scope: Scope, new: Sequence[NewMemory], lifetimes: Lifetimes, new_id: NewId
    ) -> list[tuple[MemoryItem, Outcome]]:
        """As `remember`, each draft by itself: what was made of it, and the memory that states it now.

        Of one whose key was used for another statement the Conflict in place of that memory.
        """
        now = self._clock()
        items = await self.redacted(
            await _pure(len(new), lambda: drafts.make_items(new, scope, now, lifetimes, new_id))
        )
        if len(items) == 1:
            kept = [await self._together.ask(scope, (items[0], new[0].key, now))]
        else:
            kept = await self._remember_all(items, [draft.key for draft in new], now)
        return list(zip(items, kept, strict=True))

    async def _remember_together(self, _: Hashable, asked: Sequence[_Single]) -> list[Outcome]:
        """What several callers remember in one scope at the same moment."""
        items, keys, moments = zip(*asked, strict=True)
        return await self._remember_batch(items, keys, max(moments))

    async def _remember_all(
        self, items: Sequence[MemoryItem], keys: Sequence[str | None], now: datetime
    ) -> list[Outcome]:
        kept: list[Outcome] = []
        for start in range(0, len(items), MAX_BATCH):
            end = start + MAX_BATCH
            kept += await self._remember_batch(items[start:end], keys[start:end], now)
        return kept

    async def _remember_batch(
        self, items: Sequence[MemoryItem], keys: Sequence[str | None], now: datetime
    ) -> list[Outcome]:
        """For each item the memory that states it now; a Conflict where its key is of another statement."""
        vectors = await self.embed(items)
        settled = await self.compare(items, vectors, now)
        new = [row for row in zip(items, settled, keys, vectors, strict=True) if row[0].id == row[1].id]
        fresh = await _pure(
            len(new), lambda: [self.stored(after, key, vector) for _, after, key, vector in new]
        )
        stored = await self._insert(fresh, now) if fresh else dict[str, MemoryItem]()
        kept = [stored.get(item.id, item) for item in settled]
        return await self._stated_again(list(zip(items, keys, kept, strict=True)), now)

    async def _stated_again(
        self, rows: Sequence[tuple[MemoryItem, str | None, MemoryItem]], now: datetime
    ) -> list[Outcome]:
        """What comes of each item, its key, and the memory that states it or has its key."""
        outcomes = [other_use(*row) or row[2] for row in rows]
        same = [row for row, one in zip(rows, outcomes, strict=True) if not isinstance(one, Conflict)]
        for item, key, old in same:
            if key is not None and old.id != item.id:
                await self._leave_key(item.scope, old.id, key)
        kept = await self._kept_as_long([old for _, _, old in same], [item for item, _, _ in same], now)
        left = iter(kept)
        return [one if isinstance(one, Conflict) else next(left) for one in outcomes]

    async def _leave_key(self, scope: Scope, memory_id: str, key: str) -> None:
        """Let a memory that was stated again be known by the key of that call, if neither is taken."""
        refused: datetime | None = None
        for _ in range(TRIES):
            old = (await self._store.get(scope, [memory_id]))[0]
            if old is None or old.key is not None or old.item.updated_at == refused:
                return
            refused = old.item.updated_at
            changes = Changes(
                scope=scope, updates=[replace(old, key=key)], unchanged={memory_id: old.item.updated_at}
            )
            with suppress(Conflict, NotFound):
                await self._store.write(changes)
                return

    async def _kept_as_long(
        self, kept: Sequence[MemoryItem], items: Sequence[MemoryItem], now: datetime
    ) -> list[MemoryItem]:
        """The memories kept, each made to live as long as the items that state it again and may do so."""
        ends: dict[str, datetime | None] = {}
        for old, item in zip(kept, items, strict=True):
            if old.id == item.id or not may_replace(item, old):
                continue
            if _is_later(item.expires_at, ends.get(old.id, old.expires_at)):
                ends[old.id] = item.expires_at
        longer = {
            memory_id: await self._prolong(items[0].scope, memory_id, end, now)
            for memory_id, end in ends.items()
        }
        return [longer.get(old.id) or old for old in kept]

    async def _prolong(
        self, scope: Scope, memory_id: str, end: datetime | None, now: datetime
    ) -> MemoryItem | None:
        """The memory, living until `end` at least; None if it was forgotten just now."""

        def edit(current: MemoryItem) -> Mapping[str, object]:
            return {"expires_at": end} if _is_later(end, current.expires_at) else {}

        try:
            return await self._change(scope, memory_id, edit, now)
        except NotFound:
            return None

    async def redacted(self, items: Sequence[MemoryItem]) -> Sequence[MemoryItem]:
        """The memories as they may be kept.

        Raises:
            RedactionError: the redactor failed.
        """
        if self._redactor is None:
            return items
        size = len(items) + sum(len(item.content) for item in items) // REDACTED_CHARS_PER_ITEM
        return await _pure(size, lambda: [redacted_item(self._redactor, item) for item in items])

    async def embed(self, items: Sequence[MemoryItem]) -> Vectors:
        """A vector each, of unit length or all zeros; rows of no numbers if the embedder is unavailable.

        Raises:
            EmbedderError: it failed in another way, or answered nonsense.
        """
        try:
            return await embed_checked(
                self._embedder, [drafts.text_to_embed(item) for item in items], "document"
            )
        except EmbedderUnavailable as error:
            _log.warning("memories are kept without vectors, which follow: %s", error)
            return np.zeros((len(items), 0), dtype=np.float32)

    async def compare(self, items: Sequence[MemoryItem], vectors: Vectors, now: datetime) -> list[MemoryItem]:
        """For each item the memory that states the same already, or itself, linked to the nearest other."""
        scope = items[0].scope
        if not vectors.shape[1]:
            return list(items)  # equal texts are still met by the store
        view = await self._indexes.view_to_compare(scope, vectors)
        size = len(items) * (1 + len(view) // ROWS_PER_ITEM)
        near = await _pure(size, lambda: near_memories(view, items, vectors, now, NEAR_COSINE))
        ids = list({found.id for each in near for found in each if found.index is None})
        old = {got.item.id: got.item for got in await self._store.get(scope, ids) if got} if ids else {}
        return await _pure(len(items), lambda: settled(items, near, old))

    def stored(self, item: MemoryItem, key: str | None, vector: Vectors) -> StoredMemory:
        """The memory with what is kept beside it; `vector` is a row of what `embed` gives."""
        item = replace(item, embedder=self._fingerprint if vector.size else None)
        return StoredMemory(
            item=item,
            text_key=drafts.key_of(item),
            key=key,
            packed=pack(features(item)),
            vector=vector.tobytes() if vector.any() else None,
        )

    async def _insert(self, inserts: Sequence[StoredMemory], now: datetime) -> Mapping[str, MemoryItem]:
        """By the id of each insert, the memory that is stored now: itself, or the one that was there."""
        scope = inserts[0].item.scope
        stored: dict[str, MemoryItem] = {}
        changes = Changes(scope=scope, inserts=inserts)
        for _ in range(TRIES):
            written = await self._store.write(changes)
            taken = _taken(changes.inserts, written.inserted)
            stored |= {new.item.id: new.item for new in changes.inserts if new.item.id not in taken}
            if not taken:
                return stored
            holders = {
                got.item.id: got for got in await self._store.get(scope, [*set(taken.values())]) if got
            }
            stale = [held.item.id for held in holders.values() if has_expired(held.item, now)]
            stored |= {
                new: holders[old].item for new, old in taken.items() if old in holders and old not in stale
            }
            again = [new for new in changes.inserts if new.item.id not in stored]
            if not again:
                return stored
            changes = Changes(scope=scope, deletes=stale, inserts=again)
        raise Conflict("other writers kept changing the same memories; try again")

    async def update(self, scope: Scope, memory_id: str, edit: Mapping[str, object]) -> MemoryItem:
        """Replace the named fields of a memory, and what is derived from them, in one change."""
        return await self._change(scope, memory_id, lambda _: edit, self._clock())

    async def _change(
        self,
        scope: Scope,
        memory_id: str,
        edit_of: Callable[[MemoryItem], Mapping[str, object]],
        now: datetime,
    ) -> MemoryItem:
        stale: Sequence[str] = ()
        for _ in range(TRIES):
            old = (await self._store.get(scope, [memory_id]))[0]
            if old is None or has_expired(old.item, now):
                raise NotFound(f"no memory {memory_id!r} in this scope")
            edit = edit_of(old.item)
            if not edit:
                return old.item
            changed = await self.edited(old, edit)
            unchanged = {memory_id: old.item.updated_at}
            try:
                await self._store.write(
                    Changes(scope=scope, deletes=stale, updates=[changed], unchanged=unchanged)
                )
            except Conflict:
                now_there = (await self._store.get(scope, [memory_id]))[0]
                if now_there is not None and now_there.item.updated_at == old.item.updated_at:
                    stale = await self._expired_like(changed, now)
                    if not stale:
                        raise
            else:
                return changed.item
        raise Conflict(f"other writers kept changing memory {memory_id!r}; try again")

    async def _expired_like(self, wanted: StoredMemory, now: datetime) -> list[str]:
        """The ids of expired memories that still hold the text of this one."""
        scope = wanted.item.scope
        ids = expired(await self._indexes.view(scope), now)
        held = [got for got in await self._store.get(scope, ids) if got is not None]
        alike = [got for got in held if got.text_key == wanted.text_key and got.item.kind is wanted.item.kind]
        return [got.item.id for got in alike if has_expired(got.item, now)]

    async def edited(self, old: StoredMemory, edit: Mapping[str, object]) -> StoredMemory:
        """The memory with the fields replaced, and what is derived from them made anew."""
        edit = redacted_edit(self._redactor, edit, old.item)
        moment = max(self._clock(), old.item.updated_at + timedelta(microseconds=1))
        item = replace(old.item, **edit, updated_at=moment)  # pyright: ignore[reportArgumentType]
        if not {"valid_from", "valid_until"}.isdisjoint(edit):
            drafts.check_validity(item)
        if item.content == old.item.content:
            return replace(old, item=item, text_key=drafts.key_of(item), packed=pack(features(item)))
        vectors = await self.embed([item])
        return self.stored(replace(item, near=None), old.key, vectors[0])


async def _pure(size: int, work: Callable[[], _T]) -> _T:
    """What `work` gives, done in a thread where there is so much of it that other tasks would wait."""
    return work() if size <= INLINE_ITEMS else await asyncio.to_thread(work)


def _kept_or_refused(outcomes: Sequence[Outcome]) -> list[MemoryItem]:
    """The memories; raises the first Conflict among them."""
    for one in outcomes:
        if isinstance(one, Conflict):
            raise one
    return [one for one in outcomes if not isinstance(one, Conflict)]


def _taken(inserts: Sequence[StoredMemory], ids: Sequence[str]) -> dict[str, str]:
    return {new.item.id: held for new, held in zip(inserts, ids, strict=True) if new.item.id != held}


def _is_later(end: datetime | None, other: datetime | None) -> bool:
    """Whether one end of a life lies after another; None is no end."""
    return other is not None and (end is None or end > other)


def has_expired(item: MemoryItem, now: datetime) -> bool:
    """Whether it is no longer to be read: from `expires_at` on."""
    return item.expires_at is not None and item.expires_at <= now
