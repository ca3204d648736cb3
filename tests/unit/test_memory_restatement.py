"""What counts as said already: equal text, guarded near wording; never across scope, kind, time or life."""

import asyncio
from datetime import timedelta

import pytest

from retentive import Conflict, Memory, MemoryKind, NewMemory, Source
from retentive.testing.clocks import FakeClock
from retentive.testing.embedders import ScriptedEmbedder
from retentive.testing.places import Place

MINUTE = timedelta(seconds=60)


@pytest.mark.parametrize(
    "again",
    [
        "The ferry leaves at noon.",
        "the ferry leaves  at noon",
        "THE FERRY LEAVES AT NOON",
        " The ferry leaves at noon ",
    ],
)
async def test_equal_text_gives_the_memory_that_is_there(memory: Memory, again: str) -> None:
    first = await memory.remember("The ferry leaves at noon.")
    second = await memory.remember(again)
    assert second == first
    assert await memory.count() == 1


async def test_a_restatement_keeps_the_first_text_and_fields(memory: Memory, clock: FakeClock) -> None:
    first = await memory.remember("Rosa paints boats.", importance=0.2, tags=["craft"], metadata={"a": 1})
    clock.move(days=1)
    second = await memory.remember("rosa paints boats", importance=0.9, tags=["sea"], metadata={"b": 2})
    assert second == first
    assert await memory.get(first.id) == first


async def test_a_near_wording_is_a_restatement(place: Place) -> None:
    memory = place.open(embedder=ScriptedEmbedder({}, dimensions=2, otherwise=(1, 0)))
    first = await memory.remember("The red boat is moored at the north pier.")
    assert (await memory.remember("Please note that the red boat is moored at the north pier")).id == first.id
    assert await memory.count() == 1


async def test_a_near_wording_that_differs_in_a_fact_is_stored_and_linked(place: Place) -> None:
    memory = place.open(embedder=ScriptedEmbedder({}, dimensions=2, otherwise=(1, 0)))
    first = await memory.remember("The red boat is moored at pier 4.")
    second = await memory.remember("The red boat is moored at pier 5.")
    assert second.id != first.id
    assert second.near == first.id
    assert (await memory.get(second.id)) == second
    assert (await memory.get(first.id)) == first


async def test_a_distant_memory_is_not_linked(place: Place) -> None:
    memory = place.open(embedder=ScriptedEmbedder({"a b": (1, 0), "c d": (0, 1)}, dimensions=2))
    await memory.remember("a b")
    assert (await memory.remember("c d")).near is None


async def test_forgetting_a_memory_ends_links_to_it(place: Place) -> None:
    memory = place.open(embedder=ScriptedEmbedder({}, dimensions=2, otherwise=(1, 0)))
    first = await memory.remember("The red boat is moored at pier 4.")
    second = await memory.remember("The red boat is moored at pier 5.")
    await memory.forget(first.id)
    left = await memory.get(second.id)
    assert left is not None
    assert left.near is None
    assert [hit.id for hit in await memory.recall("red boat")] == [second.id]


async def test_restatement_never_crosses_scopes_or_kinds(place: Place) -> None:
    embedder = ScriptedEmbedder({}, dimensions=2, otherwise=(1, 0))
    memory, other = place.open(embedder=embedder), place.open("other", embedder=embedder)
    ids = [
        (await memory.remember("The gate is green.")).id,
        (await memory.remember("The gate is green.", user_id="ann")).id,
        (await memory.remember("The gate is green.", user_id="bob")).id,
        (await memory.remember("The gate is green.", kind="episodic")).id,
        (await other.remember("The gate is green.", user_id="ann")).id,
    ]
    assert len(set(ids)) == 5
    linked = await memory.remember("The gate is grey.", user_id="bob")
    assert linked.near == ids[2]


async def test_an_expired_memory_is_no_duplicate(memory: Memory, clock: FakeClock) -> None:
    first = await memory.remember("gate code 7781", ttl=MINUTE, key="gate")
    clock.move(seconds=60)
    second = await memory.remember("gate code 7781", ttl=MINUTE, key="gate")
    assert second.id != first.id
    assert second.created_at == clock()
    assert await memory.get(first.id) is None
    assert [item.id for item in await memory.list()] == [second.id]


async def test_a_memory_stated_again_lives_as_long_as_the_latest_call_asks(
    memory: Memory, clock: FakeClock
) -> None:
    first = await memory.remember("The spare key is with Ida.", ttl=MINUTE)
    assert first.expires_at == clock() + MINUTE
    kept = await memory.remember("The spare key is with Ida.")
    assert (kept.id, kept.expires_at) == (first.id, None)
    clock.move(days=400)
    assert await memory.get(first.id) == kept


async def test_a_memory_stated_again_for_less_time_is_unchanged(memory: Memory, clock: FakeClock) -> None:
    first = await memory.remember("The lift is out of order.", ttl=2 * MINUTE)
    assert await memory.remember("The lift is out of order.", ttl=MINUTE) == first
    lasting = await memory.remember("The stairs are steep.")
    assert await memory.remember("The stairs are steep.", ttl=MINUTE) == lasting


async def test_the_same_words_for_another_time_are_another_memory(memory: Memory, clock: FakeClock) -> None:
    noon = clock()
    later = await memory.remember("The shop is closed.", valid_from=noon + timedelta(days=7))
    now = await memory.remember("The shop is closed.")
    assert now.id != later.id
    assert [hit.id for hit in await memory.recall("is the shop closed?")] == [now.id]
    assert (await memory.remember("The shop is closed.", valid_from=noon + timedelta(days=7))).id == later.id


