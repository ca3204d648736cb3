"""What has expired is not given by any verb, from the instant on, whether or not it was swept."""

import io
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from retentive import Memory, MemoryKind, NotFound
from retentive.testing.clocks import FakeClock
from retentive.testing.places import Place

HOUR = timedelta(hours=1)
TEXT = "The gate code is 1234."


async def recall(memory: Memory, _: str) -> int:
    return len(await memory.recall("gate code"))


async def search(memory: Memory, _: str) -> int:
    return len(await memory.search("gate code"))


async def get(memory: Memory, id: str) -> int:
    return int(await memory.get(id) is not None)


async def listed(memory: Memory, _: str) -> int:
    return len(await memory.list(include_superseded=True))


async def count(memory: Memory, _: str) -> int:
    return await memory.count()


async def history(memory: Memory, id: str) -> int:
    return len(await memory.history(id))


async def context(memory: Memory, _: str) -> int:
    return int("1234" in (await memory.context("gate code")).text)


async def export(memory: Memory, _: str) -> int:
    return (await memory.export(io.BytesIO())).memories


VERBS = [recall, search, get, listed, count, history, context, export]


@pytest.mark.parametrize("ask", VERBS)
async def test_no_verb_gives_what_has_expired(
    memory: Memory, clock: FakeClock, ask: Callable[[Memory, str], Awaitable[int]]
) -> None:
    item = await memory.remember(TEXT, ttl=HOUR)
    clock.move(seconds=3599, microseconds=999_999)
    assert await ask(memory, item.id) == 1
    clock.move(microseconds=1)
    assert await ask(memory, item.id) == 0


async def test_one_of_two_that_disagree_expires_and_the_conflict_with_it(
    memory: Memory, clock: FakeClock
) -> None:
    await memory.remember("The team has 4 members in Oslo.", ttl=HOUR)
    await memory.remember("The team has 5 members in Oslo.")
    clock.move(seconds=3599)
    assert len(await memory.conflicts()) == 1
    clock.move(seconds=1)
    assert await memory.conflicts() == []


async def test_no_verb_changes_what_has_expired(memory: Memory, clock: FakeClock) -> None:
    item = await memory.remember(TEXT, ttl=HOUR)
    clock.move(hours=1)
    with pytest.raises(NotFound):
        await memory.update(item.id, importance=1)
    with pytest.raises(NotFound):
        await memory.supersede(item.id, "The gate code is 9999.")
    assert (await memory.remember(TEXT)).id != item.id


async def test_lifetimes_of_kinds_can_be_set_and_an_items_own_comes_first(place: Place) -> None:
    memory = place.open(lifetimes={MemoryKind.EPISODIC: timedelta(days=30)})
    lasting = await memory.remember("Ida runs.", kind="working")
    episode = await memory.remember("We met in Rome.", kind="episodic")
    own = await memory.remember("We met in Oslo.", kind="episodic", ttl=HOUR)
    assert lasting.expires_at is None
    assert episode.expires_at == place.clock.now + timedelta(days=30)
    assert own.expires_at == place.clock.now + HOUR
    place.clock.move(days=30)
    assert [item.id for item in await memory.list()] == [lasting.id]
