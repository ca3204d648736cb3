"""One memory takes another's place, and the old one is kept as history."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from retentive import Conflict, InvalidInput, Memory, MemoryKind, NotFound, NotTrusted, Origin, Source
from retentive.embedders.base import EmbedKind, Vectors
from retentive.errors import EmbedderUnavailable
from retentive.testing.clocks import FakeClock
from retentive.testing.embedders import HashingEmbedder
from retentive.testing.places import Place


async def contents(memory: Memory, **options: object) -> list[str]:
    page = await memory.list(**options)  # type: ignore[arg-type]
    return [item.content for item in page]


async def test_the_new_one_is_recalled_and_the_old_one_is_kept(memory: Memory, clock: FakeClock) -> None:
    old = await memory.remember("The office is in Oslo.")
    clock.move(days=1)
    new = await memory.supersede(old.id, "The office is in Bergen.")
    before = await memory.get(old.id)
    assert before is not None
    assert (before.superseded_by, before.superseded_at) == (new.id, clock())
    assert (before.valid_until, new.valid_from, new.supersedes) == (clock(), clock(), old.id)
    assert [hit.content for hit in await memory.recall("where is the office?")] == [
        "The office is in Bergen."
    ]
    assert await contents(memory) == ["The office is in Bergen."]
    assert await contents(memory, include_superseded=True) == [new.content, old.content]


async def test_the_old_one_ends_where_the_new_one_begins(memory: Memory, clock: FakeClock) -> None:
    start = clock() - timedelta(days=9)
    for number, fields in enumerate([{"valid_from": start}, {"occurred_at": start}]):
        old = await memory.remember(f"House {number} is red.")
        new = await memory.supersede(old.id, f"House {number} is blue.", **fields)  # type: ignore[arg-type]
        before = await memory.get(old.id)
        assert before is not None
        assert before.valid_until == new.valid_from == start


async def test_one_that_had_ended_keeps_its_end_and_one_that_never_held_ends_where_it_began(
    memory: Memory, clock: FakeClock
) -> None:
    end = clock() - timedelta(days=2)
    ended = await memory.remember("The pass is A1.", valid_until=end)
    await memory.supersede(ended.id, "The pass is B2.")
    begun = await memory.remember("The rent is 900.", valid_from=clock())
    await memory.supersede(begun.id, "The rent is 950.", valid_from=end)
    kept, wrong = await memory.get(ended.id), await memory.get(begun.id)
    assert kept is not None
    assert wrong is not None
    assert kept.valid_until == kept.planned_until == end
    assert wrong.valid_until == wrong.valid_from == clock()
    assert await contents(memory, as_of=clock()) == ["The rent is 950.", "The pass is B2."]
    await memory.update(wrong.id, metadata={"seen": True})


async def test_the_old_one_holds_until_a_new_one_that_lies_ahead(memory: Memory, clock: FakeClock) -> None:
    old = await memory.remember("The fare is 3 euros.")
    await memory.supersede(old.id, "The fare is 4 euros.", valid_from=clock() + timedelta(days=30))
    assert await contents(memory) == ["The fare is 3 euros."]
    clock.move(days=30)
    assert await contents(memory) == ["The fare is 4 euros."]


async def test_kind_importance_and_tags_are_the_old_ones_unless_passed(memory: Memory) -> None:
    old = await memory.remember("Mix at 40 C.", kind="procedural", importance=0.9, tags=["dye"])
    new = await memory.supersede(old.id, "Mix at 45 C.", source=Source(thread="t", turns=(3,)))
    assert (new.kind, new.importance, new.tags) == (MemoryKind.PROCEDURAL, 0.9, ("dye",))
    assert new.source == Source(thread="t", turns=(3,))
    newest = await memory.supersede(new.id, "Mix at 50 C.", kind="semantic", importance=0.1, tags=[])
    assert (newest.kind, newest.importance, newest.tags) == (MemoryKind.SEMANTIC, 0.1, ())


async def test_saying_what_the_old_one_says_writes_nothing(memory: Memory) -> None:
    old = await memory.remember("Ida plays the oboe.")
    assert await memory.supersede(old.id, "  Ida plays the oboe ") == old
    assert await memory.get(old.id) == old


async def test_another_living_memory_that_says_it_takes_the_place(memory: Memory) -> None:
    old, other = await memory.remember_many(["Tea is at four.", "Tea is at five."])
    new = await memory.supersede(old.id, "Tea is at five.")
    before = await memory.get(old.id)
    assert before is not None
    assert (new.id, new.supersedes, before.superseded_by) == (other.id, old.id, other.id)
    assert await memory.count() == 1


async def test_what_was_superseded_cannot_be_again_and_the_error_names_its_successor(memory: Memory) -> None:
    old = await memory.remember("The dog is called Rex.")
    new = await memory.supersede(old.id, "The dog is called Max.")
    with pytest.raises(Conflict, match=new.id):
        await memory.supersede(old.id, "The dog is called Bob.")
    assert await contents(memory, include_superseded=True) == [new.content, old.content]


async def test_a_retry_is_harmless_with_the_key_and_while_its_answer_holds(memory: Memory) -> None:
    old = await memory.remember("The cat is grey.")
    new = await memory.supersede(old.id, "The cat is black.", key="k1")
    assert (await memory.supersede(old.id, "The cat is black.")).id == new.id
    newest = await memory.supersede(new.id, "The cat is white.")
    assert (await memory.supersede(old.id, "The cat is black.", key="k1")).id == new.id
    with pytest.raises(Conflict):
        await memory.supersede(old.id, "The cat is black.")
    assert await contents(memory) == [newest.content]


async def test_a_key_that_was_used_for_another_statement_supersedes_nothing(memory: Memory) -> None:
    await memory.remember("Berlin has 3.7 million people.", key="k")
    old = await memory.remember("The lake is frozen.")
    with pytest.raises(Conflict, match="'k' was used for memory"):
        await memory.supersede(old.id, "The lake has thawed.", key="k")
    new = await memory.supersede(old.id, "The lake has thawed.", key="l")
    with pytest.raises(Conflict, match="'l' was used for memory"):
        await memory.supersede(old.id, "The lake is a desert.", key="l")
    assert await memory.history(old.id) == [await memory.get(old.id), new]


async def test_the_new_text_restated_is_no_new_memory(memory: Memory, clock: FakeClock) -> None:
    old = await memory.remember("Noor lives in Lima.")
    new = await memory.supersede(old.id, "Noor lives in Quito.")
    clock.move(days=3)
    assert (await memory.remember("Noor lives in Quito.")).id == new.id
    again = await memory.remember("Noor lives in Lima.")
    assert again.id not in (old.id, new.id)


@pytest.mark.parametrize("embedder", [HashingEmbedder()])
async def test_only_the_scope_s_own_living_memories_can_be_superseded(
    place: Place, embedder: HashingEmbedder
) -> None:
    memory = place.open(embedder=embedder)
    theirs = await memory.remember("Theirs is blue.", user_id="other")
    soon = await memory.remember("Gone soon.", ttl=timedelta(seconds=1))
    place.clock.move(seconds=1)
    for old_id in (theirs.id, soon.id, "no-such-id"):
        with pytest.raises(NotFound):
            await memory.supersede(old_id, "Mine now.")
    assert await memory.get(theirs.id, user_id="other") == theirs
    assert await memory.count() == 0


@pytest.mark.parametrize("said_by", list(Origin))
@pytest.mark.parametrize("corrected_by", list(Origin))
async def test_a_correction_comes_from_an_equal_or_more_trusted_origin_only(
    said_by: Origin, corrected_by: Origin
) -> None:
    order = ["user", "assistant", "tool", "document", "imported"]
    async with Memory(store="memory://", embedder=HashingEmbedder()) as memory:
        old = await memory.remember("The code is 1234.", origin=said_by)
        if order.index(corrected_by) <= order.index(said_by):
            new = await memory.supersede(old.id, "The code is 9999.", origin=corrected_by)
            assert new.origin == corrected_by
        else:
            with pytest.raises(NotTrusted, match=str(said_by)):
                await memory.supersede(old.id, "The code is 9999.", origin=corrected_by)
            assert await memory.get(old.id) == old
            assert await memory.count() == 1


async def test_nothing_raises_the_origin(memory: Memory) -> None:
    told = await memory.remember("The code is 1234.", origin="tool")
    with pytest.raises(TypeError):
        await memory.update(told.id, origin="user")  # type: ignore[call-arg]
    assert (await memory.update(told.id, content="The code is 12.")).origin is Origin.TOOL
    said = await memory.remember("The code is 12.", origin="user")
    assert (said.origin, said.id == told.id) == (Origin.USER, False)
    assert (await memory.remember("The code is 12.", origin="tool")).id in (told.id, said.id)
    assert await contents(memory, min_trust="user") == ["The code is 12."]


async def test_min_trust_is_a_floor_for_every_way_to_read(memory: Memory) -> None:
    for origin in Origin:
        await memory.remember(f"The gate code of {origin} is {len(origin) * 111}.", origin=origin)
    for count, floor in enumerate(Origin, start=1):
        assert len(await memory.recall("gate code", min_trust=floor)) == count
        assert len(await memory.search("gate code", min_trust=str(floor))) == count
        assert len(await memory.list(min_trust=floor)) == count
    with pytest.raises(InvalidInput, match="min_trust"):
        await memory.recall("gate code", min_trust="god")


async def test_of_many_at_once_one_supersedes(place: Place) -> None:
    memory = place.open()
    old = await memory.remember("The key is under the mat.")
    done = await asyncio.gather(
        *(memory.supersede(old.id, f"The key is in box {n}.") for n in range(8)), return_exceptions=True
    )
    won = [one for one in done if not isinstance(one, BaseException)]
    assert len(won) == 1
    assert all(isinstance(one, Conflict) for one in done if one is not won[0])
    assert await contents(memory) == [won[0].content]
    assert len(await memory.history(old.id)) == 2


async def test_every_field_of_a_superseded_memory_survives_reopening(place: Place) -> None:
    if not place.keeps:
        pytest.skip("nothing is kept")
    memory = place.open()
    source = Source(thread="t", turns=(1, 2), speaker="Ann", document="d.pdf", place="p. 3")
    old = await memory.remember(
        "The rent is 900.", valid_until=datetime(2030, 1, 1, tzinfo=UTC), source=source
    )
    new = await memory.supersede(old.id, "The rent is 950.", source=source, metadata={"a": [1]})
    before = await memory.history(new.id)
    await place.close()
    again = place.open()
    assert await again.history(old.id) == before
    assert before[0].planned_until == datetime(2030, 1, 1, tzinfo=UTC)
    assert before[1].source == source


async def test_without_vectors_equal_words_are_met_all_the_same(place: Place) -> None:
    memory = place.open(embedder=Down())
    old, other = await memory.remember_many(["Ida rows.", "Ida skis."])
    assert await memory.supersede(old.id, "Ida rows.") == old
    new = await memory.supersede(old.id, "ida skis")
    assert (new.id, new.supersedes) == (other.id, old.id)
    newest = await memory.supersede(new.id, "Ida runs.", key="k")
    assert (await memory.supersede(new.id, "Ida runs.", key="k")).id == newest.id
    assert await contents(memory) == ["Ida runs."]


class Down(HashingEmbedder):
    """One that cannot be reached."""

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
        raise EmbedderUnavailable("not there")


async def test_forgetting_a_correction_that_begins_later_leaves_what_holds_until_then(
    memory: Memory, clock: FakeClock
) -> None:
    first = await memory.remember("The price is 8.")
    clock.move(days=1)
    now = await memory.supersede(first.id, "The price is 10.")
    ahead = await memory.supersede(now.id, "The price is 12.", valid_from=clock() + timedelta(days=30))
    receipt = await memory.forget(ahead.id)
    assert receipt.ids == (ahead.id,)
    clock.move(days=60)
    assert [item.content for item in await memory.list()] == ["The price is 10."]
    assert [item.content for item in await memory.history(now.id)] == ["The price is 8.", "The price is 10."]
    held = await memory.get(now.id)
    assert held is not None
    assert (held.superseded_by, held.valid_until) == (None, None)
    assert (await memory.remember("The price is 10.")).id == now.id
    begun = await memory.supersede(now.id, "The price is 14.")
    assert set((await memory.forget(begun.id)).ids) == {first.id, now.id, begun.id}
