"""A worker that dies at any moment leaves no hole and no double among the memories of a thread."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from retentive import Memory
from retentive.extraction import Extraction
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.threads import Thread

TURNS = 24
WORKER = """
import asyncio, os, sys
from pathlib import Path
from retentive import Memory
from retentive.extraction import Extraction, ExtractionLimits, Statement
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.urls import open_store

url, home, moment, number = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])

class EveryTurn:
    needs_model = False
    asked = 0

    async def extract(self, excerpt):
        self.asked += 1
        if moment == "answer" and self.asked == number:
            os._exit(9)
        return [Statement(content=turn.content, turns=(turn.seq,)) for turn in excerpt.turns]

async def main():
    store = open_store(url, home=home)
    really, count = store.write, 0

    async def write(changes):
        nonlocal count
        count += 1
        if moment == "before" and count == number:
            os._exit(9)
        written = await really(changes)
        if moment == "after" and count == number:
            os._exit(9)
        return written

    store.write = write
    if moment in ("fsync", "write"):
        call, calls = getattr(os, moment), iter(range(1, 1 << 30))

        def dying(*args):
            if next(calls) == number:
                os._exit(9)
            return call(*args)

        setattr(os, moment, dying)
    async with Memory(store=store) as memory:
        limits = ExtractionLimits(window_turns=2)
        threads = JsonlThreadStore(home / "threads")
        extraction = Extraction(memory, EveryTurn(), threads=threads, limits=limits)
        for backlog in await extraction.backlogs():
            sys.stdout.write("begun\\n")
            sys.stdout.flush()
            await extraction.extract(backlog)

asyncio.run(main())
"""


class Place:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.threads = JsonlThreadStore(folder / "threads")

    def start(self, moment: str = "never", number: int = 0) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", WORKER, self.url, str(self.folder), moment, str(number)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    async def prepare(self) -> None:
        thread = Thread(self.threads, "default", "t")
        async with Memory(store=self.url) as memory:
            await Extraction(memory, threads=self.threads).begin_thread("default", "t", user_id="ada")
        await thread.append_many(f"The code of drawer {n} is {n * 7919}." for n in range(TURNS))

    async def remembered(self) -> list[str]:
        async with Memory(store=self.url) as memory:
            page = await memory.list(user_id="ada", limit=1_000)
            return [item.content for item in page.items]

    async def left(self) -> int:
        async with Memory(store=self.url) as memory:
            return sum(one.waiting for one in await Extraction(memory, threads=self.threads).backlogs())

    def check(self) -> None:
        """No double, no hole: what is remembered are the turns before the watermark, each once."""
        found, left = asyncio.run(self.remembered()), asyncio.run(self.left())
        assert Counter(found) == Counter(
            f"The code of drawer {n} is {n * 7919}." for n in range(TURNS - left)
        )

    def finish(self) -> None:
        process = self.start()
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
        assert asyncio.run(self.left()) == 0
        self.check()


@pytest.fixture(params=["sqlite", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    path = (tmp_path / "memories").as_posix()
    place = Place(tmp_path, f"sqlite:///{path}.db" if request.param == "sqlite" else f"file://{path}")
    asyncio.run(place.prepare())
    return place


@pytest.mark.parametrize(
    ("moment", "numbers"),
    [("answer", (2,)), ("before", (1, 3)), ("after", (1, 3)), ("fsync", (2,)), ("write", (2,))],
)
def test_a_worker_that_ends_between_answer_write_and_return_leaves_no_hole_and_no_double(
    place: Place, moment: str, numbers: tuple[int, ...]
) -> None:
    for number in numbers:
        process = place.start(moment, number)
        _, errors = process.communicate(timeout=60)
        if moment in ("answer", "before", "after"):
            assert process.returncode == 9, errors.decode()
        place.check()
    place.finish()


def test_a_worker_killed_at_any_moment_leaves_no_hole_and_no_double(place: Place) -> None:
    moments = random.Random(5)
    for _ in range(3):
        process = place.start()
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(timeout=moments.random() * 0.02)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        process.communicate()
        place.check()
    place.finish()


def test_two_workers_at_once_leave_no_hole_and_no_double(place: Place) -> None:
    workers = [place.start() for _ in range(2)]
    for worker in workers:
        _, errors = worker.communicate(timeout=60)
        assert worker.returncode == 0, errors.decode()
    place.check()
    place.finish()


if os.name == "nt":  # pragma: no cover
    pytestmark = pytest.mark.skip(reason="SIGKILL and fault injection by os.* are POSIX")
