"""The handed cases of dedupe, tenant isolation, limits and filters, for memories; named by their ids."""

import io
import json
import zipfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from retentive import (
    Batch,
    InvalidInput,
    Memory,
    MemoryItem,
    NewMemory,
    NotFound,
    RetentionPolicy,
    Scope,
    Source,
)
from retentive.agent import MemoryCapability
from retentive.embedders.base import Vectors
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.testing.embedders import ScriptedEmbedder
from retentive.testing.places import Place


def groups(texts: Sequence[Sequence[str]], cosine: float) -> dict[str, Sequence[float]]:
    """A vector a text: `cosine` between those of one group, 0 between groups."""
    vectors: dict[str, Sequence[float]] = {}
    for place, (first, second) in enumerate(texts):
        along, across = np.eye(2 * len(texts))[2 * place : 2 * place + 2]
        vectors[first] = along
        vectors[second] = cosine * along + (1 - cosine**2) ** 0.5 * across
    return vectors


def scripted(vectors: Mapping[str, Sequence[float]]) -> ScriptedEmbedder:
    size = len(next(iter(vectors.values())))
    return ScriptedEmbedder(vectors, dimensions=size, otherwise=(0.0,) * size)


class NoWords(ScriptedEmbedder):
    """An embedder for which no word is like another."""

    def words(self, words: Sequence[str]) -> Vectors:
        return np.zeros((len(words), self.dimensions), dtype=np.float32)


DUP_1 = [
    ("Smoking is permitted on the roof terrace", "Smoking is not permitted on the roof terrace"),
    ("Ida eats nuts", "Ida never eats nuts"),
    ("The alarm is on", "The alarm is off"),
    ("明天开会", "明天不开会"),
]
ASKED = ["Is smoking permitted on the roof terrace?", "Does Ida eat nuts?", "Is the alarm on?", "明天开会吗"]


async def test_dup_1_a_negation_is_another_fact_and_the_newer_comes_first(place: Place) -> None:
    vectors = groups(DUP_1, 0.99)
    vectors |= {question: vectors[first] for question, (first, _) in zip(ASKED, DUP_1, strict=True)}
    memory = place.open(embedder=scripted(vectors))
    for older, newer in DUP_1:
        first = await memory.remember(older)
        place.clock.move(minutes=1)
        second = await memory.remember(newer)
        assert second.id != first.id
        assert (await memory.remember(newer)).id == second.id
        assert second.near == first.id
    assert await memory.count() == 8
    for reader in (memory, place.open(embedder=scripted(vectors))):
        for question, (older, newer) in zip(ASKED, DUP_1, strict=True):
            found = [hit.content for hit in await reader.recall(question, limit=8)]
            assert found.index(newer) < found.index(older), question


async def test_dup_1_a_correction_supersedes_what_it_contradicts(place: Place) -> None:
    memory = place.open(embedder=scripted(groups(DUP_1, 0.99)))
    for older, newer in DUP_1:
        first, second = await memory.remember_many([older, newer])
        assert [(pair.newer.id, pair.older.id) for pair in await memory.conflicts()] == [
            (second.id, first.id)
        ]
        assert (await memory.supersede(first.id, newer)).id == second.id
        assert await memory.conflicts() == []
        assert [item.content for item in await memory.history(second.id)] == [older, newer]
    assert {item.content for item in await memory.list()} == {newer for _, newer in DUP_1}


async def test_dup_1_both_sides_of_a_negation_are_kept_with_the_default_embedder(memory: Memory) -> None:
    for pair in DUP_1:
        assert len({(await memory.remember(text)).id for text in (*pair, *pair)}) == 2
    for question, pair in zip(ASKED, DUP_1, strict=True):
        assert set(pair) <= {hit.content for hit in await memory.recall(question, limit=4)}, question


DUP_2 = [
    ("The guest printer listens on port 9101", "The guest printer listens on port 9102"),
    ("Rev A of plan LB-30 is approved", "Rev B of plan LB-30 is approved"),
    ("Nora's desk is 4.12", "Noah's desk is 4.12"),
    ("Meet at 7 am", "Meet at 7 pm"),
    ("Dose: 5 mg", "Dose: 5 µg"),
]


