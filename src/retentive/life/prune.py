"""Letting go of what a policy says is not worth keeping, some at a time, each time in one atomic change.

What is left to do is never written down: it is what the policy condemns. So a run that is killed goes on
where it was, and two runs at once only share the work.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from retentive.clock import Clock
from retentive.indexes import ScopeIndexes
from retentive.life.erase import Erased, Erasing, Going
from retentive.life.lineage import older_versions_first
from retentive.life.reports import MAX_LISTED, Progress, PruneReport
from retentive.life.traces import Tracing
from retentive.ranking.pruning import condemned
from retentive.ranking.retention import RetentionPolicy, Uses
from retentive.stores.base import MemoryStore
from retentive.types import Scope
from retentive.uses import UseNotes

BATCH: Final = 256
HISTORY: Final = "history"

Told: TypeAlias = Callable[[Scope, Sequence[Going]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """What is to be pruned, and who is told of each batch and of how far it is."""

    policy: RetentionPolicy
    dry_run: bool
    told: Told
    progress: Progress


@dataclass(slots=True)
class _Tally:
    """The run so far."""

    total: int = 0
    scanned: int = 0
    removed: Counter[str] = field(default_factory=Counter[str])
    ids: list[str] = field(default_factory=list[str])

    def add(self, gone: Sequence[str], reasons: Mapping[str, str]) -> None:
        self.removed.update(reasons.get(id, HISTORY) for id in gone)
        self.ids += gone[: MAX_LISTED - len(self.ids)]


class Pruner:
    """Finds and removes what a policy condemns."""

    def __init__(self, store: MemoryStore, indexes: ScopeIndexes, erasing: Erasing, clock: Clock) -> None:
        self._indexes = indexes
        self._erasing = erasing
        self._uses = UseNotes(store)
        self._clock = clock

    async def prune(self, scopes: Sequence[Scope], wanted: Pruning) -> PruneReport:
        """Remove what the policy condemns in each scope, or in a dry run only say so."""
        tally = _Tally()
        for scope in scopes:
            uses = await self._uses.read(scope)
            reasons = await self._condemned(scope, wanted.policy, uses)
            tally.scanned += len(await self._indexes.view(scope))
            tally.total += len(reasons)
            if wanted.dry_run:
                tally.add(list(reasons), reasons)
                continue
            ids = list(reasons)
            for start in range(0, len(ids), BATCH):
                await self._remove(scope, ids[start : start + BATCH], uses, wanted, tally)
        return PruneReport(
            dry_run=wanted.dry_run,
            scopes=len(scopes),
            scanned=tally.scanned,
            removed=dict(tally.removed),
            ids=tuple(tally.ids),
        )

    async def _condemned(self, scope: Scope, policy: RetentionPolicy, uses: Uses) -> dict[str, str]:
        """By id why each goes, an older version before what took its place."""
        view = await self._indexes.view(scope)
        reasons = condemned(view, policy, self._clock(), uses)
        there = set(view.ids)
        ordered = [id for id in older_versions_first(reasons, view.successors) if id in there]
        return {id: reasons.get(id, HISTORY) for id in ordered}

    async def _remove(
        self, scope: Scope, batch: Sequence[str], uses: Uses, wanted: Pruning, tally: _Tally
    ) -> None:
        """Remove those of the batch that the policy condemns still; others may write meanwhile."""
        reasons = await self._condemned(scope, wanted.policy, uses)
        ids = await self._erasing.versions(scope, [id for id in batch if id in reasons])
        erased = Erased(tracing=Tracing(), gone=await self._erasing.look(scope, ids, None))
        await self._erasing.erase(scope, ids, erased, {})
        gone = [erased.gone[id] for id in ids if id in erased.gone]
        tally.add([one.id for one in gone], reasons)
        if gone:
            wanted.told(scope, gone)
        wanted.progress(tally.removed.total(), max(tally.total, tally.removed.total()))
