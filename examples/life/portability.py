"""One archive goes around all stores and stays equal. Run it: python examples/life/portability.py"""

import asyncio
import tempfile
from itertools import pairwise
from pathlib import Path

from retentive import Memory, open_thread
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore


async def main(folder: Path) -> None:
    base = folder.as_posix()
    urls = ["memory://", f"sqlite:///{base}/m.db", f"file:///{base}/memories", "memory://"]
    stops = [Memory(store=url) for url in urls]
    logs = [InMemoryThreadStore(), JsonlThreadStore(folder / "threads"), InMemoryThreadStore()]
    logs.append(JsonlThreadStore(folder / "more"))

    old = await stops[0].remember("The office is in Oslo.", user_id="ann", tags=["hq"])
    await stops[0].supersede(old.id, "The office is in Bergen.", user_id="ann")
    await (await open_thread("ticket-7", store=logs[0])).append("Where is the office?")
    for number, (here, there) in enumerate(pairwise(zip(stops, logs, strict=True))):
        archive = folder / f"{number}.zip"
        await here[0].export(archive, threads=here[1])
        report = await there[0].import_(archive, threads=there[1])
        print(report.imported, report.threads)
    # > 2 1
    # > 2 1
    # > 2 1
    stories = [await memory.history(old.id, user_id="ann") for memory in stops]
    turns = [(await open_thread("ticket-7", store=log)).messages() for log in logs]
    print(all(story == stories[0] for story in stories), all(told == turns[0] for told in turns))
    # > True True
    for memory in stops:
        await memory.close()


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(Path(place)))