async def test_closing_the_time_of_a_memory_frees_its_text(memory: Memory, clock: FakeClock) -> None:
    old = await memory.remember("Nora lives in Bergen.")
    await memory.update(old.id, valid_until=clock() + MINUTE)
    clock.move(seconds=120)
    new = await memory.remember("Nora lives in Bergen.")
    assert new.id != old.id
    assert [hit.id for hit in await memory.recall("Where does Nora live?")] == [new.id]


async def test_forget_frees_the_text_and_the_key(memory: Memory) -> None:
    for _ in range(3):
        item = await memory.remember("Ulla keeps bees.", key="bees")
        assert await memory.count() == 1
        assert await memory.forget(item.id)
        assert await memory.count() == 0


async def test_update_frees_the_old_text_and_takes_the_new(memory: Memory) -> None:
    first = await memory.remember("Elin rows for Harbour Club.")
    await memory.update(first.id, content="Elin rows for Lakeside Club.")
    again = await memory.remember("Elin rows for Harbour Club.")
    assert again.id != first.id
    assert (await memory.remember("Elin rows for Lakeside Club.")).id == first.id


async def test_update_to_a_text_that_another_memory_has_is_a_conflict(memory: Memory) -> None:
    first = await memory.remember("Ola is a baker.")
    second = await memory.remember("Kari is a welder.")
    with pytest.raises(Conflict):
        await memory.update(second.id, content="ola is a baker")
    assert await memory.get(second.id) == second
    assert await memory.get(first.id) == first


async def test_a_key_makes_a_retry_harmless(memory: Memory) -> None:
    first = await memory.remember("Draft 1 of the letter", key="letter")
    assert await memory.remember("Draft 1 of the letter", key="letter") == first
    assert await memory.count() == 1
    assert (await memory.remember("Draft 1 of the letter", key="letter", user_id="ann")).id != first.id


async def test_a_turn_is_never_merged_with_another_turn(memory: Memory) -> None:
    def turn(number: int) -> NewMemory:
        return NewMemory(
            content="Thanks!", kind=MemoryKind.EPISODIC, source=Source(thread="t", turns=(number,))
        )

    items = await memory.remember_many([turn(1), turn(2), turn(1)])
    assert items[0].id == items[2].id != items[1].id
    assert (await memory.remember_many([turn(2)]))[0] == items[1]
    assert await memory.count() == 2


async def test_a_batch_merges_what_repeats_in_it(place: Place) -> None:
    memory = place.open(embedder=ScriptedEmbedder({}, dimensions=2, otherwise=(1, 0)))
    texts = [
        "The kettle is red.",
        "the kettle is red",
        "The kettle is not red.",
        "Please note that the kettle is red",
        "The kettle is red.",
    ]
    items = await memory.remember_many(texts)
    assert [item.id for item in items] == [items[0].id, items[0].id, items[2].id, items[0].id, items[0].id]
    assert items[2].near == items[0].id
    assert await memory.count() == 2


async def test_texts_without_a_vector_are_still_merged(place: Place) -> None:
    memory = place.open(embedder=ScriptedEmbedder({}, dimensions=2, otherwise=(0, 0)))
    items = await memory.remember_many(["zzz", "zzz", " zzz. "])
    assert len({item.id for item in items}) == 1
    assert items[0].embedder == "scripted/2"


async def test_sixty_four_at_once_with_the_same_text_store_one(place: Place) -> None:
    first, second = place.open(), place.open()
    items = await asyncio.gather(*((first, second)[i % 2].remember("The well is deep.") for i in range(64)))
    assert len({item.id for item in items}) == 1
    assert await first.count() == await second.count() == 1


async def test_many_at_once_on_an_expired_memory_store_one(memory: Memory, clock: FakeClock) -> None:
    old = await memory.remember("Tide at six.", ttl=MINUTE)
    clock.move(minutes=5)
    items = await asyncio.gather(*(memory.remember("Tide at six.") for _ in range(16)))
    assert len({item.id for item in items}) == 1
    assert items[0].id != old.id
    assert await memory.count() == 1


async def test_an_expired_memory_does_not_stand_in_the_way_of_an_update(
    memory: Memory, clock: FakeClock
) -> None:
    await memory.remember("Tide at six.", ttl=MINUTE)
    item = await memory.remember("Tide at five.")
    with pytest.raises(Conflict):
        await memory.update(item.id, content="Tide at six.")
    clock.move(minutes=1)
    assert (await memory.update(item.id, content="Tide at six.")).id == item.id
    assert [hit.content for hit in await memory.recall("tide")] == ["Tide at six."]


async def test_of_several_lives_asked_for_at_once_the_longest_counts(memory: Memory) -> None:
    first = await memory.remember("Tide at six.", ttl=MINUTE)
    again = [NewMemory(content="Tide at six.", ttl=ttl) for ttl in (2 * MINUTE, None, 3 * MINUTE)]
    items = await memory.remember_many(again)
    assert items[0] == items[1] == items[2] == await memory.get(first.id)
    assert (items[0].id, items[0].expires_at) == (first.id, None)
    calls = (memory.remember("Tide at five.", ttl=ttl) for ttl in (2 * MINUTE, None, 3 * MINUTE, MINUTE))
    ids = {item.id for item in await asyncio.gather(*calls)}
    (item,) = [await memory.get(memory_id) for memory_id in ids]
    assert item is not None
    assert item.expires_at is None
