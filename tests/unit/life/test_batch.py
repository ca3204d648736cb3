"""Several changes of one scope, written as one or not at all."""

import asyncio
from datetime import timedelta

import pytest

from retentive import Batch, Conflict, InvalidInput, Memory, NewMemory, NotFound, NotTrusted, Origin
from retentive.events import Event
from retentive.stores.base import Changes, Written
from retentive.testing.clocks import FakeClock
from retentive.testing.places import Place

MARK = "extract/t"


def new(content: str, **fields: object) -> NewMemory:
    return NewMemory(content=content, **fields)  # type: ignore[arg-type]


async def contents(memory: Memory) -> list[str]:
    return sorted(item.content for item in await memory.list())


async def test_new_ones_links_edits_and_notes_are_written_together(memory: Memory) -> None:
    old, edited, known = await memory.remember_many(["Rent is 900.", "Anna rows.", "Tea is at five."])
    events: list[Event] = []
    memory.subscribe(events.append)
    done = await memory.apply(
        Batch(
            new=[new("Rent is 950."), new("tea is at five"), new("The boat is red.")],
            supersedes={0: [old.id]},
            edits={edited.id: {"importance": 0.9}},
            notes={MARK: b"7"},
            expected={MARK: None},
        )
    )
    assert [item.content for item in done.items] == ["Rent is 950.", "Tea is at five.", "The boat is red."]
    assert done.restated == (known.id,)
    assert [(item.id, item.superseded_by) for item in done.superseded] == [(old.id, done.items[0].id)]
    assert [(item.id, item.importance) for item in done.edited] == [(edited.id, 0.9)]
    assert await memory.notes() == {MARK: b"7"}
    assert await contents(memory) == ["Anna rows.", "Rent is 950.", "Tea is at five.", "The boat is red."]
    assert (events[0].verb, events[0].restated) == ("apply", (known.id,))


async def test_the_notes_are_written_even_if_everything_was_there(memory: Memory) -> None:
    known = await memory.remember("Tea is at five.")
    done = await memory.apply(Batch(new=[new("Tea is at five.")], notes={MARK: b"9"}))
    assert done.restated == (known.id,)
    assert await memory.notes("extract/") == {MARK: b"9"}
    await memory.apply(Batch(notes={MARK: None}))
    assert await memory.notes() == {}
    assert await memory.count() == 1


async def test_what_is_not_as_expected_stops_all_of_it(memory: Memory) -> None:
    await memory.apply(Batch(notes={MARK: b"1"}))
    for expected in ({MARK: None}, {MARK: b"2"}, {"other": b"x"}):
        with pytest.raises(Conflict, match="note"):
            await memory.apply(Batch(new=[new("Tea is at five.")], notes={MARK: b"3"}, expected=expected))
    assert (await memory.notes(), await memory.count()) == ({MARK: b"1"}, 0)


async def test_two_workers_with_one_watermark_write_once(place: Place) -> None:
    memory = place.open()
    batch = [
        Batch(new=[new(f"Worker {n} was here.")], notes={MARK: b"1"}, expected={MARK: None}) for n in (1, 2)
    ]
    done = await asyncio.gather(*map(memory.apply, batch), return_exceptions=True)
    assert sorted(type(one).__name__ for one in done) == ["Applied", "Conflict"]
    assert await memory.count() == 1


@pytest.mark.parametrize("lenient", [False, True])
async def test_what_cannot_be_superseded_is_refused(memory: Memory, lenient: bool) -> None:
    said, gave_way = await memory.remember_many(["The code is 1234.", "Rent is 900."])
    await memory.supersede(gave_way.id, "Rent is 950.")
    batch = Batch(
        new=[new("The code is 9999.", origin="tool"), new("Rent is 990."), new("Ida runs.")],
        supersedes={0: [said.id], 1: [gave_way.id], 2: ["unknown"]},
        notes={MARK: b"1"},
        lenient=lenient,
    )
    if not lenient:
        with pytest.raises(NotTrusted):
            await memory.apply(batch)
        assert await contents(memory) == ["Rent is 950.", "The code is 1234."]
        assert await memory.notes() == {}
        return
    done = await memory.apply(batch)
    assert set(done.refused) == {said.id, gave_way.id, "unknown"}
    assert (done.superseded, await memory.notes()) == ([], {MARK: b"1"})
    assert await contents(memory) == [
        "Ida runs.", "Rent is 950.", "Rent is 990.", "The code is 1234.", "The code is 9999.",
    ]  # fmt: skip
    assert await memory.get(said.id) == said


async def test_two_that_say_the_same_are_written_once_whatever_finds_it(memory: Memory) -> None:
    old, other = await memory.remember_many(["Rent is 900.", "The rent was 900 once."])
    done = await memory.apply(
        Batch(new=[new("Rent is 950."), new("Rent is 950.")], supersedes={0: [old.id], 1: [other.id]})
    )
    assert len({item.id for item in done.items}) == 1
    assert {item.superseded_by for item in done.superseded} == {done.items[0].id}
    assert await contents(memory) == ["Rent is 950."]
    keyed = await memory.apply(Batch(new=[new("Ida rows.", key="k"), new("Ida rows.", key="k")]))
    assert len({item.id for item in keyed.items}) == 1
    again = Batch(new=[new("Otto sails.")], supersedes={0: [keyed.items[0].id]})
    assert (await memory.apply(again)).superseded
    with pytest.raises(Conflict, match="'k' was used for memory"):
        await memory.apply(Batch(new=[new("Ida rows at noon.", key="x"), new("Ida skis.", key="k")]))
    with pytest.raises(Conflict, match="'y' was used for memory"):
        await memory.apply(Batch(new=[new("Ida swims.", key="y"), new("Ida skis.", key="y")]))
    assert await contents(memory) == ["Otto sails.", "Rent is 950."]


