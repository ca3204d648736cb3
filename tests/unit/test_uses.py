"""How often memories are used is counted beside the recall, and lets importance fade or stay."""

from collections.abc import Awaitable, Callable

import pytest

from retentive import Memory, Profiles, RankingProfile, Scope, uses
from retentive.stores.base import Changes, Written
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.testing.clocks import FakeClock
from retentive.testing.places import Place
from retentive.uses import UseNotes, UseTracker


async def counts(place: Place, user_id: str | None = None) -> dict[str, int]:
    store = place.store()
    await store.open()
    return {id: count for id, (count, _) in (await UseNotes(store).read(Scope("default", user_id))).items()}


def tracker_of(memory: Memory) -> UseTracker:
    tracker = memory._uses  # pyright: ignore[reportPrivateUsage]
    assert tracker is not None
    return tracker


async def test_recalls_are_counted_and_written_at_the_latest_at_close(place: Place) -> None:
    memory = place.open(track_use=True)
    rent, ida = await memory.remember_many(["Rent is 900 euros.", "Ida rows on Sundays."], user_id="ann")
    for query in ("rent", "rent", "who rows?"):
        await memory.recall(query, user_id="ann", limit=1)
    await memory.get(rent.id, user_id="ann")
    await memory.search("rent", user_id="ann")
    assert await counts(place, "ann") == {}
    await memory.close()
    assert await counts(place, "ann") == {rent.id: 2, ida.id: 1}
    assert await counts(place) == {}


async def test_nothing_is_written_unless_asked(place: Place) -> None:
    memory = place.open()
    await memory.remember("Rent is 900 euros.")
    await memory.recall("rent")
    await memory.close()
    assert await counts(place) == {}


async def test_several_processes_add_up(place: Place) -> None:
    first, second = place.open(track_use=True), place.open(track_use=True)
    item = await first.remember("Rent is 900 euros.")
    for memory in (first, second, second):
        await memory.recall("rent")
    await first.close()
    await second.close()
    assert await counts(place) == {item.id: 3}


class Raced(InMemoryStore):
    """Lets another writer in just before the next write."""

    before: Callable[[], Awaitable[None]] | None = None

    async def write(self, changes: Changes) -> Written:
        act, self.before = self.before, None
        if act is not None:
            await act()
        return await super().write(changes)


async def test_of_two_that_count_at_once_neither_is_lost() -> None:
    store, scope = Raced(), Scope("default")
    notes = UseNotes(store)
    item = await Memory(store=store).remember("Rent is 900 euros.")
    store.before = lambda: notes.add(scope, {item.id: (1, 5)})
    await notes.add(scope, {item.id: (1, 3)})
    assert await notes.read(scope) == {item.id: (2, 5)}


async def test_what_is_forgotten_while_it_is_counted_is_not_counted() -> None:
    store = Raced()
    memory = Memory(store=store)
    item = await memory.remember("Rent is 900 euros.", user_id="ann")

    async def forget() -> None:
        await memory.forget_user("ann", threads=InMemoryThreadStore())

    store.before = forget
    await UseNotes(store).add(Scope("default", "ann"), {item.id: (1, 3)})
    assert await store.scopes("default") == []


async def test_an_erased_user_does_not_come_back_with_the_counts_that_waited(place: Place) -> None:
    memory, threads = place.open(track_use=True), InMemoryThreadStore()
    await memory.remember("Carla likes figs.", user_id="carla@example.com")
    await memory.recall("figs", user_id="carla@example.com")
    await tracker_of(memory).flush()
    await memory.recall("figs", user_id="carla@example.com")
    receipt = await memory.forget_user("carla@example.com", threads=threads)
    await memory.close()
    other = place.open()
    assert await other.scopes() == []
    assert await other.verify_forgotten(receipt, threads=threads)
    assert b"carla@" not in (place.bytes_on_disk() if place.keeps else b"")


async def test_what_is_forgotten_takes_its_counts_along_and_leaves_those_of_others(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uses, "SHARDS", 1)
    memory = place.open(track_use=True)
    rent, ida = await memory.remember_many(["Rent is 900 euros.", "Ida rows on Sundays."])
    for query in ("rent", "who rows?"):
        await memory.recall(query, limit=1)
    await tracker_of(memory).flush()
    assert await counts(place) == {rent.id: 1, ida.id: 1}
    await memory.recall("rent", limit=1)
    receipt = await memory.forget(rent.id)
    assert await counts(place) == {ida.id: 1}
    await memory.close()
    assert await counts(place) == {ida.id: 1}
    other = place.open()
    assert await other.verify_forgotten(receipt)
    note = b'{"%s":[1,1]}' % rent.id.encode()
    await place.store().write(Changes(scope=Scope("default"), notes={"use/0": note}))
    verdict = await other.verify_forgotten(receipt)
    assert verdict.found == ("uses: 1",)


