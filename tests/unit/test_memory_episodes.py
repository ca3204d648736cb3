"""Episodes, facts and procedures: thin over the verbs, each with a meaning of its own."""

import asyncio
from typing import Any

import pytest

from retentive import InvalidInput, Memory, MemoryKind, Origin, Source, sync
from retentive.errors import NotTrusted
from retentive.testing.clocks import FakeClock

A_SOURCE = Source(document="runbook.md")


async def test_an_episode_tells_task_outcome_and_steps(memory: Memory) -> None:
    item = await memory.record_episode(
        "Deploy the site",
        "The build ran out of memory",
        False,
        user_id="ada",
        steps=["build", "upload"],
        metadata={"ticket": 7},
        tags=["site"],
        source=A_SOURCE,
    )
    assert item.content == (
        "Task: Deploy the site\nOutcome (failed): The build ran out of memory\nSteps:\n1. build\n2. upload"
    )
    assert (item.kind, item.success, item.origin) == (MemoryKind.EPISODIC, False, Origin.ASSISTANT)
    assert (item.tags, item.source) == (("site",), A_SOURCE)
    assert item.metadata == {
        "ticket": 7,
        "episode": {
            "task": "Deploy the site",
            "outcome": "The build ran out of memory",
            "steps": ["build", "upload"],
        },
    }


async def test_how_it_went_is_a_fact_of_its_own(memory: Memory) -> None:
    """The same task and words, another success: three episodes."""
    ids = {(await memory.record_episode("Deploy the site", "done", went)).id for went in (True, False, None)}
    assert len(ids) == 3
    again = await memory.record_episode("Deploy the site", "done", True)
    assert again.id in ids


async def test_guidance_comes_from_what_went_well(memory: Memory) -> None:
    good = await memory.record_episode("Deploy the site", "It was live after two minutes", True)
    bad = await memory.record_episode("Deploy the site on a Friday", "It was down for a weekend", False)
    still = await memory.record_episode("Deploy the shop", "Waiting for a key")
    told = await memory.remember("Deploying the site needs a key", kind=MemoryKind.EPISODIC, success=True)
    await memory.remember("Deploy the site soon", kind=MemoryKind.SEMANTIC)
    found = {hit.id for hit in await memory.similar_episodes("deploy the site")}
    assert found == {good.id, bad.id, still.id, told.id}
    well = await memory.similar_episodes("deploy the site", success=True)
    assert {hit.id for hit in well} == {good.id, told.id}
    assert [hit.id for hit in await memory.similar_episodes("deploy the site", success=False)] == [bad.id]
    assert len(await memory.similar_episodes("deploy the site", limit=1)) == 1
    assert not await memory.similar_episodes("deploy the site", user_id="ada")


async def test_facts_of_the_subject_come_first(memory: Memory) -> None:
    other = await memory.remember_fact("Bob met Ada Lovelace in Ada's garden, where Ada works.")
    tea = await memory.remember_fact("She prefers green tea.", subject="Ada  Lovelace", tags=["taste"])
    boat = await memory.remember_fact("Her boat is called Swift.", subject="ada lovelace", key="boat")
    await memory.remember_fact("Bob likes coffee.", subject="Bob")
    found = await memory.facts_about("Ada Lovelace")
    assert [hit.id for hit in found][:3] == [boat.id, tea.id, other.id]
    assert [hit.rank for hit in found][:3] == [1, 2, 3]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    for hit in found:
        assert sum(hit.why.values()) == pytest.approx(hit.score)
    assert tea.tags == ("subject:ada lovelace", "taste")
    assert [hit.id for hit in await memory.facts_about("ADA LOVELACE", limit=1)] == [boat.id]
    assert tea.kind is MemoryKind.SEMANTIC
    again = await memory.remember_fact("Her boat is called Swift.", subject="ada lovelace", key="boat")
    assert again.id == boat.id


@pytest.mark.parametrize("topic", ["", " ", "x" * 5_000, "a\nb", "Was mag Ada? \x00"])
async def test_any_topic_can_be_asked_for(memory: Memory, topic: str) -> None:
    await memory.remember_fact("Ada likes tea.", subject="Ada")
    assert len(await memory.facts_about(topic)) <= 1


