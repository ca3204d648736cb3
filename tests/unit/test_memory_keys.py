"""A key makes the retry of a remember harmless, also where the first call only restated what was there."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest

from retentive import Memory, NewMemory
from retentive.errors import Conflict
from retentive.life.batch import Batch


@pytest.fixture
async def memory() -> AsyncGenerator[Memory, None]:
    async with Memory(store="memory://") as memory:
        yield memory


async def test_a_restatement_leaves_its_key_with_what_it_restates(memory: Memory) -> None:
    there = await memory.remember("The user likes tea.")
    again = await memory.remember("the user likes tea", key="k")
    assert (again.id, again.updated_at) == (there.id, there.updated_at)
    reworded = await memory.update(there.id, content="The user drinks green tea in the morning.")
    assert await memory.remember("the user likes tea", key="k") == reworded
    assert await memory.count() == 1


async def test_a_memory_keeps_the_key_it_has(memory: Memory) -> None:
    there = await memory.remember("The user likes tea.", key="first")
    await memory.remember("The user likes tea.", key="second")
    await memory.update(there.id, content="The user drinks green tea in the morning.")
    assert (await memory.remember("The user likes tea.", key="first")).id == there.id
    assert (await memory.remember("The user likes tea.", key="second")).id != there.id


async def test_a_key_that_another_memory_has_stays_there(memory: Memory) -> None:
    keyed = await memory.remember("Berlin has many lakes.", key="k")
    there = await memory.remember("The user likes tea.")
    await memory.remember("The user likes tea.", key="k")
    await memory.update(keyed.id, content="Potsdam has many palaces.")
    assert (await memory.remember("Berlin has many lakes.", key="k")).id == keyed.id
    assert (await memory.get(there.id)) == there


async def test_a_key_goes_with_its_memory(memory: Memory) -> None:
    there = await memory.remember("The user likes tea.")
    await memory.remember("The user likes tea.", key="k")
    await memory.forget(there.id)
    assert (await memory.remember("The user likes coffee.", key="k")).content == "The user likes coffee."


async def test_a_keyed_supersede_is_done_once_though_it_is_retried_later(memory: Memory) -> None:
    old = await memory.remember("The user lives in Oslo.")
    new = await memory.supersede(old.id, "The user lives in Bergen.", key="move")
    await memory.update(new.id, content="The user lives in Bergen, near the harbour.")
    again = await memory.supersede(old.id, "The user lives in Bergen.", key="move")
    assert again.id == new.id
    assert len(await memory.history(old.id)) == 2


@pytest.mark.parametrize(
    "other",
    [
        NewMemory(content="Whales sing.", key="k"),
        NewMemory(content="The user likes tea.", key="k", kind="procedural"),
        NewMemory(content="The user likes 2 teas.", key="k"),
    ],
)
async def test_a_key_that_was_used_for_another_statement_is_refused(memory: Memory, other: NewMemory) -> None:
    there = await memory.remember("The user likes tea.", key="k")
    with pytest.raises(Conflict, match=f"'k' was used for memory {there.id!r}"):
        await memory.remember_many([other])
    with pytest.raises(Conflict):
        await memory.remember_many([NewMemory(content="It rains in Bergen."), other])
    await memory.supersede(there.id, "The user likes coffee.")
    with pytest.raises(Conflict):
        await memory.remember_many([other])
    assert (await memory.remember("The user likes tea.", key="k")).id == there.id
    assert {item.content for item in await memory.list()} == {"The user likes coffee.", "It rains in Bergen."}


async def test_a_key_that_a_tool_took_never_swallows_what_the_user_says(memory: Memory) -> None:
    tools = await memory.remember("Pay to DE99.", key="k", origin="tool")
    for said in ("Pay to DE11.", "Pay to DE99."):
        with pytest.raises(Conflict):
            await memory.remember(said, key="k")
    await memory.update(tools.id, importance=0.9)
    with pytest.raises(Conflict):
        await memory.remember("Pay to DE11.", key="k")
    assert (await memory.remember("Pay to DE11.")).origin == "user"


async def test_a_refused_key_makes_nothing_live_longer_and_stops_no_other_caller(memory: Memory) -> None:
    there = await memory.remember("The user likes tea.", key="k", ttl=timedelta(hours=1))
    done = await asyncio.gather(
        *(memory.remember(f"Berth {n} is free.", key="k" if n == 3 else f"{n}") for n in range(6)),
        return_exceptions=True,
    )
    assert [n for n, one in enumerate(done) if isinstance(one, BaseException)] == [3]
    assert await memory.get(there.id) == there


async def test_a_less_trusted_restatement_prolongs_nothing(memory: Memory) -> None:
    there = await memory.remember("The door code is 9911", ttl=timedelta(hours=1))
    for origin in ("assistant", "tool", "document", "imported"):
        assert await memory.remember("The door code is 9911", origin=origin) == there
        done = await memory.apply(Batch(new=[NewMemory(content="The door code is 9911", origin=origin)]))
        assert list(done.items) == [there]
    assert (await memory.remember("The door code is 9911")).expires_at is None
