"""Letting memories take the place of others, and seeing what they said before."""

import time
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from retentive import checks, drafts
from retentive.drafts import NewMemory
from retentive.events import EventType
from retentive.life.batch import Applied, Batch
from retentive.memory.base import MemoryBase
from retentive.types import UNSET, Disagreement, MemoryItem, MemoryKind, Origin, Scope, Source, Unset


class Changing(MemoryBase):
    """The verbs about what was, what is, and what disagrees."""

    async def supersede(  # noqa: PLR0913 - the fields of a memory
        self,
        old_id: str,
        content: str,
        *,
        user_id: str | None = None,
        kind: MemoryKind | str | Unset = UNSET,
        importance: float | Unset = UNSET,
        tags: Iterable[str] | Unset = UNSET,
        metadata: Mapping[str, object] | None = None,
        occurred_at: datetime | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
        ttl: timedelta | None = None,
        expires_at: datetime | None = None,
        source: Source | None = None,
        origin: Origin | str = Origin.USER,
        success: bool | None = None,
        key: str | None = None,
    ) -> MemoryItem:
        """The memory that takes the old one's place, durable; the old one is kept as history, in one change.

        The new one holds from `valid_from`, else `occurred_at`, else now; there the old one ends, unless it
        ended before. Until then (it may lie ahead) the old one is recalled, and `as_of` an earlier instant it
        still is. Kind, importance and tags are the old one's where they are not passed; the other fields are
        as in `remember`.

        If the old one states this already, it is given back and nothing is written. If another living memory
        states it, that one takes the old one's place. Doing it a second time gives what took the place the
        first time, if that says the same and still holds, or has the same `key`.

        Raises:
            NotFound: the scope has no such memory, or it has expired.
            Conflict: the memory was superseded by another already; the message names that one. Or `key` was
                used for another statement, of another kind, or by a less trusted origin.
            NotTrusted: `origin` is less trusted than the old one's (user, assistant, tool, document,
                imported, from most to least): a tool's output never corrects what the user said.
            InvalidInput, EmbedderError, StoreError: nothing was written.
        """
        scope, started = Scope(self.namespace, user_id), time.perf_counter()
        await self._ready()
        inherited = await self._engine.histories.version(scope, drafts.check_id(old_id))
        draft = NewMemory(
            content=content,
            kind=inherited.kind if isinstance(kind, Unset) else kind,
            importance=inherited.importance if isinstance(importance, Unset) else importance,
            tags=inherited.tags if isinstance(tags, Unset) else tags,
            metadata=metadata,
            occurred_at=occurred_at,
            valid_from=valid_from,
            valid_until=valid_until,
            ttl=ttl,
            expires_at=expires_at,
            source=source,
            origin=origin,
            success=success,
            key=key,
        )
        batch = Batch(new=[draft], supersedes={0: [inherited.id]})
        return (await self._apply("supersede", scope, batch, started)).items[0]

    async def apply(self, batch: Batch, *, user_id: str | None = None) -> Applied:
        """What came of several changes of one scope, written as one: all of them or none.

        For what must not come apart: memories drawn from a thread and the note of how far it was read; one
        memory in place of several. See `Batch`.

        Raises:
            NotFound, Conflict, NotTrusted: a memory cannot be superseded or edited, a note is not as
                expected, or others kept changing the same memories; nothing was written.
            InvalidInput, EmbedderError, StoreError: nothing was written.
        """
        scope, started = Scope(self.namespace, user_id), time.perf_counter()
        await self._ready()
        return await self._apply("apply", scope, batch, started)

    async def _apply(self, verb: str, scope: Scope, batch: Batch, started: float) -> Applied:
        done = await self._engine.batches.apply(scope, batch, self._lifetimes, self._new_id)
        written = [*done.items, *done.superseded, *done.edited]
        said = [*done.items, *done.edited]
        late = sum(item.embedder is None for item in said)
        degraded = {"vector": f"{late} of {len(said)} memories wait for their vector"} if late else None
        self._tell(
            EventType.MEMORY_WRITE,
            verb,
            scope,
            started,
            written,
            restated=done.restated,
            degraded=degraded,
        )
        if said:
            await self._follow_backlog(scope, is_late=bool(late))
        return done

    async def notes(self, prefix: str = "", *, user_id: str | None = None) -> dict[str, bytes]:
        """The notes of the scope whose names begin with `prefix`, by name, sorted; `apply` writes them.

        Raises:
            StoreError: the store cannot be read.
        """
        scope, started = Scope(self.namespace, user_id), time.perf_counter()
        await self._ready()
        found = await self._store.notes(scope, drafts.check_id(prefix))
        self._tell(EventType.MEMORY_READ, "notes", scope, started, [])
        return found

    async def history(self, memory_id: str, *, user_id: str | None = None) -> list[MemoryItem]:
        """All versions of what this memory states, the first one first, whichever of them is asked for.

        A version ends where the next one took its place (`valid_until`); `superseded_at` says when that was
        recorded. Versions that were forgotten or have expired are left out. Empty if the scope has no such
        memory.

        Raises:
            StoreError: the store cannot be read.
        """
        scope, started = Scope(self.namespace, user_id), time.perf_counter()
        await self._ready()
        versions = await self._engine.histories.story(scope, drafts.check_id(memory_id))
        self._tell(EventType.MEMORY_READ, "history", scope, started, versions)
        return versions

    async def conflicts(self, *, user_id: str | None = None, limit: int = 100) -> list[Disagreement]:
        """The pairs of living memories worded alike that state different facts, newest first.

        Where one of the two is out of date, `supersede` it or `forget` it. Memories are compared as they were
        linked when they were stored; what was reworded by `update` since is not linked anew.

        Raises:
            InvalidInput: `limit` is not a whole number from 0 to 1,000.
            StoreError: the store cannot be read.
        """
        scope, started = Scope(self.namespace, user_id), time.perf_counter()
        checks.check_limit("limit", limit)
        await self._ready()
        pairs = await self._engine.histories.disagreements(scope, limit)
        found = {item.id: item for pair in pairs for item in (pair.newer, pair.older)}
        self._tell(EventType.MEMORY_READ, "conflicts", scope, started, [*found.values()])
        return pairs
