"""Extraction beside the runs."""

import asyncio
from collections.abc import Sequence

import pytest
from extraction_rig import USER, EveryTurn, Rig, Scripted

from retentive import Event, InvalidInput
from retentive.events import EventType
from retentive.extraction import Backlog, Excerpt, Extraction, ExtractionQueue, LLMExtractor, Statement


class Held(EveryTurn):
    """Waits for leave before each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.leave = asyncio.Semaphore(0)
        self.is_asked = asyncio.Event()

    async def extract(self, excerpt: Excerpt) -> Sequence[Statement]:
        self.is_asked.set()
        await self.leave.acquire()
        return await super().extract(excerpt)


async def backlogs(rig: Rig, extraction: Extraction, *threads: str) -> list[Backlog]:
    found: list[Backlog] = []
    for name in threads:
        found.append(await extraction.begin_thread("default", name, user_id=USER))
        await rig.thread(f"said in {name}", id=name)
    return found


async def test_what_is_put_in_is_done_when_flush_returns(rig: Rig) -> None:
    extraction = rig.extraction(EveryTurn())
    a, b = await backlogs(rig, extraction, "a", "b")
    queue = ExtractionQueue(extraction)
    await queue.flush()
    assert queue.put(a)
    assert queue.put(b)
    assert queue.put(b)
    assert len(queue) == 2
    await queue.flush()
    assert await rig.contents() == ["said in a", "said in b"]
    await rig.thread("and more", id="a")
    assert queue.put(a)
    await queue.flush()
    assert await rig.contents() == ["said in a", "said in b", "and more"]


async def test_a_full_queue_refuses_at_once_and_the_log_keeps_it(rig: Rig) -> None:
    extractor = Held()
    extraction = rig.extraction(extractor)
    a, b, c = await backlogs(rig, extraction, "a", "b", "c")
    async with ExtractionQueue(extraction, most=1) as queue:
        assert queue.put(a)
        await extractor.is_asked.wait()
        assert queue.put(b)
        assert not queue.put(c)
        for _ in range(2):
            extractor.leave.release()
    assert await rig.contents() == ["said in a", "said in b"]
    assert [one.thread for one in await extraction.backlogs()] == ["c"]


async def test_a_drained_queue_takes_nothing_more(rig: Rig) -> None:
    extraction = rig.extraction(EveryTurn())
    (a,) = await backlogs(rig, extraction, "a")
    queue = ExtractionQueue(extraction)
    queue.put(a)
    await queue.drain()
    await queue.drain()
    assert await rig.contents() == ["said in a"]
    with pytest.raises(InvalidInput, match="drained"):
        queue.put(a)


async def test_a_failure_is_loud_and_does_not_stop_the_others(rig: Rig) -> None:
    events: list[Event] = []
    rig.memory.subscribe(events.append)
    extraction = rig.extraction(Scripted(ValueError("bad"), []))
    a, b = await backlogs(rig, extraction, "a", "b")
    async with ExtractionQueue(extraction) as queue:
        queue.put(a)
        queue.put(b)
    told = [event for event in events if event.type is EventType.EXTRACTION_FAILED]
    assert ["bad" in event.degraded["extraction"] for event in told] == [True]
    assert [one.thread for one in await extraction.backlogs()] == ["a"]


async def test_a_queue_without_a_model_says_so_and_goes_on(rig: Rig) -> None:
    events: list[Event] = []
    rig.memory.subscribe(events.append)
    extraction = rig.extraction(LLMExtractor())
    a, b = await backlogs(rig, extraction, "a", "b")
    async with ExtractionQueue(extraction) as queue:
        queue.put(a)
        queue.put(b)
    told = [event.degraded["extraction"] for event in events if event.type is EventType.EXTRACTION_FAILED]
    assert len(told) == 2
    assert all("has no model" in why for why in told)
    assert [one.failures for one in await extraction.backlogs()] == [0, 0]


def test_a_loop_that_ends_in_the_middle_loses_nothing(rig: Rig) -> None:
    """A worker that is cancelled with its loop leaves what it had to the next one."""

    async def first() -> None:
        extraction = rig.extraction(Held())
        queue = ExtractionQueue(extraction)
        for one in await backlogs(rig, extraction, "a", "b"):
            queue.put(one)
        extractor = extraction.extractor
        assert isinstance(extractor, Held)
        await extractor.is_asked.wait()

    async def second() -> None:
        extraction = rig.extraction(EveryTurn())
        assert await rig.contents() == []
        async with ExtractionQueue(extraction) as queue:
            for one in await extraction.backlogs():
                queue.put(one)
        assert await rig.contents() == ["said in a", "said in b"]

    asyncio.run(first())
    asyncio.run(second())