@pytest.mark.parametrize("batch", [True, False])
async def test_dup_2_one_digit_letter_name_or_unit_is_another_fact(place: Place, batch: bool) -> None:
    memory = place.open(embedder=scripted(groups(DUP_2, 0.97)))
    texts = [text for pair in DUP_2 for text in pair]
    items = await memory.remember_many(texts) if batch else [await memory.remember(text) for text in texts]
    assert [item.content for item in items] == texts
    assert await memory.count() == 10
    top = [hit.content for hit in await memory.recall("port of guest printer", limit=2)]
    assert DUP_2[0][1] in top


async def test_dup_3_exact_repeats_are_one_however_the_embedder_shakes(place: Place) -> None:
    calls: list[int] = []

    def noisy(texts: Sequence[str]) -> object:
        calls.append(len(calls))
        turn = len(calls) * np.arccos(0.55)
        return [(np.cos(turn), np.sin(turn)) for _ in texts]

    memory = place.open(embedder=ScriptedEmbedder(noisy, dimensions=2))
    first = await memory.remember("QZR", user_id="u1")
    for again in ("QZR", "QZR", "QZR", " QZR ", "QZR."):
        assert await memory.remember(again, user_id="u1") == first
    lower = await memory.remember("qzr", user_id="u1")  # case may be all that parts two codes
    assert lower.id != first.id
    other = await memory.remember("QZR", user_id="u2")
    assert other.id != first.id
    assert [await memory.count(user_id=user) for user in ("u1", "u2")] == [2, 1]


TEN_1 = ["ann_lee", "annxlee", "ann-lee", "100%", "100x", "a*", "ab", "a[bc]", "a?c", "a\\b"]


@pytest.mark.parametrize("as_namespaces", [False, True])
async def test_ten_1_signs_in_names_are_no_patterns(place: Place, as_namespaces: bool) -> None:
    names = [name for name in TEN_1 if not (as_namespaces and "\\" in name)]

    def of(name: str) -> tuple[Memory, str | None]:
        return (place.open(name), None) if as_namespaces else (place.open(), name)

    for name in names:
        memory, user = of(name)
        await memory.remember(f"secret of {name}", user_id=user)
    for gone, name in enumerate(names, start=1):
        memory, user = of(name)
        assert [hit.content for hit in await memory.recall("secret", user_id=user)] == [f"secret of {name}"]
        assert [item.content for item in await memory.list(user_id=user)] == [f"secret of {name}"]
        assert await memory.count(user_id=user) == 1
        assert len((await memory.clear(user_id=user)).ids) == 1
        left = [(await of(other)[0].count(user_id=of(other)[1])) for other in names]
        assert left == [0] * gone + [1] * (len(names) - gone)


async def test_ten_1_a_namespace_with_a_separator_is_refused(place: Place) -> None:
    with pytest.raises(InvalidInput):
        place.open("a\\b")


async def test_ten_2_a_longer_name_is_another_tenant(place: Place) -> None:
    names = ["org.nova", "org.nova2", "org.nova.team", "org.novae"]
    for name in names:
        await place.open(name).remember(f"fact of {name}")
    memory = place.open("org.nova")
    assert [hit.content for hit in await memory.recall("fact")] == ["fact of org.nova"]
    assert [item.content for item in await memory.list()] == ["fact of org.nova"]
    assert len((await memory.clear(everyone=True)).ids) == 1
    assert [await place.open(name).count() for name in names] == [0, 1, 1, 1]
    with pytest.raises(InvalidInput):
        place.open("org/nova")


async def test_ten_3_clearing_one_user_clears_that_user(memory: Memory) -> None:
    async def counts() -> list[int]:
        return [await memory.count(user_id=user) for user in ("u1", "u2", None)]

    for user, number in (("u1", 3), ("u2", 2), (None, 1)):
        await memory.remember_many([f"fact {one}" for one in range(number)], user_id=user)
    assert len((await memory.clear(user_id="u1")).ids) == 3
    assert await counts() == [0, 2, 1]
    with pytest.raises(InvalidInput):
        await memory.clear()
    assert not await memory.clear(user_id="nobody")
    assert await counts() == [0, 2, 1]
    assert len((await memory.clear(user_id=None)).ids) == 1
    assert await counts() == [0, 2, 0]


