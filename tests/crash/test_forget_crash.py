"""A process that forgets a user is killed at any step; what is left is whole, and the same call finishes.

Run as a script this file is such a process: `<this file> <store> <folder> [<moment> <count>]`.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from test_memory_store_crash import STORES, die_at, say

from retentive import Memory, Receipt, Source
from retentive.life.batch import Batch
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.testing.embedders import HashingEmbedder
from retentive.threads import open_thread
from retentive.types import REDACTED

MARKER = b"quixotic"
SAID = "The quixotic password of the vault is number"
MOMENTS = {
    "sqlite": ("before commit", "after commit", "in a transaction", "before fsync", "before replace"),
    "file": ("half a write", "before fsync", "after fsync", "before replace", "after replace"),
}


async def forget(kind: str, folder: Path) -> Receipt:
    store = STORES[kind](folder / "memories")
    try:
        return await Memory(store=store, embedder=HashingEmbedder()).forget_user("ada", threads=folder)
    finally:
        await store.close()


def main(kind: str, folder: str, moment: str = "", count: str = "1") -> None:
    if moment:
        die_at(moment, int(count))
    say(len(asyncio.run(forget(kind, Path(folder))).ids))


async def fill(kind: str, folder: Path) -> None:
    for name in ("one", "two"):
        thread = await open_thread(name, home=folder)
        await thread.append_many([{"content": SAID + name, "metadata": {"user_id": "ada"}}] * 3)
    shared = await open_thread("shared", home=folder)
    for user in ("ada", "bob"):
        await shared.append(SAID if user == "ada" else "Bob rows.", metadata={"user_id": user})
    store = STORES[kind](folder / "memories")
    memory = Memory(store=store, embedder=HashingEmbedder())
    source = Source(thread="shared", turns=(1,))
    for number in range(5):
        await memory.remember(f"{SAID} {number}", user_id="ada", source=source)
    await memory.apply(Batch(notes={"exchange/r": SAID.encode()}), user_id="ada")
    await memory.remember("Bob rows.", user_id="bob")
    await store.close()


async def check_whole(kind: str, folder: Path) -> None:
    """Ada's memories are all there or none is, each thread is whole or gone, and Bob lost nothing."""
    threads = JsonlThreadStore(folder / "threads")
    for name in await threads.threads("default"):
        read = await threads.turns("default", name)
        said = [turn.content for turn in read.turns]
        assert not read.damage
        assert said in ([SAID + name] * 3, [SAID, "Bob rows."], [REDACTED, "Bob rows."])
    assert "shared" in await threads.threads("default")
    await threads.close()
    store = STORES[kind](folder / "memories")
    memory = Memory(store=store, embedder=HashingEmbedder())
    assert await memory.count(user_id="ada") in (0, 5)
    assert await memory.count(user_id="bob") == 1
    await store.close()


@pytest.mark.parametrize(
    ("kind", "moment"), [(kind, moment) for kind, moments in MOMENTS.items() for moment in moments]
)
def test_forgetting_a_user_survives_a_kill_at_any_step(tmp_path: Path, kind: str, moment: str) -> None:
    died = 0
    for count in (1, 2, 4):
        folder = tmp_path / str(count)
        asyncio.run(fill(kind, folder))
        command = [sys.executable, __file__, kind, str(folder), moment, str(count)]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
        assert done.returncode in (0, 9), done.stderr.decode()
        died += done.returncode == 9
        asyncio.run(check_whole(kind, folder))
        asyncio.run(forget(kind, folder))
        asyncio.run(check_whole(kind, folder))
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert [path.name for path in files if MARKER in path.read_bytes()] == []
        assert {path.name for path in files if ".new" in path.name} == set()
        assert not asyncio.run(forget(kind, folder))
    assert died


if __name__ == "__main__":
    main(*sys.argv[1:])
