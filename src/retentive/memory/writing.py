"""Putting memories in, and changing them."""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from retentive import drafts
from retentive.drafts import NewMemory
from retentive.errors import InvalidInput
from retentive.events import EventType
from retentive.memory.base import MemoryBase
from retentive.types import UNSET, MemoryItem, MemoryKind, Origin, Scope, Source, Unset


class Writing(MemoryBase):
    """The verbs that write."""

    async def remember(  # noqa: PLR0913 - the fields of a memory
        self,
        content: str,
        *,
        user_id: str | None = None,
        kind: MemoryKind | str = MemoryKind.SEMANTIC,
        importance: float = 0.5,
        tags: Iterable[str] = (),
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
        """The memory, durable. If the scope states the same in this kind already, that memory.

        "The same" is equal text up to the capital that begins a sentence, spaces and a final full stop, or
        wording so close that no number, date, name, unit, negation or other word that carries a fact differs,
        valid for the same time. A memory that differs in one is stored and linked to the other by `near`.
        One that is stated again stays as it is, but for `expires_at` where the new call asks to keep it
        longer and its origin is trusted as much: what a tool repeats does not outlive the user's wish. A
        second call with the same `key` gives the first's memory, also once it was reworded or superseded; a
        call that only stated again what was there leaves its key with that memory, if it has none.

        Args:
            content: the statement, as it is to be read later; at most 1,000,000 characters.
            user_id: whose it is; None is the namespace's own shared scope.
            kind: one of the five MemoryKinds. Working memories live an hour and short_term ones a day, unless
                `ttl`, `expires_at` or the Memory's `lifetimes` say otherwise.
            importance: 0 to 1; raises or lowers its rank in recall.
            tags: at most 64 short texts to filter by.
            metadata: a JSON object, given back as it was.
            occurred_at: when it happened, if not now.
            valid_from: since when it holds.
            valid_until: until when it holds; not recalled from then on.
            ttl: how long it is kept.
            expires_at: until when it is kept; from that instant on only a query `as_of` before it finds it.
            source: the turns or the document it comes from.
            origin: who said it.
            success: of an episode, whether it went well.
            key: makes a retry harmless.

        Raises:
            InvalidInput: a field cannot be used; nothing was written.
            Conflict: `key` was used for another statement, of another kind, or by a less trusted origin;
                nothing was written.
            EmbedderError: the embedder failed or answered nonsense; nothing was written. One that cannot be
                reached does not raise: the memory is kept with its words, its `embedder` None, and its vector
                follows with a later remember in the scope, or `reembed`.
            StoreError: the store cannot be written; nothing was written.
        """
        draft = NewMemory(
            content=content,
            kind=kind,
            importance=importance,
            tags=tags,
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
        return (await self._remember("remember", [draft], user_id))[0]

    async def remember_many(
        self, memories: Iterable[NewMemory | str], *, user_id: str | None = None
    ) -> list[MemoryItem]:
        """The memories in the order passed, as `remember` gives each; a text alone is a semantic memory.

        All are checked before the first is written. They are written in batches of 1,000, each all or
        nothing, so after an error a second call with the same memories completes them.

        Raises:
            InvalidInput, EmbedderError, StoreError: as `remember`; earlier batches were written.
            Conflict: a key was used for another statement; all others were written.
        """
        if isinstance(memories, (str, NewMemory)):
            raise InvalidInput("remember_many takes a list of memories; remember takes one")
        new = [NewMemory(content=m) if isinstance(m, str) else m for m in memories]
        for draft in new:
            if not isinstance(draft, NewMemory):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidInput(f"remember_many takes texts and NewMemory, not {type(draft).__name__}")
        return await self._remember("remember_many", new, user_id)

    async def _remember(self, verb: str, new: Sequence[NewMemory], user_id: str | None) -> list[MemoryItem]:
        scope = Scope(self.namespace, user_id)
        started = time.perf_counter()
        await self._ready()
        done = await self._engine.writer.remember(scope, new, self._lifetimes, self._new_id)
        late = sum(item.embedder is None for item in done.items)
        degraded = {"vector": f"{late} of {len(new)} memories wait for their vector"} if late else None
        self._tell(
            EventType.MEMORY_WRITE,
            verb,
            scope,
            started,
            done.items,
            restated=done.restated,
            degraded=degraded,
        )
        await self._follow_backlog(scope, is_late=bool(late))
        return list(done.items)

    async def update(  # noqa: PLR0913 - the fields that can change
        self,
        memory_id: str,
        *,
        user_id: str | None = None,
        content: str | Unset = UNSET,
        importance: float | Unset = UNSET,
        tags: Iterable[str] | Unset = UNSET,
        metadata: Mapping[str, object] | Unset | None = UNSET,
        occurred_at: datetime | Unset | None = UNSET,
        valid_from: datetime | Unset | None = UNSET,
        valid_until: datetime | Unset | None = UNSET,
        expires_at: datetime | Unset | None = UNSET,
        success: bool | Unset | None = UNSET,
    ) -> MemoryItem:
        """The memory with the fields passed replaced; the others, its id and `created_at` stay.

        Words, vector and all that is derived change with it at once: the old text no longer finds it. None
        clears a field; what is not passed is left alone. Scope and kind cannot change.

        Raises:
            InvalidInput: a field cannot be used, or none was passed.
            NotFound: the scope has no such memory, or it has expired.
            Conflict: another memory of the scope and kind states this already.
            EmbedderError, StoreError: nothing was changed.
        """
        scope = Scope(self.namespace, user_id)
        edit = drafts.check_edit(
            content=content,
            importance=importance,
            tags=tags,
            metadata=metadata,
            occurred_at=occurred_at,
            valid_from=valid_from,
            valid_until=valid_until,
            expires_at=expires_at,
            success=success,
        )
        started = time.perf_counter()
        await self._ready()
        item = await self._engine.writer.update(scope, drafts.check_id(memory_id), edit)
        if item.embedder is None:
            self._engine.reembedding.expect(scope)
        self._tell(EventType.MEMORY_WRITE, "update", scope, started, [item])
        return item
