"""How a Batch is written: read, planned, and stored as one change, again if others were faster."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from retentive import drafts
from retentive.clock import Clock, NewId
from retentive.drafts import Lifetimes
from retentive.embedders.base import Vectors
from retentive.errors import Conflict
from retentive.life.batch import Applied, Batch, check_batch
from retentive.life.planning import Known, Plan, version_that_says
from retentive.ranking.restatement import other_use
from retentive.stores.base import MemoryStore, StoredMemory
from retentive.types import MemoryItem, Scope
from retentive.writes import Writer, has_expired

TRIES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A batch, checked, with its new memories and their vectors."""

    scope: Scope
    batch: Batch
    items: Sequence[MemoryItem]
    vectors: Vectors | None
    edits: Mapping[str, Mapping[str, object]]
    now: datetime


class Batches:
    """Writes batches through the Writer's own steps."""

    def __init__(self, store: MemoryStore, writer: Writer, clock: Clock) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock

    async def apply(self, scope: Scope, batch: Batch, lifetimes: Lifetimes, new_id: NewId) -> Applied:
        """Write the batch, all of it or nothing.

        Raises:
            InvalidInput, NotFound, NotTrusted, RedactionError, EmbedderError: nothing was written.
            Conflict: a memory is superseded already, an edit would say what another memory says, a note is
                not as `expected`, or others kept changing the same memories; nothing was written.
        """
        edits, now = check_batch(batch), self._clock()
        items = await self._writer.redacted(drafts.make_items(batch.new, scope, now, lifetimes, new_id))
        vectors = await self._writer.embed(items) if items else None
        asked = _Asked(scope=scope, batch=batch, items=items, vectors=vectors, edits=edits, now=now)
        taken: dict[str, str] = {}
        failure = Conflict("other writers kept changing the same memories; try again")
        for _ in range(TRIES + len(items)):
            plan = Plan(batch, await self._read(asked, taken), now)
            inserts = self._to_store(asked, plan)
            changes = plan.changes(scope, inserts)
            if not (changes.inserts or changes.updates or changes.notes or changes.expected):
                return plan.applied(inserts)
            try:
                await self._store.write(changes)
            except Conflict as error:
                failure = error
            else:
                return plan.applied(inserts)
            if not await self._is_expected(scope, batch):
                break
            taken |= failure.taken
        raise failure

    async def _read(self, asked: _Asked, taken: Mapping[str, str]) -> Known:
        """What is there now; `taken` says who was found to hold the place of a new memory."""
        settled: list[MemoryItem] = []
        if asked.vectors is not None:
            settled = list(await self._writer.compare(asked.items, asked.vectors, asked.now))
        replaced = asked.batch.replaced()
        stored = await self._get(
            asked.scope, [*replaced, *asked.edits, *taken.values(), *(item.id for item in settled)]
        )
        successors = (stored[old].item.superseded_by for old in replaced if old in stored)
        stored |= await self._get(asked.scope, [one for one in successors if one and one not in stored])
        stale = self._give_way(asked, taken, settled, stored)
        for old, place in replaced.items():
            version = version_that_says(stored, old, asked.items[place], asked.batch.new[place].key)
            if version is not None:
                settled[place] = version
        edited = {
            id: await self._writer.edited(stored[id], edit)
            for id, edit in asked.edits.items()
            if id in stored and not has_expired(stored[id].item, asked.now)
        }
        return Known(items=asked.items, settled=settled, stored=stored, edited=edited, stale=stale)

    async def _get(self, scope: Scope, ids: Iterable[str]) -> dict[str, StoredMemory]:
        wanted = list(dict.fromkeys(ids))
        found = await self._store.get(scope, wanted) if wanted else []
        return {got.item.id: got for got in found if got is not None}

    @staticmethod
    def _give_way(
        asked: _Asked,
        taken: Mapping[str, str],
        settled: list[MemoryItem],
        stored: Mapping[str, StoredMemory],
    ) -> list[str]:
        """Settle each new memory whose place is taken on the one that holds it; the expired ones that do.

        Raises:
            Conflict: it is held by a key that was used for another statement.
        """
        stale: list[str] = []
        of_batch = {item.id: settled[place] for place, item in enumerate(asked.items)}
        keys = [draft.key for draft in asked.batch.new]
        for place, item in enumerate(asked.items):
            holder = taken.get(item.id, "")
            if holder in of_batch:
                settled[place] = _of_one_call(item, keys[place], of_batch[holder])
            elif holder in stored and has_expired(stored[holder].item, asked.now):
                stale.append(holder)
            elif holder in stored:
                settled[place] = _of_one_call(item, keys[place], stored[holder].item)
        return stale

    def _to_store(self, asked: _Asked, plan: Plan) -> list[StoredMemory]:
        if asked.vectors is None:
            return []
        rows = zip(asked.items, asked.batch.new, asked.vectors, strict=True)
        return [
            self._writer.stored(plan.fresh[item.id], draft.key, vector)
            for item, draft, vector in rows
            if item.id in plan.fresh
        ]

    async def _is_expected(self, scope: Scope, batch: Batch) -> bool:
        for name, note in batch.expected.items():
            if (await self._store.notes(scope, name)).get(name) != note:
                return False
        return True


def _of_one_call(item: MemoryItem, key: str | None, held: MemoryItem) -> MemoryItem:
    """The memory that has the item's place, if not by a key of another statement."""
    refusal = other_use(item, key, held)
    if refusal is not None:
        raise refusal
    return held