async def test_a_new_version_of_a_procedure_supersedes_the_old_one(memory: Memory) -> None:
    first = await memory.remember_procedure("Deploy the site", ["build", "upload"], user_id="ada")
    assert first.content == "Deploy the site\n1. build\n2. upload"
    assert first.metadata == {"procedure": {"name": "Deploy the site", "steps": ["build", "upload"]}}
    second = await memory.remember_procedure("deploy  THE site", ["test", "build", "upload"], user_id="ada")
    third = await memory.remember_procedure("Deploy the site", ["press the button"], user_id="ada")
    found = await memory.procedures_for("How do I deploy the site?", user_id="ada")
    assert [hit.id for hit in found] == [third.id]
    story = await memory.history(third.id, user_id="ada")
    assert [item.id for item in story] == [first.id, second.id, third.id]
    assert not await memory.procedures_for("deploy the site")


async def test_the_same_steps_again_are_the_same_procedure(memory: Memory) -> None:
    first = await memory.remember_procedure("Deploy", ["build", "upload"])
    assert (await memory.remember_procedure("Deploy", ["build", "upload"])).id == first.id
    other = await memory.remember_procedure("Roll back", ["build", "upload"])
    assert other.id != first.id
    assert await memory.count(kinds=MemoryKind.PROCEDURAL) == 2


async def test_a_forgotten_procedure_can_be_remembered_anew(memory: Memory) -> None:
    first = await memory.remember_procedure("Deploy", ["build", "upload"])
    await memory.forget(first.id)
    again = await memory.remember_procedure("Deploy", ["press the button"])
    assert [hit.id for hit in await memory.procedures_for("deploy")] == [again.id]


async def test_a_procedure_told_by_hand_is_the_same_memory(memory: Memory) -> None:
    told = await memory.remember("deploy\n1. build\n2. upload.", kind=MemoryKind.PROCEDURAL)
    assert (await memory.remember_procedure("Deploy", ["build", "upload"])).id == told.id


async def test_a_procedure_whose_tags_were_taken_off_does_not_block_its_name(memory: Memory) -> None:
    await memory.remember_procedure("Deploy", ["build"])
    second = await memory.remember_procedure("Deploy", ["build", "upload"])
    await memory.update(second.id, tags=[])
    third = await memory.remember_procedure("Deploy", ["press the button"])
    assert third.content == "Deploy\n1. press the button"
    assert await memory.count(kinds=MemoryKind.PROCEDURAL) == 2


async def test_writers_at_once_leave_one_version(memory: Memory) -> None:
    """Each version is kept, one as the history of the other."""
    done = await asyncio.gather(
        *(memory.remember_procedure("Deploy", [f"press button {number}"]) for number in (1, 2, 3))
    )
    living = await memory.list(kinds=MemoryKind.PROCEDURAL)
    assert len(living) == 1
    story = await memory.history(living.items[0].id)
    assert {item.id for item in story} == {item.id for item in done}
    assert len(story) == 3


async def test_the_assistant_never_corrects_a_procedure_of_the_user(memory: Memory) -> None:
    mine = await memory.remember_procedure("Deploy", ["build", "upload"])
    with pytest.raises(NotTrusted):
        await memory.remember_procedure("Deploy", ["wipe all"], origin=Origin.ASSISTANT)
    assert [hit.id for hit in await memory.procedures_for("deploy")] == [mine.id]


async def test_procedures_marked_as_failing_are_not_recommended_however_many(memory: Memory) -> None:
    good = await memory.remember_procedure("Deploy the site by hand", ["copy it over"])
    for number in range(8):
        bad = await memory.remember_procedure(f"Deploy the site, deploy way {number}", ["deploy the site"])
        await memory.update(bad.id, success=False)
    found = await memory.procedures_for("deploy the site", limit=2)
    assert [(hit.id, hit.rank) for hit in found] == [(good.id, 1)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": "build"},
        {"steps": []},
        {"steps": [""]},
        {"steps": [1]},
        {"steps": None},
        {"steps": ["x"] * 1_001},
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 119},
        {"name": "ß" * 100},
        {"metadata": {"procedure": 1}},
    ],
)
async def test_what_cannot_be_used_is_refused(memory: Memory, wrong: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"name": "Deploy", "steps": ["build"], **wrong}
    with pytest.raises(InvalidInput):
        await memory.remember_procedure(**fields)
    assert await memory.count() == 0