async def test_an_expired_memory_in_the_way_makes_room(memory: Memory, clock: FakeClock) -> None:
    expired = await memory.remember("Stand 4 is free.", ttl=timedelta(hours=1), key="k")
    clock.move(hours=1)
    done = await memory.apply(Batch(new=[new("Stand 4 is free."), new("Stand 5 is free.", key="k")]))
    assert expired.id not in {item.id for item in done.items}
    assert await contents(memory) == ["Stand 4 is free.", "Stand 5 is free."]


async def test_what_is_restated_lives_as_long_as_the_new_statement_asks(memory: Memory) -> None:
    short = await memory.remember("Stand 4 is free.", ttl=timedelta(hours=1))
    done = await memory.apply(Batch(new=[new("Stand 4 is free.")]))
    assert (done.items[0].id, done.items[0].expires_at) == (short.id, None)
    assert await memory.get(short.id) == done.items[0]


async def test_merging_leaves_no_older_wording_at_any_time(memory: Memory, clock: FakeClock) -> None:
    one = await memory.remember("Ida likes tea.", valid_until=clock() + timedelta(days=9), origin="assistant")
    clock.move(days=1)
    done = await memory.apply(
        Batch(new=[new("Ida likes green tea.", origin="assistant")], merges={0: [one.id]})
    )
    assert done.items[0].valid_from is None
    before = clock() - timedelta(hours=20)
    assert [i.content for i in await memory.list(as_of=before)] == ["Ida likes green tea."]
    assert [i.content for i in await memory.list(known_at=before)] == ["Ida likes tea."]
    assert done.superseded[0].origin is done.items[0].origin is Origin.ASSISTANT


@pytest.mark.parametrize(
    "batch",
    [
        Batch(new=[new("a")], supersedes={1: ["x"]}),
        Batch(new=[new("a")], supersedes={-1: ["x"]}),
        Batch(new=[new("a")], supersedes={0: "x"}),
        Batch(new=[new("a"), new("b")], supersedes={0: ["x"]}, merges={1: ["x"]}),
        Batch(new=[new("  ")]),
        Batch(edits={"x": {"origin": "user"}}),
        Batch(edits={"x": {"importance": 7}}),
        Batch(new=[new(f"n {n}") for n in range(1_001)]),
        Batch(notes={"": b"x"}),
    ],
    ids=range(9),
)
async def test_a_batch_that_cannot_be_is_refused_whole(memory: Memory, batch: Batch) -> None:
    with pytest.raises(InvalidInput):
        await memory.apply(batch)
    assert (await memory.count(), await memory.notes()) == (0, {})


async def test_an_edit_of_what_is_not_there_is_told(memory: Memory) -> None:
    batch = Batch(edits={"x": {"importance": 0.1}}, new=[new("a tree")])
    with pytest.raises(NotFound):
        await memory.apply(batch)
    assert await memory.count() == 0


async def test_an_edit_may_not_say_what_another_memory_says(memory: Memory) -> None:
    one, _ = await memory.remember_many(["Ida rows.", "Bo skis."])
    with pytest.raises(Conflict):
        await memory.apply(Batch(edits={one.id: {"content": "Bo skis."}}, notes={MARK: b"1"}))
    assert (await contents(memory), await memory.notes()) == (["Bo skis.", "Ida rows."], {})


async def test_a_place_taken_between_reading_and_writing_is_seen(place: Place) -> None:
    """Another writer stores the same text, and changes the old memory, just before the batch is written."""
    memory, rival, store = place.open(), place.open(), place.store()
    old = await memory.remember("Rent is 900.")
    write, rivals = store.write, 0

    async def after_rival(changes: Changes) -> Written:
        nonlocal rivals
        if changes.whole and not rivals:
            rivals += 1
            await rival.remember("Rent is 950.")
            await rival.update(old.id, importance=0.1)
        return await write(changes)

    store.write = after_rival  # type: ignore[method-assign]
    racing = place.open(store=store)
    done = await racing.apply(Batch(new=[new("Rent is 950.")], supersedes={0: [old.id]}, notes={MARK: b"1"}))
    assert rivals == 1
    assert done.restated == (done.items[0].id,)
    assert await contents(memory) == ["Rent is 950."]
    before = await memory.get(old.id)
    assert before is not None
    assert (before.superseded_by, before.importance) == (done.items[0].id, 0.1)
    assert await memory.notes() == {MARK: b"1"}


async def test_a_change_made_between_reading_and_writing_is_not_undone(place: Place) -> None:
    memory, rival, store = place.open(), place.open(), place.store()
    old = await memory.remember("Rent is 900.")
    write, rivals = store.write, 0

    async def after_rival(changes: Changes) -> Written:
        nonlocal rivals
        if changes.whole and not rivals:
            rivals += 1
            await rival.update(old.id, importance=0.1)
        return await write(changes)

    store.write = after_rival  # type: ignore[method-assign]
    await place.open(store=store).supersede(old.id, "Rent is 950.")
    before = await memory.get(old.id)
    assert before is not None
    assert (before.importance, before.superseded_by is None) == (0.1, False)