async def test_ten_3_forgetting_one_user_leaves_the_others(memory: Memory, tmp_path: Path) -> None:
    for user, number in (("u1", 3), ("u2", 2), (None, 1)):
        await memory.remember_many([f"fact {one}" for one in range(number)], user_id=user)
    assert not await memory.forget_user("nobody", threads=tmp_path)
    receipt = await memory.forget_user("u1", threads=tmp_path)
    assert len(receipt.ids) == 3
    assert await memory.verify_forgotten(receipt, threads=tmp_path)
    assert [await memory.count(user_id=user) for user in ("u1", "u2", None)] == [0, 2, 1]


async def test_ten_4_one_thread_id_of_two_users_joins_nothing(memory: Memory) -> None:
    def turn(number: int, text: str) -> NewMemory:
        return NewMemory(content=text, kind="episodic", source=Source(thread="t1", turns=(number,)))

    mine = await memory.remember_many([turn(1, "I am Petra and I like chess")], user_id="petra")
    theirs = await memory.remember_many([turn(2, "What is my name?")], user_id="omar")
    found = await memory.recall("What is my name? Petra chess", user_id="omar")
    assert [hit.id for hit in found] == [theirs[0].id]
    assert [hit.id for hit in await memory.recall("name", user_id="petra")] in ([], [mine[0].id])


Touch = Callable[[Memory, str | None, MemoryItem], Awaitable[object]]


async def refused(memory: Memory, user: str | None, theirs: MemoryItem) -> object:
    with pytest.raises(NotFound) as error:
        await memory.update(theirs.id, user_id=user, content="mine now")
    return error.value


async def not_superseded(memory: Memory, user: str | None, theirs: MemoryItem) -> object:
    with pytest.raises(NotFound) as error:
        await memory.supersede(theirs.id, "mine now", user_id=user)
    return error.value


async def not_applied(memory: Memory, user: str | None, theirs: MemoryItem) -> object:
    batch = Batch(
        new=[NewMemory(content=theirs.content)],
        supersedes={0: [theirs.id]},
        edits={theirs.id: {"content": "mine now"}},
        notes={"n": b"mine"},
        expected={"n": None},
        lenient=True,
    )
    done = await memory.apply(batch, user_id=user)
    assert set(done.refused) == {theirs.id}
    return done.superseded


async def exported(memory: Memory, user: str | None, _: MemoryItem) -> object:
    file = io.BytesIO()
    await memory.export(file, user_id=user)
    with zipfile.ZipFile(file) as packed:
        return [packed.read(name) for name in packed.namelist()]


async def imported(memory: Memory, user: str | None, theirs: MemoryItem) -> object:
    entry = {"id": theirs.id, "memory": "mine now", "user_id": theirs.scope.user_id}
    report = await memory.import_(io.BytesIO(json.dumps([entry]).encode()), user_id=user)
    assert report.imported == 1
    return report


async def unmerged(memory: Memory, user: str | None, theirs: MemoryItem) -> object:
    with pytest.raises(NotFound) as error:
        await memory.unmerge(theirs.id, user_id=user)
    return error.value


async def verified(memory: Memory, user: str | None, _: MemoryItem) -> object:
    mine = (await memory.list(user_id=user)).items[0]
    return await memory.verify_forgotten(await memory.forget(mine.id, user_id=user))


async def worked_on(memory: Memory, user: str | None, theirs: MemoryItem) -> object:
    async with memory.working("run", user_id=user) as working:
        await working.remember(theirs.content)
        return await memory.list(user_id=user, kinds="semantic")


async def recalled_by_an_agent(memory: Memory, user: str | None, _: MemoryItem) -> object:
    seen: list[object] = []

    def answer(messages: list[ModelMessage], _: object) -> ModelResponse:
        seen.extend(messages)
        return ModelResponse(parts=[TextPart("Noted.")])

    capability = MemoryCapability(memory, user_id=user, extractor=None)
    await Agent(FunctionModel(answer), capabilities=[capability]).run("word KITEFISH")
    assert "alpha word KITEFISH" in repr(seen)
    return seen


async def forgotten_user(memory: Memory, user: str | None, _: MemoryItem) -> object:
    return await memory.forget_user(user) if user is not None else None


