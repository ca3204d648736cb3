"""The versions of a statement: told as one story, forgotten as one."""

import pytest

from retentive import Batch, Memory, NewMemory
from retentive.testing.clocks import FakeClock
from retentive.testing.places import Place


async def versions(memory: Memory, *contents: str) -> list[str]:
    """The ids of memories of which each superseded the one before."""
    ids = [(await memory.remember(contents[0])).id]
    for content in contents[1:]:
        ids.append((await memory.supersede(ids[-1], content)).id)
    return ids


async def test_the_story_is_the_same_from_every_version_and_oldest_first(memory: Memory) -> None:
    ids = await versions(memory, "Rent is 900.", "Rent is 950.", "Rent is 990.")
    await versions(memory, "Anna rows.", "Anna runs.")
    for each in ids:
        assert [item.id for item in await memory.history(each)] == ids


async def test_a_memory_alone_is_its_own_story_and_an_unknown_one_has_none(memory: Memory) -> None:
    item = await memory.remember("The boat is red.")
    assert await memory.history(item.id) == [item]
    assert await memory.history("unknown") == []
    assert await memory.history(item.id, user_id="somebody") == []


async def test_an_expired_memory_is_in_no_story(memory: Memory, clock: FakeClock) -> None:
    old = await memory.remember("Stand 4 is free.", kind="working")
    new = await memory.supersede(old.id, "Stand 5 is free.", kind="semantic")
    clock.move(hours=1)
    assert await memory.history(old.id) == []
    assert [item.id for item in await memory.history(new.id)] == [new.id]


async def test_forgetting_a_memory_forgets_what_it_superseded(place: Place) -> None:
    memory = place.open()
    ids = await versions(memory, "Rent is zwq900.", "Rent is zwq950.", "Rent is zwq990.")
    other = await memory.remember("Anna rows.")
    receipt = await memory.forget(ids[-1])
    assert sorted(receipt.ids) == ids
    assert receipt.removed == {"rows": 3, "words": 3, "vectors": 3, "links": 4, "history": 2}
    assert [item.id for item in await memory.list(include_superseded=True)] == [other.id]
    if place.keeps:
        await place.close()
        assert b"zwq" not in place.bytes_on_disk()


async def test_forgetting_a_version_in_the_middle_takes_the_older_ones_and_leaves_the_newer(
    memory: Memory,
) -> None:
    ids = await versions(memory, "Rent is 900.", "Rent is 950.", "Rent is 990.", "Rent is 999.")
    receipt = await memory.forget(ids[1])
    assert sorted(receipt.ids) == ids[:2]
    left = await memory.history(ids[3])
    assert [item.id for item in left] == ids[2:]
    assert [item.supersedes for item in left] == [None, ids[2]]


async def test_several_merged_into_one_are_its_history(memory: Memory) -> None:
    one, two = await memory.remember_many(["Ida likes tea.", "Ida drinks green tea daily."])
    merged = (
        await memory.apply(
            Batch(
                new=[NewMemory(content="Ida drinks green tea daily, and likes it.")],
                merges={0: [one.id, two.id]},
            )
        )
    ).items[0]
    assert {item.id for item in await memory.history(one.id)} == {one.id, two.id, merged.id}
    assert (await memory.history(two.id))[-1].id == merged.id
    await memory.forget(one.id)
    kept = await memory.history(merged.id)
    assert [item.id for item in kept] == [two.id, merged.id]
    assert kept[-1].supersedes == two.id
    await memory.forget(merged.id)
    assert await memory.count() == len(await memory.list(include_superseded=True)) == 0


async def test_clearing_a_kind_leaves_versions_of_another_kind(memory: Memory) -> None:
    old = await memory.remember("Stand 4 is free.", kind="semantic")
    await memory.supersede(old.id, "Stand 5 is free.", kind="episodic")
    await memory.clear(user_id=None, kinds=["episodic"])
    assert [item.id for item in await memory.history(old.id)] == [old.id]


async def test_conflicts_are_the_living_pairs_that_differ_in_a_fact(memory: Memory) -> None:
    old = await memory.remember("The team has 4 members in Oslo.")
    new = await memory.remember("The team has 5 members in Oslo.")
    assert new.near == old.id
    (pair,) = await memory.conflicts()
    assert (pair.older.id, pair.newer.id, pair.why) == (old.id, new.id, "numbers differ: 4 / 5")
    assert await memory.conflicts(user_id="other") == []
    await memory.supersede(old.id, "The team has 5 members in Oslo.")
    assert await memory.conflicts() == []


async def test_a_third_wording_is_compared_with_all_newest_first(memory: Memory) -> None:
    items = [await memory.remember(f"The team has {n} members in Oslo.") for n in (4, 5, 6)]
    pairs = await memory.conflicts()
    found = [(pair.newer.id, pair.older.id) for pair in pairs]
    a, b, c = (item.id for item in items)
    assert found == [(c, b), (c, a), (b, a)]
    assert await memory.conflicts(limit=2) == pairs[:2]
    assert await memory.conflicts(limit=0) == []


@pytest.mark.parametrize("limit", [-1, 1.5, "x"])
async def test_a_limit_is_a_whole_number(memory: Memory, limit: object) -> None:
    with pytest.raises(ValueError, match="limit"):
        await memory.conflicts(limit=limit)  # type: ignore[arg-type]
