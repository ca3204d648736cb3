"""A reembed is killed in the middle; run again it moves what is left, and nothing is doubled or lost.

Run as a script this file is such a process: `<this file> <store> <folder> [<moment> <count>]`.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_memory_store_crash import STORES, die_at, say

from retentive import Memory, Scope
from retentive.life import reembed
from retentive.stores.base import MemoryStore
from retentive.testing.embedders import HashingEmbedder

OLD, NEW = HashingEmbedder(8, name="old"), HashingEmbedder(12, name="new")
TEXTS = [f"The box number {number} is in room {number % 7}" for number in range(60)]
MOMENTS = {
    "sqlite": ("before commit", "after commit", "in a transaction"),
    "file": ("half a write", "before fsync", "after fsync"),
}


async def move(kind: str, folder: Path) -> reembed.Reembedded:
    store = STORES[kind](folder)
    try:
        return await Memory(store=store, embedder=NEW).reembed(everyone=True)
    finally:
        await store.close()


def main(kind: str, folder: str, moment: str = "", count: str = "1") -> None:
    reembed.BATCH = 5  # pyright: ignore[reportAttributeAccessIssue]

    async def run() -> None:
        if moment:
            die_at(moment, int(count))
        store = STORES[kind](Path(folder))
        memory = Memory(store=store, embedder=NEW)
        await memory.reembed(everyone=True, progress=lambda done, _: say(done))
        await store.close()

    asyncio.run(run())


async def remembered(kind: str, folder: Path) -> list[str]:
    store = STORES[kind](folder)
    items = await Memory(store=store, embedder=OLD).remember_many(TEXTS)
    await store.close()
    return [item.id for item in items]


async def dimensions(store: MemoryStore, ids: list[str]) -> list[tuple[str, int, str | None]]:
    """For each memory its text, how many numbers its vector has, and whose it is said to be."""
    stored = await store.get(Scope("default"), ids)
    return [(got.item.content, len(got.vector or b"") // 4, got.item.embedder) for got in stored if got]


def start(kind: str, folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, __file__, kind, str(folder)], stdout=subprocess.PIPE)


async def check(kind: str, folder: Path, ids: list[str]) -> int:
    """Every memory is there once, wholly old or wholly new; how many are new."""
    store = STORES[kind](folder)
    held = await dimensions(store, ids)
    rows = (await store.scan(Scope("default"), 0)).rows
    await store.close()
    assert [text for text, _, _ in held] == TEXTS
    assert sorted(row.id for row in rows) == sorted(ids)
    assert {(size, made) for _, size, made in held} <= {(8, "old/8"), (12, "new/12")}
    return sum(size == 12 for _, size, _ in held)


@pytest.mark.parametrize(("kind", "moment"), [(kind, each) for kind, all in MOMENTS.items() for each in all])
async def test_a_killed_reembed_goes_on_where_it_was(kind: str, moment: str, tmp_path: Path) -> None:
    ids = await remembered(kind, tmp_path)
    for count in (12, 25) if moment == "in a transaction" else (3, 5):
        command = [sys.executable, __file__, kind, str(tmp_path), moment, str(count)]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: ASYNC221 - nothing else runs
        assert done.returncode == 9, done.stderr
        told = json.loads((done.stdout.splitlines() or [b"[0]"])[-1])[0]
        assert await check(kind, tmp_path, ids) >= told
    before = await check(kind, tmp_path, ids)
    assert 0 < before < len(TEXTS)
    report = await move(kind, tmp_path)
    assert (report.scanned, report.moved, report.left) == (len(TEXTS) - before, len(TEXTS) - before, 0)
    assert await check(kind, tmp_path, ids) == len(TEXTS)


@pytest.mark.parametrize("kind", STORES)
async def test_a_reembed_killed_from_outside_goes_on_where_it_was(kind: str, tmp_path: Path) -> None:
    ids = await remembered(kind, tmp_path)
    process = start(kind, tmp_path)
    assert process.stdout is not None
    with process, process.stdout as output:
        told = [json.loads(output.readline())[0] for _ in range(3)]
        process.kill()
    assert await check(kind, tmp_path, ids) >= told[-1]
    report = await move(kind, tmp_path)
    assert report.left == 0
    assert await check(kind, tmp_path, ids) == len(TEXTS)


if __name__ == "__main__":
    main(*sys.argv[1:])
