"""Working memory ends with its run, however that ends."""

import asyncio
import logging
from datetime import timedelta

import pytest

from retentive import InvalidInput, Memory, MemoryKind, Origin, StoreClosed, StoreUnavailable, sync
from retentive.stores.base import Changes, Written
from retentive.stores.in_memory import InMemoryStore
from retentive.testing.places import Place


async def test_it_is_forgotten_when_the_run_ends_and_nothing_else_is(place: Place) -> None:
    async with place.open() as memory:
        kept = await memory.remember("Ada likes tea.", user_id="ada")
        other = await memory.remember("Half of the tea is drunk.", user_id="ada", kind=MemoryKind.WORKING)
        async with memory.working("run-1", user_id="ada") as working:
            item = await working.remember("The third file is done.", tags=["files"])
            assert (item.kind, item.origin, item.tags) == (
                MemoryKind.WORKING,
                Origin.ASSISTANT,
                ("run:run-1", "files"),
            )
            assert item.expires_at == place.clock() + timedelta(hours=1)
            assert [hit.id for hit in await working.recall("Which file is done?")] == [item.id]
            assert await working.items() == [item]
        assert await memory.get(item.id, user_id="ada") is None
        assert {one.id for one in await memory.list(user_id="ada")} == {kept.id, other.id}


@pytest.mark.parametrize("how", [ValueError, asyncio.CancelledError])
async def test_it_is_forgotten_when_the_run_fails_or_is_cancelled(
    place: Place, how: type[BaseException]
) -> None:
    async with place.open() as memory:

        async def run() -> None:
            async with memory.working("run-1") as working:
                await working.remember("The third file is done.")
                raise how

        with pytest.raises(how):
            await run()
        assert await memory.count() == 0


async def test_two_runs_that_note_the_same_do_not_take_it_from_each_other(place: Place) -> None:
    async with place.open() as memory, memory.working("run-1", user_id="ada") as one:
        mine = await one.remember("The third file is done.")
        assert await one.remember("The third file is done.") == mine
        async with memory.working("run-2", user_id="ada") as other:
            theirs = await other.remember("The third file is done.")
            assert theirs.id != mine.id
            assert [item.id for item in await other.items()] == [theirs.id]
            assert [hit.id for hit in await other.recall("file")] == [theirs.id]
        assert await one.items() == [mine]


async def test_another_process_sees_the_same_run(place: Place) -> None:
    async with place.open() as memory, memory.working("run-1") as one:
        item = await one.remember("The third file is done.")
        async with place.open() as again:
            assert await again.working("run-1").items() == [item]


async def test_what_a_crash_left_behind_expires(place: Place) -> None:
    async with place.open() as memory:
        await memory.working("run-1").remember("The third file is done.")
        await memory.working("run-2", ttl=timedelta(minutes=5)).remember("The fourth file is done.")
        assert await memory.count() == 2
        place.clock.move(minutes=5)
        assert await memory.count() == 1
        place.clock.move(minutes=55)
        assert await memory.count() == 0


async def test_a_write_on_its_way_when_the_run_ends_is_forgotten_too(place: Place) -> None:
    async with place.open() as memory:
        working = memory.working("run-1")
        writes = [asyncio.ensure_future(working.remember(f"File {number} is done.")) for number in range(5)]
        await asyncio.sleep(0)
        for write in writes[:3]:
            write.cancel()
        await working.end()
        await asyncio.gather(*writes, return_exceptions=True)
        assert await memory.count() == 0


async def test_after_its_end_nothing_is_taken(place: Place) -> None:
    async with place.open() as memory:
        async with memory.working("run-1") as working:
            await working.remember("The third file is done.")
        assert "ended" in repr(working)
        with pytest.raises(StoreClosed, match="run-1"):
            await working.remember("The fourth file is done.")
        assert await working.end() == 0


class Gate(InMemoryStore):
    """A store whose deletes wait until they are let, or fail."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.let, self.done = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.fails = False

    async def write(self, changes: Changes) -> Written:
        if changes.deletes:
            if self.fails:
                raise StoreUnavailable("disk full")
            self.reached.set()
            await self.let.wait()
        written = await super().write(changes)
        if changes.deletes:
            self.done.set()
        return written


async def test_a_second_cancellation_does_not_stop_the_forgetting() -> None:
    gate = Gate()
    memory = Memory(store=gate)

    async def run() -> None:
        async with memory.working("run-1") as working:
            await working.remember("The third file is done.")
            raise asyncio.CancelledError

    task = asyncio.create_task(run())
    await gate.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await memory.count() == 1
    gate.let.set()
    await gate.done.wait()
    assert await memory.count() == 0


class Sure(InMemoryStore):
    """A store that finishes a write whose caller is cancelled, as those with a writer thread do."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.let = asyncio.Event(), asyncio.Event()
        self.writes: set[asyncio.Task[Written]] = set()

    async def write(self, changes: Changes) -> Written:
        task = asyncio.ensure_future(self._write(changes))
        self.writes.add(task)
        return await asyncio.shield(task)

    async def _write(self, changes: Changes) -> Written:
        if changes.inserts:
            self.reached.set()
            await self.let.wait()
        return await super().write(changes)


async def test_a_write_that_goes_on_after_its_caller_was_cancelled_is_forgotten_too() -> None:
    sure = Sure()
    memory = Memory(store=sure)
    working = memory.working("run-1")
    write = asyncio.create_task(working.remember("The third file is done."))
    await sure.reached.wait()
    write.cancel()
    with pytest.raises(asyncio.CancelledError):
        await write
    end = asyncio.create_task(working.end())
    for _ in range(10):
        await asyncio.sleep(0)
    sure.let.set()
    assert await end == 1
    await asyncio.gather(*sure.writes)
    assert await memory.count() == 0


async def test_a_store_that_fails_at_the_end_does_not_break_the_run(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    memory = Memory(store=gate)
    with caplog.at_level(logging.WARNING):
        async with memory.working("run-1") as working:
            await working.remember("The third file is done.")
            gate.fails = True
    assert "run-1" in caplog.text
    with pytest.raises(StoreUnavailable):
        await working.end()


@pytest.mark.parametrize("run_id", ["", " ", "a\nb", "x" * 125])
async def test_a_run_needs_a_plain_name(run_id: str) -> None:
    with pytest.raises(InvalidInput):
        Memory(store="memory://").working(run_id)


def test_the_blocking_one_does_the_same() -> None:
    with sync.Memory(store="memory://") as memory:
        with memory.working("run-1", user_id="ada") as working:
            item = working.remember("The third file is done.")
            assert working.items() == [item]
            assert working.recall("file")[0].id == item.id
        assert memory.count(user_id="ada") == 0
        assert working.end() == 0
