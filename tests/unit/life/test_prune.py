"""What a policy lets go of, and that nothing else goes."""

from datetime import timedelta
from typing import Any

import pytest

from retentive import Event, InvalidInput, Memory, MemoryKind, RetentionPolicy, RetentionRule
from retentive.life import prune
from retentive.testing.clocks import FakeClock
from retentive.testing.places import Place

DAY = timedelta(days=1)


async def left(memory: Memory, **whose: Any) -> list[str]:
    return sorted(item.content for item in await memory.list(include_superseded=True, **whose))


async def pruned(memory: Memory, policy: RetentionPolicy) -> dict[str, int]:
    """What is removed, which is just what the dry run said."""
    said = await memory.prune(policy, user_id=None)
    before = await left(memory)
    assert said.dry_run
    assert await left(memory) == before
    done = await memory.prune(policy, user_id=None, dry_run=False)
    assert (done.removed, done.ids, done.scanned) == (said.removed, said.ids, said.scanned)
    assert (await memory.prune(policy, user_id=None, dry_run=False)).total == 0
    return dict(done.removed)


async def test_the_boundary_of_age_is_exact(memory: Memory, clock: FakeClock) -> None:
    await memory.remember("Rent is 900.")
    clock.move(days=90)
    policy = RetentionPolicy(max_age=90 * DAY)
    assert await pruned(memory, policy) == {}
    clock.move(microseconds=1)
    assert await pruned(memory, policy) == {"age": 1}
    assert await left(memory) == []


async def test_expired_ones_go_by_any_policy_from_the_instant_on(memory: Memory, clock: FakeClock) -> None:
    await memory.remember("The guest sleeps here.", ttl=DAY)
    await memory.remember("Rent is 900.")
    clock.move(hours=23, minutes=59)
    assert await pruned(memory, RetentionPolicy()) == {}
    clock.move(minutes=1)
    assert await pruned(memory, RetentionPolicy()) == {"expired": 1}
    assert await left(memory) == ["Rent is 900."]


async def test_a_change_begins_idleness_anew_but_not_age(memory: Memory, clock: FakeClock) -> None:
    old, _ = await memory.remember_many(["Rent is 900.", "Ida runs."])
    clock.move(days=20)
    await memory.update(old.id, importance=0.4)
    clock.move(days=20)
    assert await pruned(memory, RetentionPolicy(max_idle=30 * DAY)) == {"idle": 1}
    assert await left(memory) == ["Rent is 900."]
    assert await pruned(memory, RetentionPolicy(max_age=30 * DAY)) == {"age": 1}


async def test_a_recall_begins_idleness_anew_where_uses_are_tracked(place: Place) -> None:
    memory = place.open(track_use=True)
    await memory.remember_many(["Rent is 900 euros.", "Ida rows on Sundays."])
    place.clock.move(days=20)
    assert (await memory.recall("rent", limit=1))[0].content == "Rent is 900 euros."
    place.clock.move(days=20)
    report = await memory.prune(RetentionPolicy(max_idle=30 * DAY), user_id=None, dry_run=False)
    assert report.removed == {"idle": 1}
    assert await left(memory) == ["Rent is 900 euros."]


async def test_the_least_important_go_once_they_are_old_enough(memory: Memory, clock: FakeClock) -> None:
    await memory.remember("Trivia from before.", importance=0.1)
    clock.move(days=10)
    await memory.remember("Trivia of today.", importance=0.1)
    await memory.remember("Just at the floor.", importance=0.2)
    policy = RetentionPolicy(min_importance=0.2, min_age=7 * DAY)
    assert await pruned(memory, policy) == {"importance": 1}
    assert await left(memory) == ["Just at the floor.", "Trivia of today."]
    clock.move(days=7)
    assert await pruned(memory, policy) == {"importance": 1}
    assert await left(memory) == ["Just at the floor."]