ENTRIES: dict[str, Touch] = {
    "recall": lambda memory, user, _: memory.recall("word KITEFISH beta", user_id=user, limit=100),
    "recall by an agent": recalled_by_an_agent,
    "search": lambda memory, user, _: memory.search("word KITEFISH beta", user_id=user, limit=100),
    "list": lambda memory, user, _: memory.list(user_id=user),
    "list after": lambda memory, user, theirs: memory.list(user_id=user, after=theirs.id),
    "get": lambda memory, user, theirs: memory.get(theirs.id, user_id=user),
    "update": refused,
    "supersede": not_superseded,
    "apply": not_applied,
    "history": lambda memory, user, theirs: memory.history(theirs.id, user_id=user),
    "conflicts": lambda memory, user, _: memory.conflicts(user_id=user),
    "notes": lambda memory, user, _: memory.notes(user_id=user),
    "export": exported,
    "import_": imported,
    "forget": lambda memory, user, theirs: memory.forget(theirs.id, user_id=user),
    "remember": lambda memory, user, theirs: memory.remember(theirs.content, user_id=user, key="k"),
    "remember_many": lambda memory, user, theirs: memory.remember_many([theirs.content], user_id=user),
    "count": lambda memory, user, _: memory.count(user_id=user),
    "clear": lambda memory, user, _: memory.clear(user_id=user),
    "scopes": lambda memory, _user, _theirs: memory.scopes(),
    "context": lambda memory, user, _: memory.context("word KITEFISH", user_id=user, max_tokens=500),
    "facts_about": lambda memory, user, _: memory.facts_about("KITEFISH", user_id=user),
    "similar_episodes": lambda memory, user, _: memory.similar_episodes("KITEFISH", user_id=user),
    "procedures_for": lambda memory, user, _: memory.procedures_for("KITEFISH", user_id=user),
    "remember_fact": lambda memory, user, theirs: memory.remember_fact(theirs.content, user_id=user),
    "remember_procedure": lambda memory, user, theirs: memory.remember_procedure(
        "n", [theirs.content], user_id=user
    ),
    "record_episode": lambda memory, user, _: memory.record_episode("KITEFISH", "done", True, user_id=user),
    "prune": lambda memory, user, _: memory.prune(
        RetentionPolicy(max_age=timedelta(microseconds=1)), user_id=user, dry_run=False
    ),
    "consolidate": lambda memory, user, _: memory.consolidate(user_id=user, dry_run=False),
    "reembed": lambda memory, user, _: memory.reembed(user_id=user),
    "unmerge": unmerged,
    "forget_user": forgotten_user,
    "forget_thread": lambda memory, user, _: memory.forget_thread(
        "t", user_id=user, threads=InMemoryThreadStore()
    ),
    "verify_forgotten": verified,
    "working": worked_on,
}
UNCHECKED = {"subscribe", "close", "redactor"}


def test_ten_5_no_way_in_is_left_out() -> None:
    verbs = {name for name in dir(Memory) if not name.startswith("_")} - UNCHECKED
    assert verbs == {name.split()[0] for name in ENTRIES}


@pytest.mark.parametrize("tenants", ["users", "namespaces", "user and shared", "shared and user"])
@pytest.mark.parametrize("entry", ENTRIES)
async def test_ten_5_no_way_in_reaches_another_tenant(place: Place, entry: str, tenants: str) -> None:
    scope, other = {
        "users": (Scope("n", "a"), Scope("n", "b")),
        "namespaces": (Scope("a"), Scope("b")),
        "user and shared": (Scope("n", "a"), Scope("n")),
        "shared and user": (Scope("n"), Scope("n", "b")),
    }[tenants]
    memory, their_memory = place.open(scope.namespace), place.open(other.namespace)
    await memory.remember("alpha word KITEFISH", user_id=scope.user_id)
    theirs = await their_memory.remember("beta word KITEFISH", user_id=other.user_id, key="k", tags=["t"])
    await their_memory.apply(Batch(notes={"n": b"beta"}), user_id=other.user_id)
    answer = await ENTRIES[entry](memory, scope.user_id, theirs)
    if entry == "forget":
        assert not answer
    if "remember" not in entry:
        assert "beta" not in repr(answer)
        assert entry in ("update", "supersede", "unmerge") or theirs.id not in repr(answer)
    if entry == "scopes" and scope.namespace != other.namespace:
        assert answer == [scope]
    assert await their_memory.get(theirs.id, user_id=other.user_id) == theirs
    assert list(await their_memory.list(user_id=other.user_id)) == [theirs]
    assert await their_memory.notes(user_id=other.user_id) == {"n": b"beta"}
    assert [hit.id for hit in await their_memory.recall("KITEFISH", user_id=other.user_id)] == [theirs.id]


