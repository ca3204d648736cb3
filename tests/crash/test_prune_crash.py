"""A prune is killed in the middle; what is left is whole, and a second run finishes.

Run as a script this file is such a process: `<this file> <store> <folder> [<moment> <count>]`.
"""

import asyncio
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from test_memory_store_crash import STORES, die_at, say

from retentive import Memory, PruneReport, RetentionPolicy, Scope
from retentive.life import prune
from retentive.testing.clocks import FakeClock
from retentive.testing.embedders import HashingEmbedder

BOXES, VERSIONS = 12, 4
POLICY = RetentionPolicy(max_age=timedelta(days=30))
MOMENTS = {
    "sqlite": ("before commit", "after commit", "in a transaction"),
    "file": ("half a write", "before fsync", "after fsync"),
}


async def pruned(kind: str, folder: Path) -> PruneReport:
    store = STORES[kind](folder)
    clock = FakeClock()
    clock.move(days=60)
    try:
        memory = Memory(store=store, embedder=HashingEmbedder(8), clock=clock)
        return await memory.prune(POLICY, everyone=True, dry_run=False, progress=lambda done, _: say(done))
    finally:
        await store.close()


def main(kind: str, folder: str, moment: str = "", count: str = "1") -> None:
    prune.BATCH = 3  # pyright: ignore[reportAttributeAccessIssue]
    if moment:
        die_at(moment, int(count))
    asyncio.run(pruned(kind, Path(folder)))


async def remembered(kind: str, folder: Path) -> list[list[str]]:
    """The ids of the versions of each box, and one memory that stays."""
    store, clock, chains = STORES[kind](folder), FakeClock(), list[list[str]]()
    memory = Memory(store=store, embedder=HashingEmbedder(8), clock=clock)
    for box in range(BOXES):
        ids = [(await memory.remember(f"The box {box} is in room 0")).id]
        for room in range(1, VERSIONS):
            ids.append((await memory.supersede(ids[-1], f"The box {box} is in room {room}")).id)
        chains.append(ids)
    clock.move(days=59)
    chains.append([(await memory.remember("Nobody has the key.")).id])
    await store.close()
    return chains


async def check(kind: str, folder: Path, chains: list[list[str]]) -> int:
    """Of each chain only the oldest versions may be gone, and what stays leads nowhere else; how many are."""
    store = STORES[kind](folder)
    gone = 0
    for ids in chains:
        held = await store.get(Scope("default"), ids)
        there = [got is not None for got in held]
        assert there == sorted(there)
        gone += there.count(False)
        for before, got, after in zip([None, *held], held, [*ids[1:], None], strict=False):
            if got is not None:
                assert got.item.superseded_by == after
                assert got.item.supersedes == (before.item.id if before is not None else None)
    rows = (await store.scan(Scope("default"), 0)).rows
    assert len(rows) == sum(map(len, chains)) - gone
    await store.close()
    return gone


@pytest.mark.parametrize(("kind", "moment"), [(kind, each) for kind, all in MOMENTS.items() for each in all])
async def test_a_killed_prune_goes_on_where_it_was(kind: str, moment: str, tmp_path: Path) -> None:
    chains = await remembered(kind, tmp_path)
    for count in (20, 41) if moment == "in a transaction" else (3, 5):
        command = [sys.executable, __file__, kind, str(tmp_path), moment, str(count)]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: ASYNC221 - nothing else runs
        assert done.returncode == 9, done.stderr
        told = json.loads((done.stdout.splitlines() or [b"[0]"])[-1])[0]
        assert await check(kind, tmp_path, chains) >= told
    before = await check(kind, tmp_path, chains)
    assert 0 < before < BOXES * VERSIONS
    report = await pruned(kind, tmp_path)
    assert report.total == BOXES * VERSIONS - before
    assert await check(kind, tmp_path, chains) == BOXES * VERSIONS
    assert (await pruned(kind, tmp_path)).total == 0


if __name__ == "__main__":
    main(*sys.argv[1:])
