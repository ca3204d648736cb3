"""How memories are read: the question is embedded, the scope ranked whole, and the hits fetched."""

import asyncio
import functools
from collections.abc import Sequence

from retentive.clock import Clock
from retentive.drafts import MAX_EMBEDDED_CHARS, clean_query
from retentive.embedders.base import Embedder, Vectors, embed_checked
from retentive.errors import EmbedderError
from retentive.gathering import Turns
from retentive.indexes import ScopeIndexes
from retentive.ranking.confidence import rank_and_judge
from retentive.ranking.filters import of_kinds, passing
from retentive.ranking.profiles import Profiles
from retentive.ranking.question import question
from retentive.ranking.score import Scored, Wanted, rank
from retentive.ranking.view import IndexView
from retentive.recall import Recall
from retentive.stores.base import MemoryStore
from retentive.tokens import truncate
from retentive.types import Filters, MemoryHit, MemoryItem, MemoryKind, Page, Query, Scope
from retentive.uses import UseNotes

MAX_QUERY_CHARS = 4_000
INLINE_TOKENS = 20_000


class Reader:
    """Answers queries from the index of a scope and the store behind it."""

    def __init__(self, store: MemoryStore, embedder: Embedder, indexes: ScopeIndexes, clock: Clock) -> None:
        self._store = store
        self._embedder = embedder
        self._indexes = indexes
        self._clock = clock
        self._turns = Turns()
        self._uses = UseNotes(store)

    async def ask(self, asked: Query, profiles: Profiles) -> Recall:
        """The hits of a query, best first."""
        degraded: dict[str, str] = {}
        text = truncate(clean_query(asked.text), MAX_QUERY_CHARS)
        view = await self._indexes.view(asked.scope)
        if not len(view) or not asked.limit or not text.strip():
            sure = None if asked.min_confidence is None or not asked.limit else 0.0
            return Recall(
                (), query=asked.text, degraded=degraded, confidence=sure, abstained=_abstains(asked, sure)
            )
        vector = await self._embed(text, asked.patience_s, degraded)
        if view.outdated and "vector" not in degraded:
            degraded["vector"] = outdated_in_words(view, self._embedder.name)
        wanted = Wanted(
            now=self._clock(),
            filters=asked.filters,
            limit=asked.limit,
            offset=asked.offset,
            min_score=asked.min_score,
            uses=await self._uses.read(asked.scope) if profiles.fades else {},
        )
        rank_it = functools.partial(_ranked, view, text, vector, (wanted, asked), profiles)
        if len(view.tokens) <= INLINE_TOKENS:
            async with self._turns.turn():
                scored, sure = rank_it()
        else:
            scored, sure = await asyncio.to_thread(rank_it)
        return Recall(
            await self._hits(asked.scope, scored),
            query=asked.text,
            degraded=degraded,
            confidence=sure,
            abstained=_abstains(asked, sure),
        )

    async def _embed(self, text: str, patience_s: float | None, degraded: dict[str, str]) -> Vectors | None:
        embedding = embed_checked(self._embedder, [truncate(text, MAX_EMBEDDED_CHARS)], "query")
        try:
            async with asyncio.timeout(patience_s):
                vector = (await embedding)[0]
        except EmbedderError as error:
            degraded["vector"] = f"the embedder failed, words alone decide: {error}"
            return None
        except TimeoutError:
            degraded["vector"] = f"the embedder did not answer within {patience_s:g} s, words alone decide"
            return None
        return vector if vector.any() else None

    async def _hits(self, scope: Scope, scored: Sequence[Scored]) -> list[MemoryHit]:
        stored = await self._store.get(scope, [one.id for one in scored]) if scored else []
        found = [(got.item, one) for got, one in zip(stored, scored, strict=True) if got is not None]
        return [
            MemoryHit(item=item, score=one.score, rank=rank, why=one.why)
            for rank, (item, one) in enumerate(found, start=1)
        ]

    async def get(self, scope: Scope, memory_id: str) -> MemoryItem | None:
        """The memory, unless it has expired."""
        stored = (await self._store.get(scope, [memory_id]))[0]
        if stored is None or (stored.item.expires_at is not None and stored.item.expires_at <= self._clock()):
            return None
        return stored.item

    async def page(self, scope: Scope, filters: Filters, limit: int, after: str | None) -> Page:
        """One page of the memories that pass, newest first."""
        ids = [one for one in await self._passing(scope, filters) if after is None or one < after]
        ids.sort(reverse=True)
        stored = await self._store.get(scope, ids[:limit]) if limit else []
        more = ids[limit - 1] if limit and len(ids) > limit else None
        return Page(items=tuple(got.item for got in stored if got is not None), next=more)

    async def count(self, scope: Scope, filters: Filters) -> int:
        """How many memories pass."""
        return len(await self._passing(scope, filters))

    async def ids(self, scope: Scope, kinds: frozenset[MemoryKind]) -> list[str]:
        """The ids of all memories of these kinds (none: all kinds), expired and superseded ones included."""
        view = await self._indexes.view(scope)
        mask = of_kinds(view, kinds)
        return [view.ids[row] for row in mask.nonzero()[0].tolist()]

    async def _passing(self, scope: Scope, filters: Filters) -> list[str]:
        view = await self._indexes.view(scope)
        return [view.ids[row] for row in passing(view, filters, self._clock()).nonzero()[0].tolist()]


def _ranked(
    view: IndexView, text: str, vector: Vectors | None, asked: tuple[Wanted, Query], profiles: Profiles
) -> tuple[list[Scored], float | None]:
    """The hits, none where it abstains, and the confidence where it is asked for."""
    wanted, query = asked
    prepared = question(text, vector)
    if query.min_confidence is None:
        return rank(view, prepared, profiles, wanted), None
    scored, sure = rank_and_judge(view, prepared, profiles, wanted)
    return ([] if _abstains(query, sure) else scored), sure


def outdated_in_words(view: IndexView, name: str) -> str:
    """What is to be said of memories found by words alone, as they have no vector of this embedder."""
    waiting = view.outdated.get(None, 0)
    said = [f"{count} have vectors of {other}" for other, count in view.outdated.items() if other is not None]
    said += [f"{waiting} have no vector yet"] if waiting else []
    return (
        f"of {len(view)} memories, {' and '.join(said)}: the embedder here is {name}, so they are found by "
        "their words alone; reembed() gives them vectors"
    )


def _abstains(asked: Query, sure: float | None) -> bool:
    return sure is not None and asked.min_confidence is not None and sure < asked.min_confidence
