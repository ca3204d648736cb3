"""From a store to an archive: batch after batch, what has expired left out, history kept."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, TypeAlias

from retentive.archive.lines import memory_to_line, turn_to_line
from retentive.archive.manifest import MEMORIES, THREADS
from retentive.archive.report import ExportReport
from retentive.archive.writing import ArchiveWriter, MemberWriter, target
from retentive.stores.base import MemoryStore, StoredMemory, ThreadStore
from retentive.stores.wrapped import check_guarded, ids_of
from retentive.types import MemoryItem, Scope

BATCH = 200
Told: TypeAlias = Callable[[Scope, Sequence[MemoryItem]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What is to be exported, and from where. `now` decides what has expired."""

    namespace: str
    store: MemoryStore
    scopes: Sequence[Scope]
    threads: ThreadStore | None
    thread_ids: Sequence[str]
    vectors: bool
    now: datetime


async def export_to(place: str | Path | BinaryIO, wanted: Export, told: Told) -> ExportReport:
    """Write the archive. `told` hears of each batch of memories once it is in it.

    Raises:
        StoreUnavailable: the file cannot be written; a path is as it was before.
        StoreError: the stores cannot be read; likewise.
    """
    with target(place) as file:
        with ArchiveWriter(file) as writer:
            with writer.member(MEMORIES) as member:
                users = {
                    scope.user_id: count
                    for scope in wanted.scopes
                    if (count := await _memories(member, scope, wanted, told))
                }
            threads, turns, damaged = 0, 0, list[str]()
            if wanted.threads is not None:
                with writer.member(THREADS) as member:
                    threads, turns, damaged = await _threads(member, wanted.threads, wanted)
            writer.finish(wanted.namespace, users, threads)
        size_bytes = file.tell()
    return ExportReport(
        memories=sum(users.values()),
        threads=threads,
        turns=turns,
        scopes=tuple(Scope(wanted.namespace, user) for user in users),
        size_bytes=size_bytes,
        damaged=tuple(damaged),
    )


async def _memories(member: MemberWriter, scope: Scope, wanted: Export, told: Told) -> int:
    count, there = 0, set[str]()
    async for batch in _living(wanted.store, scope, wanted.now):
        there.update(memory.item.id for memory in batch)
        await asyncio.to_thread(_write, member, batch, there, wanted.vectors)
        count += len(batch)
        told(scope, [memory.item for memory in batch])
    return count


def _write(member: MemberWriter, batch: Iterable[StoredMemory], there: set[str], vectors: bool) -> None:
    member.write(memory_to_line(_linked(memory, there), vectors=vectors) for memory in batch)


def _linked(memory: StoredMemory, there: set[str]) -> StoredMemory:
    """The memory without a link to one that is not in the archive."""
    if memory.item.near is None or memory.item.near in there:
        return memory
    return replace(memory, item=replace(memory.item, near=None))


async def _living(
    store: MemoryStore, scope: Scope, now: datetime
) -> AsyncGenerator[list[StoredMemory], None]:
    """The memories of the scope that have not expired, by id, a batch at a time."""
    ids = await ids_of(store, scope)
    for start in range(0, len(ids), BATCH):
        held = await store.get(scope, ids[start : start + BATCH])
        batch = [one for one in held if one and (one.item.expires_at is None or one.item.expires_at > now)]
        if batch:
            yield batch


async def _threads(member: MemberWriter, store: ThreadStore, wanted: Export) -> tuple[int, int, list[str]]:
    threads, turns, damaged = 0, 0, list[str]()
    for name in sorted(set(wanted.thread_ids)):
        read = await store.turns(wanted.namespace, name)
        check_guarded(name, read.turns)
        if read.damage:
            damaged.append(name)
        if read.turns:
            lines = (turn_to_line(name, turn) for turn in read.turns)
            await asyncio.to_thread(member.write, lines)
            threads, turns = threads + 1, turns + len(read.turns)
    return threads, turns, damaged
