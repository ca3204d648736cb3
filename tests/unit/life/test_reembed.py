"""Moving memories to another embedder, while the store is in use."""

import asyncio
from collections.abc import Sequence

import pytest

from retentive import Memory, NewMemory, Scope
from retentive.embedders.base import Embedder, EmbedKind, Vectors, fingerprint
from retentive.errors import EmbedderError, EmbedderUnavailable, InvalidInput
from retentive.life import reembed
from retentive.testing.embedders import HashingEmbedder, ScriptedEmbedder
from retentive.testing.places import Place

OLD, NEW = HashingEmbedder(8, name="old"), HashingEmbedder(12, name="new")
TEXTS = [f"{word} is on the shelf" for word in ("kettle", "spoon", "ladle", "teapot", "sieve", "grater")]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed, "BATCH", 2)


async def vectors(place: Place, memory: Memory, user_id: str | None = None) -> dict[str, int]:
    """By text, how many numbers its stored vector has."""
    items = list(await memory.list(user_id=user_id, limit=1_000))
    stored = await place.store().get(Scope("default", user_id), [item.id for item in items])
    return {got.item.content: len(got.vector or b"") // 4 for got in stored if got is not None}


class Down(HashingEmbedder):
    """Cannot be reached from its `calls`-th call on."""

    def __init__(self, calls: int) -> None:
        super().__init__(12, name="new")
        self.left = calls

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
        self.left -= 1
        if self.left < 0:
            raise EmbedderUnavailable("no route")
        return await super().embed(texts, kind)


async def test_all_move_and_nothing_else_changes(place: Place) -> None:
    before = await place.open(embedder=OLD).remember_many(TEXTS, user_id="u")
    memory = place.open(embedder=NEW)
    told: list[tuple[int, int]] = []
    report = await memory.reembed(user_id="u", progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 6), (4, 6), (6, 6)]
    assert (report.before, report.scanned, report.moved) == ({"old/8": 6}, 6, 6)
    assert (report.failed, report.left, report.embedder) == ({}, 0, fingerprint(NEW))
    after = [await memory.get(item.id, user_id="u") for item in before]
    assert [item and item.updated_at for item in after] == [item.updated_at for item in before]
    assert [item and item.content for item in after] == TEXTS
    assert set((await vectors(place, memory, "u")).values()) == {12}
    assert (await memory.reembed(user_id="u")).scanned == 0


async def test_everyone_is_the_whole_namespace_and_no_other(place: Place) -> None:
    for namespace, user in (("default", None), ("default", "u"), ("other", None)):
        await place.open(namespace, embedder=OLD).remember("The kettle is red", user_id=user)
    assert (await place.open(embedder=NEW).reembed(everyone=True)).moved == 2
    assert (await place.open("other", embedder=NEW).recall("kettle")).degraded


async def test_it_must_be_said_whose(place: Place) -> None:
    memory = place.open(embedder=NEW)
    with pytest.raises(InvalidInput, match="whose"):
        await memory.reembed()
    with pytest.raises(InvalidInput, match="whose"):
        await memory.reembed(user_id="u", everyone=True)


async def test_superseded_and_expired_memories_move_too(place: Place) -> None:
    first = place.open(embedder=OLD)
    old = await first.remember("The kettle is red")
    await first.supersede(old.id, "The kettle is blue")
    report = await place.open(embedder=NEW).reembed(user_id=None)
    assert (report.moved, report.left) == (2, 0)


async def test_an_embedder_that_goes_down_ends_it_and_the_rest_moves_later(place: Place) -> None:
    await place.open(embedder=OLD).remember_many(TEXTS)
    report = await place.open(embedder=Down(1)).reembed(user_id=None)
    assert (report.moved, report.left) == (2, 4)
    assert dict(report.failed) == {"EmbedderUnavailable: no route": 4}
    again = await place.open(embedder=NEW).reembed(user_id=None)
    assert (again.scanned, again.moved, again.left) == (4, 4, 0)


async def test_one_text_that_cannot_be_embedded_keeps_no_other_back(place: Place) -> None:
    await place.open(embedder=OLD).remember_many(TEXTS)

    def answer(texts: Sequence[str]) -> object:
        if any("ladle" in text for text in texts):
            raise EmbedderError("too strange")
        return [[1.0, 0.0] for _ in texts]

    memory = place.open(embedder=ScriptedEmbedder(answer, dimensions=2))
    report = await memory.reembed(user_id=None)
    assert (report.moved, report.left, sum(report.failed.values())) == (5, 1, 1)
    assert (await memory.recall("ladle")).degraded


