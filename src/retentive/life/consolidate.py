"""Making one memory of several, each in one atomic change. `unmerge` undoes it.

What is left to do is never written down: it is the living memories that state the same. So a run that is
killed goes on where it was, a second one finds nothing, and of two at once one finds the work done.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np

from retentive import drafts
from retentive.clock import Clock, NewId
from retentive.drafts import NewMemory
from retentive.errors import Conflict, NotFound
from retentive.indexes import ScopeIndexes
from retentive.life.lineage import ended, older_versions, relinked
from retentive.life.merging import Cluster, Merge, duplicates, is_lasting, merged, wordings
from retentive.life.reports import MAX_LISTED, ConsolidateReport, Merged, Progress
from retentive.ranking.dedupe import fact_key
from retentive.ranking.disagreements import linked_groups
from retentive.ranking.features import features, pack
from retentive.ranking.filters import passing
from retentive.stores.base import Changes, MemoryStore, StoredMemory
from retentive.types import Filters, MemoryItem, Scope
from retentive.writes import Writer, has_expired

PAGE: Final = 1_000
APART: Final = "a model said that they belong apart"
CHANGED: Final = "another writer was there first"

Told: TypeAlias = Callable[[Scope, Sequence[MemoryItem]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidating:
    """How to consolidate, and who is told of each memory made, with its sources, and of the progress."""

    dry_run: bool
    merge: Merge | None
    new_id: NewId
    told: Told
    progress: Progress


@dataclass(slots=True)
class _Tally:
    """The run so far."""

    scanned: int = 0
    total: int = 0
    done: list[Merged] = field(default_factory=list[Merged])
    skipped: Counter[str] = field(default_factory=Counter[str])

    def add(self, one: Merged) -> None:
        self.total += 1
        if len(self.done) < MAX_LISTED:
            self.done.append(one)


class Consolidator:
    """Merges memories that state the same, and with a model those that say nearly the same."""

    def __init__(self, store: MemoryStore, writer: Writer, indexes: ScopeIndexes, clock: Clock) -> None:
        self._store = store
        self._writer = writer
        self._indexes = indexes
        self._clock = clock

    async def consolidate(self, scopes: Sequence[Scope], wanted: Consolidating) -> ConsolidateReport:
        """Merge what there is to merge in each scope, or in a dry run only say so."""
        tally = _Tally()
        for number, scope in enumerate(scopes, start=1):
            tally.scanned += len(await self._indexes.view(scope))
            async for cluster in self._duplicates(scope):
                await self._take(scope, cluster, wanted, tally)
            if wanted.merge is not None:
                async for cluster in self._tellings(scope):
                    await self._take(scope, cluster, wanted, tally)
            wanted.progress(number, len(scopes))
        return ConsolidateReport(
            dry_run=wanted.dry_run,
            scopes=len(scopes),
            scanned=tally.scanned,
            total=tally.total,
            merged=tuple(tally.done),
            skipped=dict(tally.skipped),
        )

    async def _take(self, scope: Scope, cluster: Cluster, wanted: Consolidating, tally: _Tally) -> None:
        oldest_first = sorted(cluster.living, key=lambda item: (item.created_at, item.id))
        sources = tuple(item.id for item in oldest_first)
        if wanted.dry_run:
            tally.add(Merged(id=None, sources=sources, why=cluster.why))
            return
        made = await self._made(scope, cluster, wanted)
        if made is None:
            tally.skipped[APART] += 1
            return
        if not await self._written(scope, cluster, made):
            tally.skipped[CHANGED] += 1
            return
        tally.add(Merged(id=made.item.id, sources=sources, why=cluster.why))
        wanted.told(scope, [made.item, *cluster.living])

    async def _made(self, scope: Scope, cluster: Cluster, wanted: Consolidating) -> StoredMemory | None:
        """What is to be stored; None if the model says that they belong apart."""
        leader = (await self._get(scope, [cluster.living[0].id])).get(cluster.living[0].id)
        item = merged(cluster, wanted.new_id(), self._clock())
        if cluster.why == "same":
            if leader is None:
                return None
            text_key, packed = drafts.key_of(item), pack(features(item))
            return replace(leader, item=item, text_key=text_key, key=None, packed=packed)
        text = await wanted.merge(cluster.told) if wanted.merge is not None else None
        if text is None:
            return None
        checked = drafts.make_item(
            NewMemory(content=text, kind=item.kind), scope, item.created_at, {}, wanted.new_id
        )
        item = replace(item, content=checked.content)
        row = (await self._writer.embed([item]))[0]
        return self._writer.stored(item, None, np.ascontiguousarray(row))

    async def _written(self, scope: Scope, cluster: Cluster, made: StoredMemory) -> bool:
        """Whether it took their place; False if one of them changed meanwhile, or another says the same."""
        now = made.item.created_at
        found = await self._get(scope, [item.id for item in cluster.living])
        if any(found.get(item.id) is None or found[item.id].item != item for item in cluster.living):
            return False
        olds = [found[item.id] for item in cluster.living]
        changes = Changes(
            scope=scope,
            updates=[relinked(old, ended(old.item, made.item.id, None, now)) for old in olds],
            inserts=[made],
            unchanged={old.item.id: old.item.updated_at for old in olds},
            whole=True,
        )
        try:
            await self._store.write(changes)
        except (Conflict, NotFound):
            return False
        return True

    async def _duplicates(self, scope: Scope) -> AsyncIterator[Cluster]:
        """The groups that state the same. Only a few bytes of each memory are held at once."""
        alike: dict[bytes, list[str]] = {}
        async for item in self._living(scope, await self._ids(scope)):
            alike.setdefault(fact_key(item.content), []).append(item.id)
        for ids in [ids for ids in alike.values() if len(ids) > 1]:
            for cluster in duplicates([item async for item in self._living(scope, ids)]):
                yield cluster

    async def _tellings(self, scope: Scope) -> AsyncIterator[Cluster]:
        """What a model may be asked about: linked wordings, and statements with older versions."""
        asked: set[str] = set()
        for ids in linked_groups(await self._indexes.view(scope), self._clock()):
            for cluster in wordings([item async for item in self._living(scope, ids)]):
                asked |= {item.id for item in cluster.living}
                yield await self._with_history(scope, cluster)
        heads = sorted({*(await self._indexes.view(scope)).successors.values()} - asked)
        async for item in self._living(scope, heads):
            if not item.merged_from:
                cluster = await self._with_history(scope, Cluster(living=(item,), why="history"))
                if cluster.history:
                    yield cluster

    async def _with_history(self, scope: Scope, cluster: Cluster) -> Cluster:
        """The cluster with the older versions that the same origin said, as they may be told in one text."""
        successors = (await self._indexes.view(scope)).successors
        found = await self._get(scope, older_versions([item.id for item in cluster.living], successors))
        now, leader = self._clock(), cluster.living[0]
        history = [
            got.item
            for got in found.values()
            if not has_expired(got.item, now) and got.item.origin is leader.origin
        ]
        return replace(cluster, history=tuple(history))

    async def _ids(self, scope: Scope) -> list[str]:
        view = await self._indexes.view(scope)
        return [view.ids[row] for row in passing(view, Filters(), self._clock()).nonzero()[0].tolist()]

    async def _living(self, scope: Scope, ids: Sequence[str]) -> AsyncIterator[MemoryItem]:
        """Those of them that hold now and may be merged."""
        for start in range(0, len(ids), PAGE):
            for got in (await self._get(scope, ids[start : start + PAGE])).values():
                lives = got.item.superseded_by is None and not has_expired(got.item, self._clock())
                if lives and is_lasting(got.item):
                    yield got.item

    async def _get(self, scope: Scope, ids: Iterable[str]) -> dict[str, StoredMemory]:
        wanted = list(dict.fromkeys(ids))
        found = await self._store.get(scope, wanted) if wanted else []
        return {got.item.id: got for got in found if got is not None}
