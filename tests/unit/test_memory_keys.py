"""A key makes the retry of a remember harmless, also where the first call only restated what was there."""

from collections.abc import AsyncGenerator

import pytest

from retentive import Memory


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