async def test_ten_5_a_tenants_scores_do_not_tell_of_another(place: Place) -> None:
    async def scores() -> list[float]:
        return [hit.score for hit in await memory.recall("word KITEFISH", user_id="a")]

    memory = place.open()
    await memory.remember_many(["alpha word KITEFISH", "gamma word", "delta"], user_id="a")
    before = await scores()
    await memory.remember_many([f"KITEFISH number {number}" for number in range(50)], user_id="b")
    assert await scores() == before


def cosines(number: int) -> dict[str, Sequence[float]]:
    found: dict[str, Sequence[float]] = {"query": (1.0, 0.0)}
    for text, cosine in [("q0", 0.60), ("q1", 0.55), ("q2", 0.50)]:
        found[text] = (cosine, (1 - cosine**2) ** 0.5)
    return found | {f"loud {one}": (0.99, (1 - 0.99**2) ** 0.5) for one in range(number)}


@pytest.mark.parametrize("number", [700, 5_000])
async def test_lim_1_filters_come_before_the_best_are_taken(place: Place, number: int) -> None:
    memory = place.open(embedder=NoWords(cosines(number), dimensions=2))
    day = timedelta(days=1)
    old = place.clock() - 300 * day
    loud = [
        NewMemory(content=f"loud {one}", occurred_at=old if one == number // 2 else None)
        for one in range(number)
    ]
    await memory.remember_many(loud, user_id="loud")
    for text in ("q1", "q0", "q2"):
        await memory.remember(text, user_id="quiet", tags=["two"] if text != "q0" else [])
    assert await memory.count(user_id="loud") == number
    for ask in (memory.recall, memory.search):
        quiet = await ask("query", user_id="quiet", limit=3)
        assert [hit.content for hit in quiet] == ["q0", "q1", "q2"]
        tagged = await ask("query", user_id="quiet", limit=2, tags=["two"])
        assert [hit.content for hit in tagged] == ["q1", "q2"]
        early = await ask("query", user_id="loud", until=old + day, limit=2)
        assert [hit.content for hit in early] == [f"loud {number // 2}"]


async def test_lim_1_quiet_memories_of_one_scope_are_not_cut_off_by_loud_ones(place: Place) -> None:
    memory = place.open(embedder=NoWords(cosines(1_500), dimensions=2))
    loud = [NewMemory(content=f"loud {number}", tags=["loud"]) for number in range(1_500)]
    await memory.remember_many(loud)
    await memory.remember_many([NewMemory(content=f"q{number}", tags=["quiet"]) for number in range(3)])
    found = await memory.recall("query", tags=["quiet"], limit=3)
    assert [hit.content for hit in found] == ["q0", "q1", "q2"]


@pytest.mark.parametrize("limit", [3, 0, 1_000])
async def test_lim_2_a_limit_gives_that_many_at_most(memory: Memory, limit: int) -> None:
    items = await memory.remember_many([f"m{number} note" for number in range(5)])
    assert len(await memory.recall("note", limit=limit)) == min(limit, 5)
    assert len(await memory.search("note", limit=limit)) == min(limit, 5)
    assert [item.id for item in await memory.list(limit=limit)] == [item.id for item in items[::-1]][:limit]


@pytest.mark.parametrize("bad", [-1, -100, None, 1_000_000, 2.0, "3", True])
async def test_lim_2_nonsense_is_refused(memory: Memory, bad: Any) -> None:
    await memory.remember_many([f"m{number} note" for number in range(5)])
    for call in (memory.recall("note", limit=bad), memory.search("note", limit=bad), memory.list(limit=bad)):
        with pytest.raises(InvalidInput, match="limit must be a whole number from 0 to 1,000"):
            await call
    if bad is not None and not (type(bad) is int and bad > 0):
        with pytest.raises(InvalidInput, match="offset"):
            await memory.search("note", offset=bad)
