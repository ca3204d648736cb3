"""Finding memories."""

import time
from collections.abc import Iterable, Sequence
from datetime import datetime

from retentive import checks, drafts
from retentive.events import EventType
from retentive.memory.base import MemoryBase
from retentive.ranking.profiles import Profiles
from retentive.recall import Recall
from retentive.types import MemoryItem, MemoryKind, Origin, Page, Query, Scope


class Reading(MemoryBase):
    """The verbs that read."""

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
        known_at: datetime | None = None,
        success: bool | None = None,
        min_trust: Origin | str | None = None,
        include_superseded: bool = False,
        limit: int = 10,
        min_score: float | None = None,
        min_confidence: float | None = None,
        patience_s: float | None = None,
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
            as_of: what held in the world at this instant, by what is known now, instead of now.
            known_at: what was known here at this instant: nothing recorded later, and what was superseded
                later as it was before. Alone it asks as if now were then; with `as_of`, what was known at
                `known_at` of `as_of`. A memory changed by `update` has the text of today.
            success: only episodes with this outcome.
            min_trust: only what this origin or a more trusted one said: user, assistant, tool, document,
                imported, from most to least trusted.
            include_superseded: also memories that another took the place of, as if none had.
            limit: 0 to 1,000.
            min_score: only hits that score this much; scores have no fixed scale.
            min_confidence: 0 to 1; give no hits where the Recall's `confidence` is below, and say so in its
                `abstained`; 0 only works it out. It guesses whether the memories speak of the question's
                subject at all: .2 is a careful start. It cannot tell that a question on a subject which does
                come up has no answer there, nor that what it asks about one person was said of another.
            patience_s: how many seconds the embedder may take; then the words alone decide, and `degraded`
                says so. None waits for it.

        Raises:
            InvalidInput: an argument cannot be used.
            StoreError: the store cannot be read. A failing embedder does not raise: the words alone decide,
                and `degraded` says so.
        """
        filters = drafts.check_filters(
            kinds=kinds,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            known_at=known_at,
            success=success,
            min_trust=min_trust,
            include_superseded=include_superseded,
        )
        asked = Query(
            text=query,
            scope=Scope(self.namespace, user_id),
            filters=filters,
            limit=checks.check_limit("limit", limit),
            min_score=checks.check_score("min_score", min_score),
            min_confidence=checks.check_share("min_confidence", min_confidence),
            patience_s=checks.check_score("patience_s", patience_s),
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
        known_at: datetime | None = None,
        success: bool | None = None,
        min_trust: Origin | str | None = None,
        include_superseded: bool = False,
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
            kinds=kinds,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            known_at=known_at,
            success=success,
            min_trust=min_trust,
            include_superseded=include_superseded,
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
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        success: bool | None = None,
        min_trust: Origin | str | None = None,
        include_superseded: bool = False,
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
        filters = drafts.check_filters(
            kinds=kinds,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            known_at=known_at,
            success=success,
            min_trust=min_trust,
            include_superseded=include_superseded,
        )
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
        started = time.perf_counter()
        await self._ready()
        found = await self._engine.reader.count(scope, filters)
        self._tell(EventType.MEMORY_READ, "count", scope, started, [])
        return found

    async def scopes(self) -> Sequence[Scope]:
        """The scopes of this namespace that hold memories: the shared one first, then users in order.

        Raises:
            StoreError: the store cannot be read.
        """
        started = time.perf_counter()
        await self._ready()
        found = await self._store.scopes(self.namespace)
        self._tell(EventType.MEMORY_READ, "scopes", Scope(self.namespace), started, [])
        return found

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
