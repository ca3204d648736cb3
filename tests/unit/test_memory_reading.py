"""What may be read, and in which order: expiry, validity, filters, limits, pages, scores."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeAlias

import pytest

from retentive import InvalidInput, Memory, MemoryItem, MemoryKind, NewMemory, Origin, Scope, Source
from retentive.embedders.base import EmbedKind, Vectors
from retentive.testing.clocks import FakeClock
from retentive.testing.embedders import HashingEmbedder, ScriptedEmbedder
from retentive.testing.places import Place

SECOND = timedelta(seconds=1)
START = datetime(2026, 1, 1, 12, tzinfo=UTC)

Read: TypeAlias = Callable[..., Awaitable[Sequence[str]]]


async def by_recall(memory: Memory, **filters: Any) -> list[str]:
    return [hit.id for hit in await memory.recall("gate code", limit=1_000, **filters)]


async def by_search(memory: Memory, **filters: Any) -> list[str]:
    return [hit.id for hit in await memory.search("gate code", limit=1_000, **filters)]


async def by_list(memory: Memory, **filters: Any) -> list[str]:
    return [item.id for item in await memory.list(limit=1_000, **filters)]


READS: dict[str, Read] = {"recall": by_recall, "search": by_search, "list": by_list}
every_read = pytest.mark.parametrize("read", READS.values(), ids=READS)


async def seen(memory: Memory, item: MemoryItem) -> set[bool]:
    got = await memory.get(item.id, user_id=item.scope.user_id)
    count = await memory.count(user_id=item.scope.user_id)
    ranked = [item.id in await read(memory, user_id=item.scope.user_id) for read in READS.values()]
    return {got is not None, count == 1, *ranked}


async def test_a_memory_is_there_until_the_instant_it_expires(place: Place) -> None:
    memory, clock = place.open(), place.clock
    item = await memory.remember("gate code 7781", ttl=60 * SECOND, user_id="ann")
    for by, visible in [(0, True), (59.999, True), (0.001, False), (1, False)]:
        clock.move(seconds=by)
        assert await seen(memory, item) == {visible}
        if place.keeps:
            assert await seen(place.open(), item) == {visible}


async def test_kinds_live_as_long_as_they_say(memory: Memory, clock: FakeClock) -> None:
    lives = {kind: (await memory.remember(f"note {kind}", kind=kind)).expires_at for kind in MemoryKind}
    assert lives == {
        MemoryKind.WORKING: START + timedelta(hours=1),
        MemoryKind.SHORT_TERM: START + timedelta(days=1),
        MemoryKind.EPISODIC: None,
        MemoryKind.SEMANTIC: None,
        MemoryKind.PROCEDURAL: None,
    }


async def test_lifetimes_of_kinds_can_be_set_and_a_ttl_goes_before_them(place: Place) -> None:
    memory = place.open(lifetimes={MemoryKind.SEMANTIC: timedelta(days=2)})
    assert (await memory.remember("a b", kind="working")).expires_at is None
    assert (await memory.remember("c d")).expires_at == START + timedelta(days=2)
    assert (await memory.remember("e f", ttl=SECOND)).expires_at == START + SECOND
    assert (await memory.remember("g h", expires_at=START + SECOND)).expires_at == START + SECOND


async def test_a_memory_is_recalled_only_while_it_is_valid(memory: Memory, clock: FakeClock) -> None:
    item = await memory.remember("gate code", valid_from=START + 10 * SECOND, valid_until=START + 20 * SECOND)
    for second, valid in [(0, False), (9, False), (10, True), (19, True), (20, False), (30, False)]:
        clock.now = START + second * SECOND
        for read in READS.values():
            assert await read(memory) == ([item.id] if valid else []), second
        assert await memory.count() == int(valid)
        assert await memory.get(item.id) == item


async def test_as_of_asks_for_what_held_at_another_instant(memory: Memory, clock: FakeClock) -> None:
    past = await memory.remember("gate code 1", valid_until=START + 10 * SECOND)
    next_one = await memory.remember("gate code 2", valid_from=START + 10 * SECOND)
    short = await memory.remember("gate code 3", ttl=10 * SECOND)
    clock.move(seconds=60)
    for read in (by_recall, by_search):
        assert set(await read(memory, as_of=START)) == {past.id, short.id}
        assert await read(memory, as_of=START + 10 * SECOND) == [next_one.id]
        assert await read(memory) == [next_one.id]


@every_read
async def test_filters_let_through_exactly_what_they_say(memory: Memory, read: Read) -> None:
    drafts = [
        NewMemory(
            content=f"gate code {number}",
            kind=list(MemoryKind)[number % 5],
            tags=[f"t{number % 2}", f"u{number % 3}"],
            occurred_at=START - timedelta(days=number) if number % 4 else None,
            success=(None, True, False)[number % 3],
        )
        for number in range(40)
    ]
    items = await memory.remember_many(drafts)

    def happened(item: MemoryItem) -> datetime:
        return item.occurred_at or item.created_at

    checks: list[tuple[dict[str, Any], Callable[[MemoryItem], bool]]] = [
        ({}, lambda _: True),
        ({"kinds": ["semantic"]}, lambda item: item.kind == "semantic"),
        ({"kinds": MemoryKind.EPISODIC}, lambda item: item.kind == "episodic"),
        ({"kinds": ["working", "procedural"]}, lambda item: item.kind in {"working", "procedural"}),
        ({"tags": ["t1"]}, lambda item: "t1" in item.tags),
        ({"tags": ["t1", "u2"]}, lambda item: {"t1", "u2"} <= set(item.tags)),
        ({"tags": ["T1"]}, lambda _: False),
        ({"tags": ["t"]}, lambda _: False),
        ({"since": START - timedelta(days=5)}, lambda item: happened(item) >= START - timedelta(days=5)),
        ({"until": START - timedelta(days=5)}, lambda item: happened(item) < START - timedelta(days=5)),
        ({"success": True}, lambda item: item.success is True),
        ({"success": False}, lambda item: item.success is False),
        (
            {"kinds": "semantic", "tags": ["t0"], "success": True, "until": START},
            lambda item: (
                item.kind == "semantic"
                and "t0" in item.tags
                and item.success is True
                and happened(item) < START
            ),
        ),
    ]
    for filters, passes in checks:
        assert set(await read(memory, **filters)) == {item.id for item in items if passes(item)}, filters


async def test_a_filtered_ranking_is_the_whole_one_with_rows_struck_out(memory: Memory) -> None:
    for number in range(60):
        await memory.remember(
            f"The gate {'code ' * (number % 4)} is number {number}",
            tags=[f"t{number % 3}"],
            importance=number / 60,
        )
    whole = await memory.recall("what is the gate code?", limit=1_000)
    assert len(whole) == 60
    for limit in (1, 3, 10, 1_000):
        got = await memory.recall("what is the gate code?", tags=["t1"], limit=limit)
        wanted = [hit for hit in whole if "t1" in hit.item.tags][:limit]
        assert [(hit.id, hit.score) for hit in got] == [(hit.id, hit.score) for hit in wanted]
        assert [hit.rank for hit in got] == list(range(1, len(wanted) + 1))


async def test_search_pages_are_slices_of_the_whole(memory: Memory) -> None:
    await memory.remember_many([f"gate code {number}" for number in range(25)])
    whole = await by_search(memory)
    paged = [
        hit.id for start in range(0, 30, 7) for hit in await memory.search("gate code", limit=7, offset=start)
    ]
    assert paged == whole
    assert await memory.search("gate code", offset=25) == []


async def test_search_leaves_importance_and_age_out(memory: Memory, clock: FakeClock) -> None:
    old = await memory.remember("gate code is blue", importance=0.0)
    clock.move(days=300)
    new = await memory.remember("gate code is pink", importance=1.0)
    scores = {hit.id: hit.why for hit in await memory.search("gate")}
    assert set(scores) == {old.id, new.id}
    assert all({"importance", "recency"}.isdisjoint(why) for why in scores.values())
    assert (await by_recall(memory))[0] == new.id


async def test_scores_fall_and_add_up_and_ties_go_to_the_newer(memory: Memory) -> None:
    same = [await memory.remember("gate code", kind=kind) for kind in ("episodic", "semantic", "procedural")]
    await memory.remember("the gate is old")
    hits = await memory.recall("gate code")
    assert [hit.id for hit in hits[:3]] == [item.id for item in reversed(same)]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.score == sum(hit.why.values())


async def test_min_score_keeps_what_scores_that_much(memory: Memory) -> None:
    await memory.remember_many(["gate code", "gate", "the code of the old gate in the yard", "code"])
    whole = await memory.recall("gate code")
    least = whole[1].score
    assert await memory.recall("gate code", min_score=least) == whole[:2]
    assert await memory.recall("gate code", min_score=whole[0].score + 1) == []


@pytest.mark.parametrize("bad", [-1, 1_001, 2.0, "3", True, None])
async def test_a_limit_is_a_whole_number_in_its_range(memory: Memory, bad: Any) -> None:
    for read in (memory.recall, memory.search):
        with pytest.raises(InvalidInput, match="limit"):
            await read("gate", limit=bad)
    with pytest.raises(InvalidInput, match="limit"):
        await memory.list(limit=bad)


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("min_score", float("nan")),
        ("min_score", "1"),
        ("min_score", True),
        ("kinds", ["sematic"]),
        ("kinds", "all"),
        ("tags", "billing"),
        ("tags", [1]),
        ("since", datetime(2026, 1, 1)),  # noqa: DTZ001 - what is refused
        ("until", "2026-01-01"),
        ("as_of", 1),
        ("success", 1),
        ("user_id", ""),
        ("user_id", 7),
    ],
)
async def test_what_cannot_be_asked_is_refused_by_name(memory: Memory, field: str, bad: Any) -> None:
    for read in (memory.recall, memory.search):
        with pytest.raises(InvalidInput, match=field.removesuffix("s")):
            await read("gate", **{field: bad})


async def test_limit_zero_and_blank_queries_find_nothing(memory: Memory) -> None:
    await memory.remember("gate code")
    assert await memory.recall("gate", limit=0) == []
    for blank in ("", "  \n", "\x00"):
        assert await memory.recall(blank) == []
    page = await memory.list(limit=0)
    assert (page.items, page.next) == ((), None)
    with pytest.raises(InvalidInput):
        await memory.recall(None)  # pyright: ignore[reportArgumentType]


async def test_pages_never_repeat_or_skip_while_others_write(memory: Memory) -> None:
    there = [item.id for item in await memory.remember_many([f"gate {number}" for number in range(23)])]
    seen_ids: list[str] = []
    after: str | None = None
    for turn in range(20):
        page = await memory.list(limit=4, after=after)
        seen_ids += [item.id for item in page]
        await asyncio.gather(*(memory.remember(f"new gate {turn} {number}") for number in range(3)))
        if turn == 1:
            await memory.forget(there[0])
            await memory.forget(seen_ids[0])
        after = page.next
        if after is None:
            break
    assert len(seen_ids) == len(set(seen_ids))
    assert seen_ids == sorted(there[1:], reverse=True)


async def test_the_last_page_says_so(memory: Memory) -> None:
    await memory.remember_many([f"gate {number}" for number in range(6)])
    first = await memory.list(limit=3)
    second = await memory.list(limit=3, after=first.next)
    assert first.next is not None
    assert (len(first), len(second), second.next) == (3, 3, None)


async def test_list_is_newest_first_and_filtered(memory: Memory) -> None:
    items = [await memory.remember(f"gate {number}", tags=[f"t{number % 2}"]) for number in range(9)]
    page = await memory.list(tags=["t0"], limit=3)
    assert list(page) == [items[8], items[6], items[4]]
    assert list(await memory.list(tags=["t0"], limit=3, after=page.next)) == [items[2], items[0]]


async def test_scopes_lists_the_shared_scope_first_then_users(memory: Memory, place: Place) -> None:
    for user in ("zoe", None, "ann"):
        await memory.remember("gate", user_id=user)
    await place.open("other").remember("gate", user_id="eve")
    assert list(await memory.scopes()) == [Scope("default"), Scope("default", "ann"), Scope("default", "zoe")]


async def test_what_goes_in_and_comes_out_are_copies(memory: Memory, place: Place) -> None:
    metadata: dict[str, Any] = {"tags": ["a"], "n": {"deep": [1]}}
    tags = ["x"]
    item = await memory.remember("gate code", metadata=metadata, tags=tags)
    metadata["tags"].append("b")
    tags.append("y")
    reads = [
        item,
        await memory.get(item.id),
        (await memory.recall("gate"))[0].item,
        (await memory.list()).items[0],
        await memory.update(item.id, importance=0.7),
        await memory.remember("gate code"),
    ]
    for got in reads:
        assert got is not None
        assert got.metadata == {"tags": ["a"], "n": {"deep": [1]}}
        assert got.tags == ("x",)
        got.metadata["tags"].append("c")  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue, reportOptionalMemberAccess]
        got.metadata["new"] = 1  # pyright: ignore[reportIndexIssue]
    last = await memory.get(item.id)
    assert last is not None
    assert last.metadata == {"tags": ["a"], "n": {"deep": [1]}}


async def test_every_field_comes_back_as_it_went_in(place: Place) -> None:
    memory = place.open()
    item = await memory.remember(
        "gate code ☂ 7781\nand a line\u2028more",
        user_id="ann@example.org",
        kind="episodic",
        importance=0.25,
        tags=["b", "a", "b"],
        metadata={"big": 2**63, "f": 0.1, "none": None, "t": (1, 2), "emoji": "🐱"},
        occurred_at=datetime(2026, 3, 8, 10, 30, tzinfo=timezone(timedelta(hours=5.5))),
        valid_from=START - SECOND,
        valid_until=START + timedelta(days=3),
        expires_at=START + timedelta(days=9),
        source=Source(document="d.pdf", place="p. 3", speaker="Ann"),
        origin=Origin.TOOL,
        success=False,
        key="k",
    )
    assert item.occurred_at is not None
    assert (item.occurred_at, item.occurred_at.tzinfo) == (datetime(2026, 3, 8, 5, tzinfo=UTC), UTC)
    assert item.tags == ("b", "a")
    assert item.metadata["t"] == [1, 2]
    assert await memory.get(item.id, user_id="ann@example.org") == item
    assert await place.open().get(item.id, user_id="ann@example.org") == item


async def test_vectors_alone_rank_by_cosine_and_filter_first(place: Place) -> None:
    embedder = ScriptedEmbedder(
        {"aa": (1, 0), "bb": (0.8, 0.6), "cc": (0.6, 0.8), "qq": (1, 0)}, dimensions=2
    )
    memory = place.open(embedder=embedder)
    await memory.remember("cc", tags=["x"])
    await memory.remember("aa")
    await memory.remember("bb", tags=["x"])
    assert [hit.content for hit in await memory.search("qq")] == ["aa", "bb", "cc"]
    assert [hit.content for hit in await memory.search("qq", tags=["x"], limit=1)] == ["bb"]


async def test_an_embedder_that_takes_too_long_leaves_it_to_the_words() -> None:
    class Slow(HashingEmbedder):
        hangs = False

        async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
            if self.hangs:
                await asyncio.Event().wait()
            return await super().embed(texts, kind)

    embedder = Slow()
    memory = Memory(store="memory://", embedder=embedder)
    await memory.remember("The boiler man is called Sven.")
    embedder.hangs = True
    hits = await memory.recall("boiler man", patience_s=0.01)
    assert [hit.content for hit in hits] == ["The boiler man is called Sven."]
    assert "0.01 s" in hits.degraded["vector"]
