"""When it held in the world, and when it was known here."""

from datetime import timedelta

import pytest

from retentive import InvalidInput, Memory, MemoryKind
from retentive.testing.clocks import FakeClock


async def ids(memory: Memory, **options: object) -> list[str]:
    listed = [item.id for item in await memory.list(**options)]  # type: ignore[arg-type]
    recalled = await memory.recall("the depot is at the dock", limit=50, **options)  # type: ignore[arg-type]
    searched = await memory.search("the depot is at the dock", limit=50, **options)  # type: ignore[arg-type]
    assert sorted(hit.id for hit in recalled) == sorted(hit.id for hit in searched) == sorted(listed)
    return listed


@pytest.mark.parametrize("kind", list(MemoryKind))
async def test_each_of_the_two_times_answers_for_itself(
    memory: Memory, clock: FakeClock, kind: MemoryKind
) -> None:
    """Recorded on day 0, corrected on day 10 for the time since day 5."""
    start = clock()
    day = [start + timedelta(days=n) for n in range(12)]
    old = await memory.remember("The depot is at dock 4.", kind=kind, ttl=timedelta(days=99))
    clock.move(days=10)
    new = await memory.supersede(old.id, "The depot is at dock 7.", valid_from=day[5], ttl=timedelta(days=99))
    assert await ids(memory) == [new.id]
    assert await ids(memory, as_of=day[4]) == [old.id]
    assert await ids(memory, as_of=day[5]) == [new.id]
    assert await ids(memory, known_at=day[9]) == [old.id]
    assert await ids(memory, known_at=day[9], as_of=day[11]) == [old.id]
    assert await ids(memory, known_at=day[10]) == [new.id]
    assert await ids(memory, known_at=day[10], as_of=day[4]) == [old.id]
    assert await ids(memory, known_at=start - timedelta(microseconds=1)) == []
    assert await ids(memory, include_superseded=True) == [new.id, old.id]
    assert await ids(memory, as_of=day[4], include_superseded=True) == [old.id]


@pytest.mark.parametrize("kind", [MemoryKind.WORKING, MemoryKind.SHORT_TERM])
async def test_what_has_expired_was_known_then(memory: Memory, clock: FakeClock, kind: MemoryKind) -> None:
    item = await memory.remember("The depot is at dock 4.", kind=kind)
    assert item.expires_at is not None
    before = item.expires_at - timedelta(microseconds=1)
    clock.move(days=3)
    assert await ids(memory) == []
    assert await ids(memory, known_at=before) == await ids(memory, as_of=before) == [item.id]
    assert await ids(memory, known_at=item.expires_at) == []


async def test_the_end_that_was_planned_is_what_was_known_before(memory: Memory, clock: FakeClock) -> None:
    start = clock()
    old = await memory.remember("The depot is at dock 4.", valid_until=start + timedelta(days=5))
    clock.move(days=1)
    await memory.supersede(old.id, "The depot is at dock 7.")
    later, beyond = start + timedelta(days=4), start + timedelta(days=5)
    assert await ids(memory, known_at=start, as_of=later) == [old.id]
    assert await ids(memory, known_at=start, as_of=beyond) == []


@pytest.mark.parametrize("name", ["as_of", "known_at"])
async def test_an_instant_needs_its_zone(memory: Memory, clock: FakeClock, name: str) -> None:
    naive = clock().replace(tzinfo=None)
    for verb in (memory.recall, memory.search):
        with pytest.raises(InvalidInput, match=name):
            await verb("depot", **{name: naive})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="include_superseded"):
        await memory.recall("depot", include_superseded="yes")  # type: ignore[arg-type]
