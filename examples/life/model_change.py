"""Another embedder: a reembed killed, and resumed. Run it: python examples/life/model_change.py"""

import asyncio
import os
import subprocess
import sys
import tempfile

from retentive import Memory
from retentive.testing.embedders import HashingEmbedder

OLD, NEW = HashingEmbedder(64, name="old"), HashingEmbedder(96, name="new")


def die(done: int, total: int) -> None:
    print(f"killed after {done} of {total}", flush=True)
    os._exit(9)  # as kill -9 would


async def move(url: str) -> None:
    async with Memory(store=url, embedder=NEW) as memory:
        await memory.reembed(everyone=True, progress=die)


async def main(url: str) -> None:
    async with Memory(store=url, embedder=OLD) as memory:
        await memory.remember_many([f"Box {n} is in room {n % 7}." for n in range(600)])
    subprocess.run([sys.executable, __file__, url], check=False)
    # > killed after ... of 600
    async with Memory(store=url, embedder=NEW) as memory:
        found = await memory.recall("box 7")  # what still has an old vector is found by its words
        print(found[0].content, "|", *found.degraded)
        # > Box 7 is in room 0. | vector
        report = await memory.reembed(everyone=True)
        print(0 < report.moved < 600, report.left, (await memory.recall("box 7")).degraded)
        # > True 0 {}


with tempfile.TemporaryDirectory() as place:
    asyncio.run(move(sys.argv[1]) if sys.argv[1:] else main(f"sqlite:///{place}/m.db"))