@pytest.mark.parametrize(
    "wrong", [{"success": "yes"}, {"success": 1}, {"task": " "}, {"metadata": {"episode": 1}}]
)
async def test_an_episode_that_cannot_be_used_is_refused(memory: Memory, wrong: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"task": "Deploy", "outcome": "done", **wrong}
    with pytest.raises(InvalidInput):
        await memory.record_episode(**fields)
    assert await memory.count() == 0


def test_the_blocking_ones_do_the_same() -> None:
    with sync.Memory(store="memory://") as memory:
        episode = memory.record_episode("Deploy the site", "It is live", True)
        fact = memory.remember_fact("She likes tea.", subject="Ada")
        procedure = memory.remember_procedure("Deploy the site", ["build"])
        assert memory.similar_episodes("deploy the site", success=True)[0].id == episode.id
        assert memory.facts_about("Ada")[0].id == fact.id
        assert memory.procedures_for("deploy the site")[0].id == procedure.id
        assert len(memory.context("deploy the site").hits) >= 2


async def test_what_is_found_by_subject_task_or_context_keeps_to_the_floor(memory: Memory) -> None:
    told = await memory.remember_fact("The gate code is 9999.", subject="gate")
    await memory.remember_fact("The gate code is 6666.", subject="gate", origin=Origin.TOOL)
    done = await memory.record_episode("Open the gate", "it opened", True, origin=Origin.USER)
    await memory.record_episode("Open the gate", "it burnt", True, origin=Origin.TOOL)
    way = await memory.remember_procedure("Open the gate", ["type the code"])
    await memory.remember_procedure("Open the gate fast", ["break it"], origin=Origin.TOOL)
    floor = Origin.USER
    assert [hit.id for hit in await memory.facts_about("gate", min_trust=floor)] == [told.id]
    assert [hit.id for hit in await memory.similar_episodes("open the gate", min_trust=floor)] == [done.id]
    assert [hit.id for hit in await memory.procedures_for("open the gate", min_trust=floor)] == [way.id]
    assert len(await memory.facts_about("gate")) == len(await memory.procedures_for("open the gate")) == 2
    with pytest.raises(InvalidInput, match="min_trust"):
        await memory.facts_about("gate", min_trust="admin")


async def test_what_is_found_by_subject_task_or_context_is_what_held_then() -> None:
    clock = FakeClock()
    async with Memory(store="memory://", clock=clock) as memory:
        old = await memory.remember_fact("The gate code is 9999.", subject="gate")
        way = await memory.remember_procedure("Open the gate", ["type the code"])
        done = await memory.record_episode("Open the gate", "it opened", True)
        then = clock()
        clock.move(days=1)
        new = await memory.supersede(old.id, "The gate code is 4444.")
        newer = await memory.remember_procedure("Open the gate", ["ring the bell"])
        await memory.record_episode("Open the gate", "it rang", True)
        for time in ("as_of", "known_at"):
            at: Any = {time: then}
            assert [hit.id for hit in await memory.facts_about("gate", **at)] == [old.id]
            assert [hit.id for hit in await memory.procedures_for("open the gate", **at)] == [way.id]
            shown = (await memory.context("what is the gate code?", **at)).text
            assert ("9999" in shown, "4444" in shown) == (True, False)
        found = await memory.similar_episodes("open the gate", known_at=then)
        assert [hit.id for hit in found] == [done.id]
        assert [hit.id for hit in await memory.facts_about("gate")] == [new.id]
        assert [hit.id for hit in await memory.procedures_for("open the gate")] == [newer.id]
