"""An import is killed; what it took is whole, and a second import completes it.

Run as a script this file is such a process: `<this file> <store> <folder>`.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from retentive import Memory, Source
from retentive.drafts import NewMemory
from retentive.stores.base import MemoryStore, NewTurn
from retentive.stores.file import FileStore
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.sqlite import SQLiteStore
from retentive.testing.clocks import START
from retentive.testing.embedders import HashingEmbedder

STORES: dict[str, Callable[[Path], MemoryStore]] = {
    "sqlite": lambda folder: SQLiteStore(folder / "memory.db"),
    "file": lambda folder: FileStore(folder / "memories"),
}
COUNT, THREADS, TURNS = 1_000, 4, 700


def memory_on(store: MemoryStore) -> Memory:
    return Memory(store=store, embedder=HashingEmbedder(8))


async def take(kind: str, folder: Path, told: Callable[[int], object]) -> tuple[int, int]:
    """Import the archive of the folder; how many memories and turns were new."""
    store, threads = STORES[kind](folder), JsonlThreadStore(folder / "threads")
    report = await memory_on(store).import_(folder / "all.zip", threads=threads, progress=told)
    await store.close()
    await threads.close()
    assert report.refused == 0
    return report.imported, report.turns


async def exported(kind: str, folder: Path) -> bytes:
    store, threads = STORES[kind](folder), JsonlThreadStore(folder / "threads")
    await memory_on(store).export(folder / "again.zip", threads=threads, vectors=True)
    await store.close()
    await threads.close()
    return await asyncio.to_thread((folder / "again.zip").read_bytes)


async def make_archive(path: Path) -> None:
    memory, threads = memory_on(InMemoryStore()), InMemoryThreadStore()
    for user in ("ann", "ben"):
        drafts = [
            NewMemory(content=f"turn {n}", kind="episodic", source=Source(thread="t0", turns=(n + 1,)))
            for n in range(COUNT // 2)
        ]
        await memory.remember_many(drafts, user_id=user)
    for thread in range(THREADS):
        turns = [NewTurn(id=str(n), role="user", content=f"turn {n}", at=START) for n in range(TURNS)]
        await threads.append("default", f"t{thread}", turns, 0)
    await memory.export(path, threads=threads, vectors=True)


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("records", [1, 400, COUNT, COUNT + TURNS])
async def test_a_killed_import_is_completed_by_a_second(kind: str, records: int, tmp_path: Path) -> None:
    await make_archive(tmp_path / "all.zip")
    original = await asyncio.to_thread((tmp_path / "all.zip").read_bytes)
    process = await asyncio.to_thread(
        subprocess.Popen, [sys.executable, __file__, kind, str(tmp_path)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process, process.stdout as output:
        done = 0
        while done < records:
            done += int(await asyncio.to_thread(output.readline))
        process.kill()
    new_memories, new_turns = await take(kind, tmp_path, lambda _: None)
    assert new_memories <= COUNT - min(done, COUNT)
    assert new_turns <= THREADS * TURNS - max(0, done - COUNT)
    assert await exported(kind, tmp_path) == original
    assert await take(kind, tmp_path, lambda _: None) == (0, 0)


def say(step: int) -> None:
    os.write(1, b"%d\n" % step)


if __name__ == "__main__":
    asyncio.run(take(sys.argv[1], Path(sys.argv[2]), say))