async def test_a_full_hand_is_written_at_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uses, "MAX_WAITING", 2)
    memory = place.open(track_use=True)
    item = await memory.remember("Rent is 900 euros.")
    for _ in range(2):
        await memory.recall("rent")
    await tracker_of(memory).settled()
    assert await counts(place) == {item.id: 2}


async def test_of_too_many_the_least_recently_used_are_forgotten(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uses, "MAX_A_SHARD", 2)
    monkeypatch.setattr(uses, "SHARDS", 1)
    notes, scope = UseNotes(place.store()), Scope("default")
    words = ["Rent is 900 euros.", "Ida rows on Sundays.", "Kilns burn hot.", "Figs are ripe."]
    ids = [item.id for item in await place.open().remember_many(words)]
    for moment, id in enumerate([*ids, "none"]):
        await notes.add(scope, {id: (1, moment)})
    assert await notes.read(scope) == {ids[3]: (1, 3), ids[2]: (1, 2)}
    different = await notes.without(scope, [ids[2], ids[3], "none"])
    assert different.after == {"use/0": None}
    assert await place.store().notes(scope) == different.before


async def test_what_the_store_does_not_take_is_logged_and_breaks_nothing(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    memory = place.open(track_use=True)
    await memory.remember("Rent is 900 euros.")
    await memory.recall("rent")
    await place.store().write(Changes(scope=Scope("default"), notes={"use/0": b"{}"}))
    await place.close()
    await tracker_of(memory).flush()
    assert "is lost" in caplog.text


def fading(share: float = 1.0) -> Profiles:
    flat = RankingProfile(name="flat", recency=0.0, importance=2.0, cosine=0.0)
    return Profiles(turns=flat, others=flat).with_fading(share, half_life_s=30 * 86_400)


@pytest.mark.parametrize(
    ("days", "recalls", "kept"), [(0, 0, 1.0), (30, 0, 0.5), (60, 0, 0.25), (60, 1, 0.5), (90, 2, 0.5)]
)
async def test_importance_halves_with_each_half_life_which_grows_with_each_use(
    place: Place, days: int, recalls: int, kept: float
) -> None:
    memory = place.open(track_use=True, profiles=fading())
    await memory.remember("Rent is 900 euros.", importance=0.8)
    for _ in range(recalls):
        await memory.recall("rent")
    await tracker_of(memory).flush()
    place.clock.move(days=days)
    why = (await memory.recall("rent"))[0].why
    assert why["importance"] == pytest.approx(2.0 * (2 * 0.8 - 1), abs=1e-5)
    assert why["importance"] + why.get("fading", 0.0) == pytest.approx(2.0 * (2 * 0.8 * kept - 1), abs=1e-5)


async def test_a_use_begins_the_fading_anew(place: Place) -> None:
    memory = place.open(track_use=True, profiles=fading())
    await memory.remember("Rent is 900 euros.", importance=0.8)
    place.clock.move(days=300)
    await memory.recall("rent")
    await tracker_of(memory).flush()
    assert "fading" not in (await memory.recall("rent"))[0].why


async def test_it_is_off_unless_a_profile_asks_and_never_counts_in_search(
    memory: Memory, place: Place, clock: FakeClock
) -> None:
    await memory.remember("Rent is 900 euros.")
    clock.move(days=300)
    assert "fading" not in (await memory.recall("rent"))[0].why
    assert "fading" not in (await place.open(profiles=fading()).search("rent"))[0].why
    half = (await place.open(profiles=fading(0.5)).recall("rent"))[0].why["fading"]
    full = (await place.open(profiles=fading()).recall("rent"))[0].why["fading"]
    assert half == pytest.approx(full / 2, abs=1e-5)
    assert full < 0


def test_the_name_of_a_profile_tells_its_fading() -> None:
    assert fading(0.5).others.name == "flat fading 0.5"
    assert fading().fades
    assert not fading().relevance_only().fades