async def test_importance_that_fades_falls_below_the_floor(memory: Memory, clock: FakeClock) -> None:
    await memory.remember("Half important.", importance=0.5)
    await memory.remember("All important.", importance=1.0)
    clock.move(days=60)
    policy = RetentionPolicy(min_importance=0.2, half_life=30 * DAY)
    assert await pruned(memory, policy) == {"importance": 1}
    assert await left(memory) == ["All important."]
    clock.move(days=60)
    assert await pruned(memory, policy) == {"importance": 1}


async def test_the_most_important_are_kept_and_of_equals_the_newer(memory: Memory) -> None:
    await memory.remember("Ida runs.", importance=0.5)
    await memory.remember("Rent is 900.", importance=0.9)
    await memory.remember("Tea is at five.", importance=0.5)
    assert await pruned(memory, RetentionPolicy(keep_top=2)) == {"keep_top": 1}
    assert await left(memory) == ["Rent is 900.", "Tea is at five."]
    assert await pruned(memory, RetentionPolicy(keep_top=0)) == {"keep_top": 2}


async def test_keep_top_counts_those_that_stay(memory: Memory, clock: FakeClock) -> None:
    await memory.remember("Old but very important.", importance=1.0)
    clock.move(days=100)
    await memory.remember("Rent is 900.", importance=0.5)
    assert await pruned(memory, RetentionPolicy(max_age=90 * DAY, keep_top=1)) == {"age": 1}
    assert await left(memory) == ["Rent is 900."]


async def test_a_kind_has_its_own_rule_and_the_others_the_policys(memory: Memory, clock: FakeClock) -> None:
    await memory.remember("Boil, then steep.", kind="procedural")
    await memory.remember("We met in Rome.", kind="episodic")
    await memory.remember("Rent is 900.")
    clock.move(days=40)
    policy = RetentionPolicy(
        max_age=30 * DAY,
        kinds={MemoryKind.PROCEDURAL: RetentionRule(), MemoryKind.EPISODIC: RetentionRule(max_age=50 * DAY)},
    )
    assert await pruned(memory, policy) == {"age": 1}
    assert await left(memory) == ["Boil, then steep.", "We met in Rome."]


async def test_older_versions_stay_with_their_head_and_go_with_it(memory: Memory, clock: FakeClock) -> None:
    first = await memory.remember("Rent is 900.")
    clock.move(days=50)
    second = await memory.supersede(first.id, "Rent is 950.")
    clock.move(days=45)
    last = await memory.supersede(second.id, "Rent is 990.")
    policy = RetentionPolicy(max_age=60 * DAY, min_importance=0.4)
    assert await pruned(memory, policy) == {}
    assert len(await memory.history(last.id)) == 3
    clock.move(days=61)
    done = await memory.prune(policy, user_id=None, dry_run=False)
    assert done.removed == {"history": 2, "age": 1}
    assert done.ids == (first.id, second.id, last.id)


async def test_superseded_ones_are_purged_on_their_own_when_asked(memory: Memory, clock: FakeClock) -> None:
    first = await memory.remember("Rent is 900.")
    second = await memory.supersede(first.id, "Rent is 950.")
    clock.move(days=5)
    last = await memory.supersede(second.id, "Rent is 990.")
    clock.move(days=5)
    policy = RetentionPolicy(purge_superseded_after=10 * DAY)
    assert await pruned(memory, policy) == {"superseded": 1}
    assert [item.id for item in await memory.history(last.id)] == [second.id, last.id]
    clock.move(days=5)
    assert await pruned(memory, policy) == {"superseded": 1}
    history = await memory.history(last.id)
    assert [(item.id, item.supersedes) for item in history] == [(last.id, None)]


