"""Forgetting as a whole: the turns that memories came from, the memories, and the notes of their scope.

Memories and threads are in two stores, which no transaction spans. So the threads go first and the memories,
which lead to them, last: after a crash the same call finishes what is left.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retentive.clock import Clock
from retentive.errors import Conflict, NotFound, StoreCorrupt
from retentive.indexes import ScopeIndexes
from retentive.life.echoes import exchanges_with
from retentive.life.erase import Erased, Erasing, Going
from retentive.life.receipts import receipt_of
from retentive.life.taking_back import (
    Place,
    Plan,
    Taken,
    check_power,
    notes_of,
    places_in,
    plan_thread,
    plan_turns,
    plan_user,
    sources_of,
    summaries_of,
    take_back,
)
from retentive.life.traces import Tracing
from retentive.life.unmerge import Unmerging
from retentive.stores.base import Changes, MemoryStore, ThreadStore
from retentive.types import Receipt, Scope

ERASING: Final = "erasing"
"""The note of a scope whose user is being forgotten: it names the threads, and stays until all is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The receipt, and what is known of the memories that went, by scope."""

    receipt: Receipt
    gone: Mapping[Scope, Sequence[Going]]


class Removal:
    """Removes, and gives receipts."""

    def __init__(self, store: MemoryStore, erasing: Erasing, indexes: ScopeIndexes, clock: Clock) -> None:
        self._store = store
        self._erasing = erasing
        self._indexes = indexes
        self._unmerging = Unmerging(store, indexes, clock)
        self._clock = clock

    async def forget(self, scope: Scope, memory_id: str, threads: ThreadStore | None) -> Removed:
        """Remove the memory, its older versions, and the exchanges of runs that were shown it and say it.

        With `threads` the turns they all came from are redacted.
        """
        wanted = await self._erasing.versions(scope, [memory_id])
        said = await exchanges_with(self._store, self._indexes, scope, wanted)
        return await self._memories({scope: ([*wanted, *said], [memory_id, *said])}, threads, said=said)

    async def clear(
        self,
        wanted: Mapping[Scope, Sequence[str] | None],
        threads: ThreadStore | None,
        *,
        everyone: Scope | None,
    ) -> Removed:
        """Remove these memories of each scope (None: all, and the notes); one receipt."""
        asked = {scope: (None if ids is None else (ids, ids)) for scope, ids in wanted.items()}
        return await self._memories(asked, threads, everyone)

    async def _memories(
        self,
        wanted: Mapping[Scope, tuple[Sequence[str], Sequence[str]] | None],
        threads: ThreadStore | None,
        everyone: Scope | None = None,
        said: Collection[str] = (),
    ) -> Removed:
        """Remove from each scope these memories, of which the second ones were asked for; None: all of it.

        What waits to be drawn from the exchanges in `said` goes with them.
        """
        tracing, at = Tracing(), self._clock()
        erased: dict[Scope, Erased] = {}
        taken: list[Taken] = []
        for scope, ids in wanted.items():
            erased[scope] = Erased(tracing=tracing)
            if ids is not None or threads is not None:
                some = ids[0] if ids is not None else await self._erasing.ids(scope)
                erased[scope].gone = await self._erasing.look(scope, some, tracing)
            notes: dict[str, bytes] = {}
            if runs := {one.run for one in erased[scope].gone.values() if one.id in said and one.run}:
                notes = notes_of(await self._store.notes(scope), (), runs)
            if threads is not None and erased[scope].gone:
                going, kept = erased[scope].gone.values(), await self._store.notes(scope)
                sources = sources_of(going, kept, scope.namespace)
                plans = await plan_turns(threads, sources, scope.user_id)
                taken.append(await take_back(threads, plans, at, tracing))
                notes |= _told(kept, sources, going)
            if ids is None:
                erased[scope] = await self._erasing.erase_all(scope, tracing)
            else:
                await self._erasing.erase(scope, ids[1], erased[scope], notes)
        of = everyone or next(iter(wanted))
        receipt = receipt_of(of, list(erased.values()), at, _sum(taken), everyone=everyone is not None)
        return Removed(receipt=receipt, gone=_by_scope(erased))

    async def thread(self, scope: Scope, place: Place, threads: ThreadStore) -> Removed:
        """Remove the thread, or the user's turns of it, the memories that came from it, and its notes."""
        tracing, at = Tracing(), self._clock()
        taken = await take_back(threads, await plan_thread(threads, place, scope.user_id), at, tracing)
        apart = await self._take_apart(scope, place[1], tracing)
        asked = await self._erasing.from_thread(scope, place[1])
        wanted = await self._erasing.versions(scope, asked)
        erased = Erased(tracing=tracing, gone=await self._erasing.look(scope, wanted, tracing))
        notes = notes_of(await self._store.notes(scope), [place])
        await self._erasing.erase(scope, asked, erased, notes)
        erased.gone = {**apart, **erased.gone}
        receipt = receipt_of(scope, [erased], at, taken)
        return Removed(receipt=receipt, gone=_by_scope({scope: erased}))

    async def _take_apart(self, scope: Scope, thread: str, tracing: Tracing) -> dict[str, Going]:
        """Unmerge what was made of memories of the thread and of others, so that those can stay.

        Gives what went for it. What cannot be taken apart stays, and is as a whole of the thread.
        """
        apart: dict[str, Going] = {}
        for memory_id in await self._erasing.merged_from_thread(scope, thread):
            going = await self._erasing.look(scope, [memory_id], tracing)
            try:
                await self._unmerging.unmerge(scope, memory_id)
            except (NotFound, Conflict):
                continue
            apart.update(going)
        return apart

    async def user(self, scope: Scope, threads: ThreadStore, also: Collection[Place]) -> Removed:
        """Remove all that there is of a user: turns and threads, then memories and notes."""
        tracing, at = Tracing(), self._clock()
        plans = await self._plans(scope, threads, also)
        check_power(threads, plans)
        await self._mark(scope, plans)
        taken = await take_back(threads, plans, at, tracing)
        erased = await self._erasing.erase_all(scope, tracing)
        erased.notes -= bool(plans)  # the mark is no news
        receipt = receipt_of(scope, [erased], at, taken)
        return Removed(receipt=receipt, gone=_by_scope({scope: erased}))

    async def _plans(self, scope: Scope, threads: ThreadStore, also: Collection[Place]) -> list[Plan]:
        assert scope.user_id is not None
        notes = await self._store.notes(scope)
        known = {*places_in(notes), *_marked(notes.get(ERASING)), *also}
        namespaces = sorted({scope.namespace, *(namespace for namespace, _ in known)})
        if not any([await threads.threads(namespace) for namespace in namespaces]):
            return []
        going = await self._erasing.look(scope, await self._erasing.ids(scope), None)
        sources = sources_of(going.values(), notes, scope.namespace)
        return await plan_user(threads, scope.user_id, namespaces, known, sources)

    async def _mark(self, scope: Scope, plans: Sequence[Plan]) -> None:
        if plans:
            deleted = [list(plan.place) for plan in plans if plan.deletes]
            note = json.dumps({"threads": deleted}).encode()
            await self._store.write(Changes(scope=scope, notes={ERASING: note}))


