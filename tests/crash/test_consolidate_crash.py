"""A consolidation is killed in the middle; each group is merged wholly or not, and a second run finishes.

Run as a script this file is such a process: `<this file> <store> <folder> [<moment> <count>]`.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from test_memory_store_crash import STORES, die_at

from retentive import ConsolidateReport, Memory, Scope
from retentive.testing.embedders import HashingEmbedder

BOXES = 10
MOMENTS = {
    "sqlite": ("before commit", "after commit", "in a transaction"),
    "file": ("half a write", "before fsync", "after fsync"),
}


async def consolidated(kind: str, folder: Path) -> ConsolidateReport:
    store = STORES[kind](folder)
    try:
        memory = Memory(store=store, embedder=HashingEmbedder(8))
        return await memory.consolidate(everyone=True, dry_run=False)
    finally:
        await store.close()


def main(kind: str, folder: str, moment: str = "", count: str = "1") -> None:
    if moment:
        die_at(moment, int(count))
    asyncio.run(consolidated(kind, Path(folder)))


async def remembered(kind: str, folder: Path) -> list[list[str]]:
    store, pairs = STORES[kind](folder), list[list[str]]()
    memory = Memory(store=store, embedder=HashingEmbedder(8))
    for box in range(BOXES):
        text = f"The box {box} is in room {box}"
        pairs.append([(await memory.remember(text, origin=origin)).id for origin in ("tool", "user")])
    await store.close()
    return pairs


async def check(kind: str, folder: Path, pairs: list[list[str]]) -> int:
    """Both of a pair are superseded by one that names them, or neither is; how many pairs are merged."""
    store, merged = STORES[kind](folder), 0
    for ids in pairs:
        held = [got.item for got in await store.get(Scope("default"), ids) if got is not None]
        assert len(held) == 2
        successor = held[0].superseded_by
        assert held[1].superseded_by == successor
        if successor is not None:
            (one,) = await store.get(Scope("default"), [successor])
            assert one is not None
            assert one.item.merged_from == tuple(ids)
            merged += 1
    rows = (await store.scan(Scope("default"), 0)).rows
    assert len(rows) == 2 * len(pairs) + merged
    await store.close()
    return merged


@pytest.mark.parametrize(("kind", "moment"), [(kind, each) for kind, all in MOMENTS.items() for each in all])
async def test_a_killed_consolidation_goes_on_where_it_was(kind: str, moment: str, tmp_path: Path) -> None:
    pairs = await remembered(kind, tmp_path)
    for count in (9, 17) if moment == "in a transaction" else (3, 4):
        command = [sys.executable, __file__, kind, str(tmp_path), moment, str(count)]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: ASYNC221 - nothing else runs
        assert done.returncode == 9, done.stderr
    before = await check(kind, tmp_path, pairs)
    assert 0 < before < BOXES
    assert (await consolidated(kind, tmp_path)).total == BOXES - before
    assert await check(kind, tmp_path, pairs) == BOXES
    assert (await consolidated(kind, tmp_path)).total == 0


if __name__ == "__main__":
    main(*sys.argv[1:])