class Meanwhile(HashingEmbedder):
    """While it embeds for the first time, `act` happens."""

    def __init__(self) -> None:
        super().__init__(12, name="new")
        self.act: list[asyncio.Event] = [asyncio.Event(), asyncio.Event()]

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
        if not self.act[0].is_set():
            self.act[0].set()
            await self.act[1].wait()
        return await super().embed(texts, kind)


async def test_what_is_edited_and_written_meanwhile_stays_so(place: Place) -> None:
    first = place.open(embedder=OLD)
    items = await first.remember_many(TEXTS)
    embedder = Meanwhile()
    memory = place.open(embedder=embedder)
    moving = asyncio.create_task(memory.reembed(user_id=None))
    await embedder.act[0].wait()
    await first.update(items[0].id, content="The kettle broke")
    await memory.remember("The pan is new")
    embedder.act[1].set()
    report = await moving
    assert (report.moved, report.failed, report.left) == (6, {}, 0)
    texts = ["The kettle broke", "The pan is new", *TEXTS[1:]]
    assert await vectors(place, memory) == dict.fromkeys(texts, 12)


async def test_what_is_forgotten_meanwhile_stays_forgotten(place: Place) -> None:
    first = place.open(embedder=OLD)
    items = await first.remember_many(TEXTS)
    embedder = Meanwhile()
    memory = place.open(embedder=embedder)
    moving = asyncio.create_task(memory.reembed(user_id=None))
    await embedder.act[0].wait()
    await first.forget(items[1].id)
    embedder.act[1].set()
    report = await moving
    assert (report.moved, report.failed, report.left) == (5, {}, 0)
    assert await vectors(place, memory) == dict.fromkeys([TEXTS[0], *TEXTS[2:]], 12)


async def test_two_at_once_share_the_work_and_lose_nothing(place: Place) -> None:
    await place.open(embedder=OLD).remember_many(TEXTS)
    memories = [place.open(embedder=NEW) for _ in range(2)]
    reports = await asyncio.gather(*(memory.reembed(user_id=None) for memory in memories))
    assert [report.left for report in reports] == [0, 0]
    assert await vectors(place, memories[0]) == dict.fromkeys(TEXTS, 12)


async def test_the_backlog_follows_after_the_next_remember_in_the_scope(place: Place) -> None:
    memory = place.open(embedder=Down(0))
    kept = await memory.remember_many([NewMemory(content=text) for text in TEXTS])
    assert {item.embedder for item in kept} == {None}
    up: Embedder = NEW
    second = place.open(embedder=up)
    await second.remember("Another user's pan", user_id="u")
    assert set((await vectors(place, second)).values()) == {0}
    await second.remember("The pan is new")
    assert set((await vectors(place, second)).values()) == {12}
    assert not (await second.recall("kettle")).degraded


async def test_the_backlog_leaves_another_models_vectors_alone(place: Place) -> None:
    await place.open(embedder=OLD).remember("The kettle is red")
    await place.open(embedder=Down(0)).remember("The spoon is bent")
    memory = place.open(embedder=NEW)
    await memory.remember("The pan is new")
    assert await vectors(place, memory) == {
        "The kettle is red": 8,
        "The spoon is bent": 12,
        "The pan is new": 12,
    }


async def test_an_edit_while_the_embedder_is_down_is_kept_and_its_old_vector_is_gone(place: Place) -> None:
    embedder = Down(1)
    memory = place.open(embedder=embedder)
    item = await memory.remember("The kettle is red")
    edited = await memory.update(item.id, content="The kettle is blue")
    assert edited.embedder is None
    assert await vectors(place, memory) == {"The kettle is blue": 0}
    embedder.left = 9
    await memory.remember("The pan is new")
    assert (await vectors(place, memory))["The kettle is blue"] == 12


async def test_a_text_the_model_has_no_vector_for_waits_for_nothing(place: Place) -> None:
    memory = place.open(embedder=ScriptedEmbedder({}, dimensions=2, otherwise=(0, 0)))
    item = await memory.remember("Zzz")
    assert item.embedder == "scripted/2"
    assert (await memory.reembed(user_id=None)).scanned == 0
