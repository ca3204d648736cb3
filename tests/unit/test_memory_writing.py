"""Update, forget and clear; what is refused; what a broken embedder does."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import pytest

from retentive import (
    Conflict,
    EmbedderError,
    InvalidInput,
    Memory,
    NewMemory,
    NotFound,
    Scope,
    Source,
)
from retentive.testing.clocks import FakeClock
from retentive.testing.embedders import HashingEmbedder, ScriptedEmbedder
from retentive.testing.places import Place

Answer: TypeAlias = "Callable[[Sequence[str]], object]"


async def ids(memory: Memory, query: str, **filters: Any) -> list[str]:
    return [hit.id for hit in await memory.search(query, **filters)]


async def test_update_changes_text_words_and_vector_at_once(place: Place) -> None:
    memory = place.open(embedder=HashingEmbedder())
    item = await memory.remember("Elin rows for Harbour Club", tags=["sport"])
    place.clock.move(seconds=5)
    new = await memory.update(item.id, content="Elin rows for Lakeside Club")
    assert new.content == "Elin rows for Lakeside Club"
    assert (new.id, new.created_at, new.tags) == (item.id, item.created_at, item.tags)
    assert new.updated_at == place.clock() > item.updated_at
    for reader in (memory, place.open(embedder=HashingEmbedder())):
        assert await reader.get(item.id) == new
        assert [hit.content for hit in await reader.search("Lakeside")] == ["Elin rows for Lakeside Club"]
        assert all("words" not in hit.why for hit in await reader.search("Harbour"))


async def test_update_replaces_only_what_was_passed_and_none_clears(memory: Memory, clock: FakeClock) -> None:
    item = await memory.remember(
        "tea at five", importance=0.1, tags=["a"], ttl=timedelta(days=1), success=True
    )
    kept = await memory.update(item.id, importance=0.9)
    assert (kept.importance, kept.tags, kept.expires_at, kept.success) == (0.9, ("a",), item.expires_at, True)
    cleared = await memory.update(item.id, tags=[], expires_at=None, success=None, metadata={"n": 1})
    assert (cleared.tags, cleared.expires_at, cleared.success, cleared.metadata) == ((), None, None, {"n": 1})
    assert await memory.get(item.id) == cleared
    assert await ids(memory, "tea", tags=["a"]) == []
    clock.move(days=2)
    assert await ids(memory, "tea") == [item.id]


async def test_updated_at_grows_even_when_the_clock_does_not(memory: Memory) -> None:
    item = await memory.remember("tea at five")
    stamps = [(await memory.update(item.id, importance=n / 10)).updated_at for n in range(3)]
    assert [item.updated_at, *stamps] == sorted({item.updated_at, *stamps})


async def test_update_of_what_is_not_there_is_not_found(memory: Memory, clock: FakeClock) -> None:
    item = await memory.remember("tea at five", user_id="ann", ttl=timedelta(seconds=60))
    for user, memory_id in [("bob", item.id), (None, item.id), ("ann", "nothing"), ("ann", "%")]:
        with pytest.raises(NotFound):
            await memory.update(memory_id, user_id=user, importance=1)
    assert await memory.get(item.id, user_id="ann") == item
    clock.move(seconds=60)
    with pytest.raises(NotFound):
        await memory.update(item.id, user_id="ann", importance=1)


async def test_updates_of_different_fields_at_once_all_survive(place: Place) -> None:
    first, second = place.open(), place.open()
    item = await first.remember("tea at five")
    await asyncio.gather(
        first.update(item.id, importance=0.9),
        second.update(item.id, tags=["x"]),
        first.update(item.id, metadata={"n": 1}),
        second.update(item.id, success=True),
    )
    got = await first.get(item.id)
    assert got is not None
    assert (got.importance, got.tags, got.metadata, got.success) == (0.9, ("x",), {"n": 1}, True)


async def test_update_needs_something_to_change(memory: Memory) -> None:
    item = await memory.remember("tea at five")
    with pytest.raises(InvalidInput, match="field"):
        await memory.update(item.id)
    for bad in (
        {"content": " "},
        {"content": None},
        {"importance": 2},
        {"tags": "x"},
        {"metadata": {"a": {1}}},
    ):
        with pytest.raises(InvalidInput):
            await memory.update(item.id, **bad)  # pyright: ignore[reportArgumentType]
    assert await memory.get(item.id) == item


async def test_metadata_of_a_memory_can_change_while_the_embedder_is_down(place: Place) -> None:
    item = await place.open().remember("tea at five")
    down = place.open(embedder=ScriptedEmbedder({}, dimensions=3))
    changed = await down.update(item.id, tags=["x"])
    assert (changed.tags, changed.embedder) == (("x",), item.embedder)
    with pytest.raises(EmbedderError):
        await down.update(item.id, content="coffee at five")
    assert await down.get(item.id) == changed


async def test_forget_removes_one_and_says_what(memory: Memory, place: Place) -> None:
    item, other = await memory.remember_many(["tea at five", "a walk at six"])
    receipt = await memory.forget(item.id)
    assert receipt
    assert (receipt.ids, receipt.scope, receipt.at) == ((item.id,), Scope("default"), place.clock())
    assert receipt.removed == {"rows": 1, "words": 1, "vectors": 1, "links": 0, "history": 0}
    assert await memory.get(item.id) is None
    assert item.id not in await ids(memory, "tea at five")
    assert await memory.get(other.id) == other


@pytest.mark.parametrize("unknown", ["nothing", "", "%", "x' OR '1'='1", "a\x00b", "\ud8ab", "../../etc"])
async def test_forgetting_what_is_not_there_is_falsy_and_harmless(memory: Memory, unknown: str) -> None:
    item = await memory.remember("tea at five")
    receipt = await memory.forget(unknown)
    assert not receipt
    assert (receipt.ids, receipt.removed["rows"]) == ((), 0)
    assert await memory.get(unknown) is None
    assert await memory.get(item.id) == item


async def test_an_id_is_text(memory: Memory) -> None:
    for verb in (memory.get, memory.forget):
        with pytest.raises(InvalidInput):
            await verb(1)  # pyright: ignore[reportArgumentType]


async def fill(memory: Memory) -> None:
    for user in ("u1", "u2", None):
        await memory.remember("tea at five", user_id=user)
        await memory.remember("how to make tea", user_id=user, kind="procedural")
        await memory.remember("tea is brewing", user_id=user, kind="working")


async def counts(memory: Memory) -> list[int]:
    return [await memory.count(user_id=user) for user in ("u1", "u2", None)]


async def test_clear_removes_one_users_memories(memory: Memory) -> None:
    await fill(memory)
    receipt = await memory.clear(user_id="u1")
    assert (len(receipt.ids), receipt.scope) == (3, Scope("default", "u1"))
    assert await counts(memory) == [0, 3, 3]
    assert await ids(memory, "tea", user_id="u1") == []
    assert not await memory.clear(user_id="nobody")


async def test_clear_of_no_user_removes_the_shared_scope_alone(memory: Memory) -> None:
    await fill(memory)
    assert len((await memory.clear(user_id=None)).ids) == 3
    assert await counts(memory) == [3, 3, 0]


async def test_clear_everyone_keeps_to_its_namespace(memory: Memory, place: Place) -> None:
    other = place.open("other")
    await fill(memory)
    await fill(other)
    receipt = await memory.clear(everyone=True)
    assert (len(receipt.ids), receipt.removed["rows"], receipt.scope) == (9, 9, Scope("default"))
    assert await counts(memory) == [0, 0, 0]
    assert await counts(other) == [3, 3, 3]
    assert list(await memory.scopes()) == []


async def test_clear_everyone_answers_for_the_namespace_even_with_one_user(memory: Memory) -> None:
    await memory.remember("tea at five", user_id="u1")
    assert (await memory.clear(everyone=True)).scope == Scope("default")
    assert not await memory.clear(everyone=True)


async def test_clear_takes_kinds_and_also_what_has_expired(memory: Memory, clock: FakeClock) -> None:
    await fill(memory)
    clock.move(days=1)
    assert await counts(memory) == [2, 2, 2]
    receipt = await memory.clear(user_id="u1", kinds=["working"])
    assert len(receipt.ids) == 1
    assert await counts(memory) == [2, 2, 2]
    assert len((await memory.clear(everyone=True, kinds="procedural")).ids) == 3
    assert await counts(memory) == [1, 1, 1]


async def test_clear_never_guesses_whose(memory: Memory) -> None:
    await fill(memory)
    for wrong in ({}, {"user_id": "u1", "everyone": True}, {"user_id": None, "everyone": True}):
        with pytest.raises(InvalidInput):
            await memory.clear(**wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match="kinds"):
        await memory.clear(user_id="u1", kinds=[])
    assert await counts(memory) == [3, 3, 3]


BAD_FIELDS: list[tuple[str, Any]] = [
    ("content", ""),
    ("content", " \n"),
    ("content", None),
    ("content", "a\x00b"),
    ("content", "half \ud83d"),
    ("content", "x" * 1_000_001),
    ("kind", "sematic"),
    ("kind", None),
    ("importance", 1.1),
    ("importance", float("nan")),
    ("importance", True),
    ("importance", "0.5"),
    ("tags", "billing"),
    ("tags", [""]),
    ("tags", ["a\x00b"]),
    ("tags", ["\ud8ab"]),
    ("tags", [f"t{n}" for n in range(65)]),
    ("metadata", {"k": "a\x00b"}),
    ("metadata", {"k": float("inf")}),
    ("metadata", {1: "a"}),
    ("metadata", {"k": object()}),
    ("metadata", []),
    ("occurred_at", datetime(2026, 1, 1)),  # noqa: DTZ001 - what is refused
    ("ttl", timedelta(0)),
    ("ttl", 60),
    ("ttl", timedelta.max),
    ("expires_at", datetime.fromisoformat("2026-01-01T12:00:00+00:00")),
    ("source", "t1"),
    ("source", Source(thread="a/b")),
    ("source", Source(turns=(0,))),
    ("origin", "system"),
    ("success", "yes"),
    ("key", ""),
    ("key", "x" * 257),
]


@pytest.mark.parametrize(("field", "bad"), BAD_FIELDS)
async def test_a_field_that_cannot_be_used_is_refused_before_anything_is_written(
    memory: Memory, field: str, bad: Any
) -> None:
    good: dict[str, Any] = {"content": "tea at five"}
    with pytest.raises(InvalidInput, match=field.removesuffix("s")):
        await memory.remember(**(good | {field: bad}))
    with pytest.raises(InvalidInput):
        await memory.remember_many(["first", NewMemory(**(good | {field: bad})), "third"])
    assert await memory.count() == 0


async def test_times_that_contradict_are_refused(memory: Memory, clock: FakeClock) -> None:
    now = clock()
    with pytest.raises(InvalidInput):
        await memory.remember("tea", ttl=timedelta(1), expires_at=now + timedelta(1))
    with pytest.raises(InvalidInput):
        await memory.remember("tea", valid_from=now, valid_until=now)
    item = await memory.remember("tea", valid_from=now)
    with pytest.raises(InvalidInput):
        await memory.update(item.id, valid_until=now)
    assert await memory.get(item.id) == item


async def test_remember_many_keeps_the_order_and_takes_nothing_else(memory: Memory) -> None:
    items = await memory.remember_many(["one fish", NewMemory(content="two birds", importance=1), "one fish"])
    assert [item.content for item in items] == ["one fish", "two birds", "one fish"]
    assert await memory.remember_many([]) == []
    with pytest.raises(InvalidInput):
        await memory.remember_many([{"content": "x"}])  # pyright: ignore[reportArgumentType]
    assert await memory.count() == 2


async def test_more_than_a_batch_is_written_whole(memory: Memory) -> None:
    items = await memory.remember_many([f"fish number {number}" for number in range(1_201)])
    assert len({item.id for item in items}) == await memory.count() == 1_201


def boom(_: Sequence[str]) -> object:
    raise RuntimeError("out of quota")


def each(row: object) -> Answer:
    return lambda texts: [row for _ in texts]


WRONG_ANSWERS: dict[str, Answer] = {
    "raises": boom,
    "None": lambda _: None,
    "rows of None": each(None),
    "too few": lambda _: list[float](),
    "too many": lambda texts: [(1.0, 0.0)] * (len(texts) + 1),
    "nan": each((float("nan"), 0.0)),
    "inf": each((float("inf"), 0.0)),
    "dimension": each((1.0, 0.0, 0.0)),
    "text": each("(1, 0)"),
}


@pytest.mark.parametrize("answer", WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
async def test_a_broken_embedder_stops_a_write_and_lets_words_answer(place: Place, answer: Answer) -> None:
    good = place.open(embedder=ScriptedEmbedder({}, dimensions=2, otherwise=(1, 0)))
    bad = place.open(embedder=ScriptedEmbedder(answer, dimensions=2))
    item = await good.remember("The boiler man is called Sven")
    with pytest.raises(EmbedderError):
        await bad.remember("new fact")
    with pytest.raises(EmbedderError):
        await bad.remember_many(["a fact", "b fact"])
    assert await good.count() == 1
    hits = await bad.recall("boiler man")
    assert [hit.id for hit in hits] == [item.id]
    assert "vector" in hits.degraded
    assert not (await good.recall("boiler man")).degraded


async def test_a_text_without_a_vector_is_found_by_its_words(place: Place) -> None:
    memory = place.open(embedder=ScriptedEmbedder({}, dimensions=2, otherwise=(0, 0)))
    item = await memory.remember("The boiler man is called Sven")
    assert item.embedder == "scripted/2"
    hits = await memory.recall("boiler man")
    assert [(hit.id, "cosine" in hit.why) for hit in hits] == [(item.id, False)]
    assert not hits.degraded


async def test_another_embedder_finds_old_memories_by_words_and_says_so(place: Place) -> None:
    first = place.open(embedder=HashingEmbedder(8, name="a"))
    old = await first.remember("The boiler man is called Sven")
    assert old.embedder == "a/8"
    for embedder in (HashingEmbedder(12, name="b"), HashingEmbedder(8, name="c")):
        second = place.open(embedder=embedder)
        hits = await second.recall("boiler man Sven")
        assert hits[0].id == old.id
        assert "cosine" not in hits[0].why
        assert "vectors of a/8" in hits.degraded["vector"]
        new = await second.remember(f"The chimney sweep is called {embedder.name}")
        assert new.embedder == f"{embedder.name}/{embedder.dimensions}"
    assert (await first.get(old.id)) == old


async def test_the_last_write_wins_only_over_what_it_read(memory: Memory) -> None:
    first, second = await memory.remember_many(["Ola is a baker", "Kari is a welder"])
    answers = await asyncio.gather(
        memory.update(first.id, content="Per is a diver"),
        memory.update(second.id, content="Per is a diver"),
        return_exceptions=True,
    )
    assert sorted(type(answer).__name__ for answer in answers) == ["Conflict", "MemoryItem"]
    assert any(isinstance(answer, Conflict) for answer in answers)
    assert await memory.count() == 2


async def test_one_text_is_no_list_of_memories(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="remember takes one"):
        await memory.remember_many("hey")
    assert await memory.count() == 0


async def test_the_error_of_a_batch_says_which_memory(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="memory 2 of 3: content is empty"):
        await memory.remember_many(["a fact", " ", "another"])
    assert await memory.count() == 0


def test_a_clock_that_does_not_know_its_zone_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"clock.*has no time zone"):
        Memory(store="memory://", clock=datetime.now)
