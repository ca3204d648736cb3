"""The handed case of writes that end half-way: cancelled anywhere, or failing between two statements."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from retentive import Memory, StoreError, open_thread
from retentive.drafts import NewMemory
from retentive.testing.embedders import HashingEmbedder
from retentive.testing.places import Place

OTHER = """
import asyncio, sys
from pathlib import Path
from retentive import Memory, open_thread
from retentive.testing.embedders import HashingEmbedder
from retentive.testing.places import KINDS_OF_STORE
async def main():
    kind, folder = sys.argv[1], Path(sys.argv[2])
    if kind == "thread":
        write = (await open_thread("t", home=folder)).append
    else:
        write = Memory(store=KINDS_OF_STORE[kind](folder), embedder=HashingEmbedder()).remember
    for line in sys.stdin:
        await asyncio.wait_for(write(line.strip()), 10)
        print("written", flush=True)
asyncio.run(main())
"""
STEPS = [*range(10), 30, 100, 1_000]


class Other:
    """Another process that writes to the same place."""

    def __init__(self, kind: str, folder: Path) -> None:
        command = [sys.executable, "-c", OTHER, kind, str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def writes(self, text: str) -> bool:
        """Whether it can write now: nobody has left a lock behind."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline() == "written\n"


@pytest.fixture
def beside() -> Iterator[Callable[[str, Path], Other]]:
    others: list[Other] = []

    def begin(kind: str, folder: Path) -> Other:
        others.append(Other(kind, folder))
        return others[-1]

    yield begin
    for one in others:
        one.process.communicate(timeout=60)


async def cancelled_after(steps: int, task: "asyncio.Task[object]") -> None:
    """Cancel the task after so many steps of the loop; the cancellation reaches whoever awaits it."""
    for _ in range(steps):
        await asyncio.sleep(0)
    asked = task.cancel()
    outcome = (await asyncio.gather(task, return_exceptions=True))[0]
    assert isinstance(outcome, asyncio.CancelledError) == asked, outcome


async def test_asy_2_a_batch_that_is_cancelled_anywhere_is_there_wholly_or_not_and_blocks_nobody(
    tmp_path: Path, beside: Callable[[str, Path], Other]
) -> None:
    thread = await open_thread("t", home=tmp_path)
    other = beside("thread", tmp_path)
    for steps in STEPS:
        batch = [{"content": f"{steps}-{n}", "key": f"{steps}-{n}"} for n in range(5)]
        await cancelled_after(steps, asyncio.create_task(thread.append_many(batch)))
        assert await asyncio.to_thread(other.writes, f"{steps}-other")
        said = [turn.content for turn in (await thread.refresh()).messages()]
        assert sum(content.startswith(f"{steps}-") for content in said) in {1, 6}
        await thread.append_many(batch)
        said = [turn.content for turn in (await thread.refresh()).messages()]
        assert sorted(content for content in said if content.startswith(f"{steps}-")) == [
            *(f"{steps}-{n}" for n in range(5)),
            f"{steps}-other",
        ]


async def test_asy_2_memories_that_are_cancelled_anywhere_are_there_wholly_or_not_and_block_nobody(
    place: Place, beside: Callable[[str, Path], Other]
) -> None:
    memory = place.open(embedder=HashingEmbedder())
    other = beside(place.kind, place.folder) if place.keeps else None
    for steps in STEPS:
        batch = [NewMemory(content=f"berth {steps} pier {n}", key=f"{steps}-{n}") for n in range(5)]
        before = await memory.count()
        await cancelled_after(steps, asyncio.create_task(memory.remember_many(batch)))
        assert other is None or await asyncio.to_thread(other.writes, f"boat {steps} came")
        written = 0 if other is None else 1
        assert await memory.count() - before in {written, 5 + written}
        await memory.remember_many(batch)
        assert await memory.count() - before == 5 + written
    await memory.close()


def change(folder: Path, statement: str) -> None:
    connection = apsw.Connection(str(folder / "memory.db"))
    connection.execute(statement)  # pyright: ignore[reportUnknownMemberType]
    connection.close()


async def filled(place: Place, count: int) -> Memory:
    memory = place.open(embedder=HashingEmbedder())
    await memory.remember_many([NewMemory(content=f"berth {n} is free", key=f"{n}") for n in range(count)])
    return memory


async def test_asy_2_a_statement_that_fails_at_the_third_row_leaves_nothing_and_no_lock(
    tmp_path: Path, beside: Callable[[str, Path], Other]
) -> None:
    place = Place("sqlite", tmp_path)
    memory, other = await filled(place, 2), beside("sqlite", tmp_path)
    change(
        tmp_path,
        "CREATE TRIGGER fault BEFORE INSERT ON memories WHEN (SELECT count(*) FROM memories) >= 4 "
        "BEGIN SELECT RAISE(ABORT, 'the third row fails'); END",
    )
    batch = [NewMemory(content=f"boat {n} has left", key=f"boat-{n}") for n in range(5)]
    with pytest.raises(StoreError, match="the third row fails"):
        await memory.remember_many(batch)
    assert await memory.count() == 2
    assert await asyncio.to_thread(other.writes, "the crane is red")
    assert await memory.count() == 3
    change(tmp_path, "DROP TRIGGER fault")
    await memory.remember_many(batch)
    assert await memory.count() == 8
    await place.close()


@pytest.mark.parametrize(
    "between",
    [
        "BEFORE DELETE ON memories WHEN (SELECT count(*) FROM memories) <= 3",
        "BEFORE INSERT ON gone",
        "BEFORE DELETE ON scopes",
    ],
)
@pytest.mark.parametrize("verb", ["clear", "forget"])
async def test_asy_2_a_clear_that_fails_between_its_deletes_clears_nothing_and_leaves_no_lock(
    tmp_path: Path, beside: Callable[[str, Path], Other], between: str, verb: str
) -> None:
    place = Place("sqlite", tmp_path)
    memory, other = await filled(place, 5 if verb == "clear" else 1), beside("sqlite", tmp_path)
    before = await memory.count()
    change(tmp_path, f"CREATE TRIGGER fault {between} BEGIN SELECT RAISE(ABORT, 'it fails'); END")
    [*_, last] = await memory.list()

    async def remove() -> None:
        if verb == "clear":
            await memory.clear(everyone=True)
        else:
            await memory.forget(last.id)

    with pytest.raises(StoreError, match="it fails"):
        await remove()
    assert await memory.count() == before
    assert (await memory.recall("berth"))[0].content.startswith("berth")
    assert await asyncio.to_thread(other.writes, "the crane is red")
    assert await memory.count() == before + 1
    change(tmp_path, "DROP TRIGGER fault")
    await remove()
    assert await memory.count() == (0 if verb == "clear" else 1)
    await place.close()
