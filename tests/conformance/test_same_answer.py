"""The same data give the same ids and scores in every store: there is one ranking, and stores are dumb."""

import random
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from retentive import Memory, MemoryKind, NewMemory, Origin, Source
from retentive.testing.clocks import START
from retentive.testing.places import KINDS_OF_STORE, Place

Answer: TypeAlias = "list[tuple[str, float, dict[str, float]]]"

ROUNDING = 1e-5
"""How far sums of 32-bit numbers may differ between an index that grew and one that was loaded whole."""

PEOPLE = ("Marta", "Jon", "Aiko")
PLACES = ("the harbour", "Bergen", "the old mill", "the roof terrace", "京都", "the library")
THINGS = (
    "a red kettle",
    "the ferry tickets",
    "a cello",
    "抹茶アイス",
    "the boiler",
    "two bicycles",
    "pier 4",
    "pier 5",
)
SAID = (
    "I left {thing} at {place} yesterday.",
    "Did you see {thing} at {place}?",
    "We should meet at {place} on the {number}th of March.",
    "No, it was not {place}, it was {other}.",
    "My sister bought {thing} for {number} euros.",
    "Yes.",
    "I can't stand {place}, but I love {thing}!",
    "Let us move the meeting from {number} to 19 o'clock.",
)
FACTS = (
    "{person} prefers {thing} over {other}.",
    "{person} lives near {place}.",
    "{person} does not like {place}.",
    "The meeting at {place} is at {number}.",
    "{person} speaks Japanese; 彼は{place}が好き.",
)


def conversation(chance: random.Random) -> list[NewMemory]:
    turns: list[NewMemory] = []
    for thread in range(6):
        for number in range(1, 26):
            speaker = chance.choice(PEOPLE)
            turns.append(
                NewMemory(
                    content=filled(chance, SAID),
                    kind=MemoryKind.EPISODIC,
                    source=Source(thread=f"talk-{thread}", turns=(number,), speaker=speaker),
                    origin=Origin.USER if speaker == "Marta" else Origin.ASSISTANT,
                    occurred_at=START - timedelta(days=30 * (6 - thread), minutes=-number),
                    tags=[f"talk-{thread % 3}"],
                )
            )
    return turns


def facts(chance: random.Random) -> list[NewMemory]:
    return [
        NewMemory(
            content=filled(chance, FACTS),
            kind=chance.choice(list(MemoryKind)),
            importance=chance.random(),
            tags=chance.sample(["home", "work", "travel"], chance.randint(0, 2)),
            success=chance.choice([None, True, False]),
            occurred_at=chance.choice([None, START - timedelta(days=chance.randint(1, 400))]),
            valid_until=chance.choice([None, None, START + timedelta(days=2)]),
        )
        for _ in range(120)
    ]


def filled(chance: random.Random, forms: Sequence[str]) -> str:
    return chance.choice(forms).format(
        thing=chance.choice(THINGS),
        other=chance.choice(PLACES),
        place=chance.choice(PLACES),
        person=chance.choice(PEOPLE),
        number=chance.randint(2, 18),
    )


def questions() -> list[tuple[str, dict[str, Any]]]:
    plain = [
        "Where did Marta leave the kettle?",
        "When did we meet at the harbour?",
        "Who speaks Japanese?",
        "Does Jon like the library?",
        "pier 4",
        "pier 5",
        "抹茶アイス",
        "京都",
        "what did my sister buy in march?",
        "19 o'clock",
        "kettle OR tickets",
        "don't",
        "the",
        "Aiko's bicycles",
        "zzz unheard of",
    ]
    filters: list[dict[str, Any]] = [
        {},
        {"kinds": ["episodic"]},
        {"kinds": ["semantic", "procedural"]},
        {"tags": ["talk-1"]},
        {"tags": ["home"], "success": True},
        {"since": START - timedelta(days=60)},
        {"until": START - timedelta(days=90), "limit": 3},
        {"as_of": START + timedelta(days=5)},
        {"min_score": 1.0},
    ]
    return [(text, chosen) for text in plain for chosen in filters]


async def answers(memory: Memory, users: Sequence[str | None]) -> dict[str, Answer]:
    found: dict[str, Answer] = {}
    for user in users:
        for number, (text, filters) in enumerate(questions()):
            ask = memory.recall if number % 2 else memory.search
            hits = await ask(text, user_id=user, **filters)
            found[f"{user} {text} {filters}"] = [(hit.id, hit.score, dict(hit.why)) for hit in hits]
    return found


async def live(place: Place) -> dict[str, dict[str, Answer]]:
    """What the place answers at each stage of a life."""
    chance = random.Random(20260101)
    place.clock.now = START
    memory, users = place.open(), (None, "marta")
    for draft in conversation(chance):
        await memory.remember_many([draft], user_id="marta")
    stages: dict[str, dict[str, Answer]] = {}
    for user in users:
        place.clock.move(hours=1)
        await memory.remember_many(facts(chance), user_id=user)
    stages["remembered"] = await answers(memory, users)
    for user in users:
        items = list(await memory.list(user_id=user, limit=1_000))
        for item in chance.sample(items, 12):
            await memory.forget(item.id, user_id=user)
            items.remove(item)
        for number, item in enumerate(chance.sample(items, 12)):
            place.clock.move(minutes=1)
            await memory.update(
                item.id, user_id=user, content=f"{item.content} Changed {number}.", importance=0.9
            )
        await memory.clear(user_id=user, kinds=["short_term"])
        await memory.remember_many(facts(chance)[:10], user_id=user)
    stages["changed"] = await answers(memory, users)
    place.clock.move(days=3)
    stages["later"] = await answers(memory, users)
    stages["reopened"] = await answers(place.open(), users)
    return stages


@pytest.fixture(scope="module")
def lives() -> dict[str, dict[str, dict[str, Answer]]]:
    return {}


async def life(
    lives: dict[str, dict[str, dict[str, Answer]]], kind: str, folder: Path
) -> dict[str, dict[str, Answer]]:
    if kind not in lives:
        place = Place(kind, folder / kind)
        lives[kind] = await live(place)
        await place.close()
    return lives[kind]


@pytest.mark.parametrize("stage", ["remembered", "changed", "later", "reopened"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS_OF_STORE if kind != "memory"])
async def test_a_store_answers_as_the_in_memory_one_does(
    kind: str,
    stage: str,
    lives: dict[str, dict[str, dict[str, Answer]]],
    tmp_path: Path,
) -> None:
    ours = (await life(lives, kind, tmp_path))[stage]
    theirs = (await life(lives, "memory", tmp_path))[stage]
    assert len(ours) >= 200
    assert sum(bool(answer) for answer in theirs.values()) > 120
    for question, answer in ours.items():
        assert answer == theirs[question], question


async def test_what_is_reopened_answers_as_before(
    lives: dict[str, dict[str, dict[str, Answer]]], tmp_path: Path
) -> None:
    for kind in KINDS_OF_STORE:
        stages = await life(lives, kind, tmp_path)
        for question, answer in stages["reopened"].items():
            before = stages["later"][question]
            assert [one[0] for one in answer] == [one[0] for one in before], question
            assert [one[1] for one in answer] == pytest.approx([one[1] for one in before], abs=ROUNDING)
        assert stages["later"] != stages["changed"] != stages["remembered"]