async def test_what_is_superseded_from_a_day_to_come_is_not_purged_before(
    memory: Memory, clock: FakeClock
) -> None:
    old = await memory.remember("Rent is 900.")
    await memory.supersede(old.id, "Rent is 950.", valid_from=clock.now + 20 * DAY)
    clock.move(days=19)
    policy = RetentionPolicy(purge_superseded_after=timedelta(0))
    assert await pruned(memory, policy) == {}
    clock.move(days=1)
    assert await pruned(memory, policy) == {"superseded": 1}


@pytest.mark.parametrize("batch", [1, 2, 3])
async def test_a_chain_is_never_cut_in_the_middle_however_the_batches_fall(
    memory: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(prune, "BATCH", batch)
    heads: list[str] = []
    for name in "abc":
        item = await memory.remember(f"Room {name} costs 1.")
        for price in (2, 3, 4):
            item = await memory.supersede(item.id, f"Room {name} costs {price}.")
        heads.append(item.id)
    clock.move(days=2)
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))

    policy = RetentionPolicy(max_age=DAY)
    report = await memory.prune(policy, user_id=None, dry_run=False, progress=tell)
    assert report.total == 12
    assert told[-1] == (12, 12)
    assert len(told) == -(-12 // batch)
    for chain in range(3):
        ids = report.ids[4 * chain : 4 * chain + 4]
        assert list(ids) == sorted(ids)
        assert ids[-1] in heads


async def test_everyone_is_each_scope_of_this_namespace_alone(place: Place) -> None:
    memory, other = place.open("a"), place.open("b")
    for user in (None, "ann", "bo"):
        await memory.remember("Rent is 900.", user_id=user)
    await other.remember("Rent is 900.")
    place.clock.move(days=2)
    policy = RetentionPolicy(max_age=DAY)
    assert (await memory.prune(policy, user_id="ann", dry_run=False)).total == 1
    report = await memory.prune(policy, everyone=True, dry_run=False)
    assert (report.total, report.scopes) == (2, 2)
    assert await other.count() == 1


async def test_the_list_of_ids_is_bounded_and_the_counts_are_not(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "MAX_LISTED", 3)
    items = await memory.remember_many([f"The box {n} is in room {n}." for n in range(5)])
    report = await memory.prune(RetentionPolicy(keep_top=0), user_id=None, dry_run=False)
    assert (report.total, len(report.ids)) == (5, 3)
    assert set(report.ids) <= {item.id for item in items}


async def test_what_changed_since_the_plan_is_looked_at_again(
    memory: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "BATCH", 1)
    items = await memory.remember_many(["Rent is 900.", "Ida runs."])
    clock.move(days=2)
    saved: list[str] = []

    def save(event: Event) -> None:
        if event.verb == "prune" and not saved:
            saved.extend(item.id for item in items if item.id not in event.ids)

    memory.subscribe(save)
    real = prune.condemned

    def condemned(*args: Any) -> dict[str, str]:
        return {id: why for id, why in real(*args).items() if id not in saved}

    monkeypatch.setattr(prune, "condemned", condemned)
    assert (await memory.prune(RetentionPolicy(max_age=DAY), user_id=None, dry_run=False)).total == 1
    assert await memory.count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_age": timedelta(0)},
        {"max_idle": -DAY},
        {"max_age": 90},
        {"min_importance": 1.5},
        {"keep_top": -1},
        {"keep_top": True},
        {"half_life": timedelta(0)},
        {"kinds": {"semantic": 3}},
        {"kinds": {"dreams": RetentionRule()}},
    ],
)
def test_a_policy_that_can_mean_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        RetentionPolicy(**wrong)


async def test_prune_must_be_told_whose_and_by_what(memory: Memory) -> None:
    policy = RetentionPolicy(keep_top=0)
    for whose in ({}, {"user_id": "ann", "everyone": True}):
        with pytest.raises(InvalidInput, match="whose"):
            await memory.prune(policy, **whose)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="RetentionPolicy"):
        await memory.prune(RetentionRule(keep_top=0), user_id=None)  # type: ignore[arg-type]