def _told(kept: Mapping[str, bytes], sources: Iterable[Place], going: Iterable[Going]) -> dict[str, bytes]:
    """The notes that tell what is redacted: summaries of these threads, and the exchanges of the runs."""
    runs = {one.run for one in going if one.run is not None}
    summaries = summaries_of(sources)
    return notes_of(kept, (), runs) | {name: note for name, note in kept.items() if name in summaries}


def _marked(note: bytes | None) -> list[Place]:
    if note is None:
        return []
    try:
        return [(namespace, thread) for namespace, thread in json.loads(note)["threads"]]
    except (ValueError, TypeError, LookupError) as error:
        raise StoreCorrupt(f"note {ERASING!r} is not what forget_user writes: {error}") from error


def _sum(taken: Sequence[Taken]) -> Taken:
    turns: dict[str, tuple[int, ...]] = {}
    for each in taken:
        for thread, seqs in each.turns.items():
            turns[thread] = turns.get(thread, ()) + seqs
    return Taken(
        threads=tuple(thread for each in taken for thread in each.threads),
        turns=turns,
        count=sum(each.count for each in taken),
    )


def _by_scope(erased: Mapping[Scope, Erased]) -> dict[Scope, Sequence[Going]]:
    return {scope: list(each.gone.values()) for scope, each in erased.items()}
