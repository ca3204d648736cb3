"""What integrity and encryption cost: the same work bare and guarded, in turns, in one run.

python -m bench.guards
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from retentive import Memory, NewMemory, open_thread
from retentive.encryption import Encryption, FolderRing
from retentive.integrity import FolderAnchor, Integrity
from retentive.stores.jsonl_threads import JsonlThreadStore

ROUNDS, MEMORIES = 60, 2_000


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        sealed = Integrity(key=b"k" * 32, anchor=FolderAnchor(top / "anchor"))
        secret = Encryption(key=b"e" * 32, ring=FolderRing(top / "ring"))
        options = {"bare": {}, "keyed": {"integrity": sealed}, "encrypted": {"encryption": secret}}
        options["both"] = {"integrity": sealed, "encryption": secret}
        figures: dict[tuple[str, str], list[float]] = {}
        memories, threads = {}, {}
        texts = [f"Parcel {n} lies at pier {n * 7}, shelf {n * 3}." for n in range(MEMORIES)]
        drafts = [NewMemory(content=text) for text in texts]
        for guard, chosen in options.items():
            memories[guard] = Memory(store=f"sqlite:///{top}/{guard}.db", **chosen)
            threads[guard] = await open_thread("t", store=JsonlThreadStore(top / guard), **chosen)
            await memories[guard].remember_many(drafts)
        for turn in range(ROUNDS):
            for guard in options:
                memory, thread = memories[guard], threads[guard]
                for verb, work in {
                    "remember": lambda m=memory, n=turn: m.remember(f"Note {n} is about crane {n * 11}."),
                    "append": lambda t=thread, n=turn: t.append(f"turn {n}"),
                    "recall": lambda m=memory, n=turn: m.recall(f"where is parcel {n}?"),
                }.items():
                    figures.setdefault((guard, verb), []).append(await timed(work))
        for guard, chosen in options.items():
            await memories[guard].close()
            for _ in range(5):
                fresh = Memory(store=f"sqlite:///{top}/{guard}.db", **chosen)
                took = await timed(lambda m=fresh: m.recall("pier"))
                figures.setdefault((guard, "first recall"), []).append(took)
                await fresh.close()
        for verb in ("remember", "append", "recall", "first recall"):
            bare = statistics.median(figures["bare", verb])
            row = [f"{verb:13}"]
            for guard in options:
                median = statistics.median(figures[guard, verb])
                row.append(f"{guard} {median:7.2f} ms ({(median / bare - 1) * 100:+.0f} %)")
            print("  ".join(row))


if __name__ == "__main__":
    asyncio.run(main())
