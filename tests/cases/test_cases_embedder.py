"""The handed cases of embedders and scores; named by their ids."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from retentive import EmbedderError, Memory, NewMemory, Scope
from retentive.embedders.base import EmbedKind, Vectors, embed_checked
from retentive.embedders.openai import OpenAIEmbedder
from retentive.testing.embedders import HashingEmbedder, ScriptedEmbedder
from retentive.testing.openai_answers import reordered
from retentive.testing.openai_server import Answer, OpenAIServer
from retentive.testing.places import Place


class NoWords(ScriptedEmbedder):
    """An embedder for which no word is like another."""

    def words(self, words: Sequence[str]) -> Vectors:
        return np.zeros((len(words), self.dimensions), dtype=np.float32)


TEXTS = [f"t{number}" for number in range(30)]
ONE_HOT: dict[str, Sequence[float]] = {text: np.eye(30)[number] for number, text in enumerate(TEXTS)}
ASKED = {f"which is {text}": vector for text, vector in ONE_HOT.items()}


def one_hot(texts: Sequence[str]) -> list[Sequence[float]]:
    return [(ONE_HOT | ASKED)[text] for text in texts]


def answering(number: int) -> Callable[[Sequence[str]], object]:
    return lambda texts: (one_hot(texts) * 2)[:number] if len(texts) == 30 else one_hot(texts)


@pytest.mark.parametrize("number", [22, 31, 0])
async def test_emb_1_a_wrong_count_of_vectors_stores_nothing(place: Place, number: int) -> None:
    memory = place.open(embedder=NoWords(answering(number), dimensions=30))
    with pytest.raises(EmbedderError, match=f"{number} vectors for 30 texts"):
        await memory.remember_many(TEXTS)
    assert await memory.count() == 0


class SlowFirst(NoWords):
    """Holds its first call back until the second has been answered."""

    def __init__(self) -> None:
        super().__init__(one_hot, dimensions=30)
        self.second_done = asyncio.Event()

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Sequence[Sequence[float]]:
        answer = await super().embed(texts, kind)
        if len(self.calls) == 1:
            await self.second_done.wait()
        else:
            self.second_done.set()
        return answer


async def test_emb_1_every_text_has_its_own_vector_whichever_batch_ends_first(place: Place) -> None:
    embedder = SlowFirst()
    memory = place.open(embedder=embedder)
    await asyncio.gather(memory.remember_many(TEXTS[:15]), memory.remember_many(TEXTS[15:]))
    for text in ("t7", "t29"):
        assert (await memory.search(f"which is {text}", limit=1))[0].content == text
    items = list(await memory.list())
    stored = await place.store().get(Scope("default"), [item.id for item in items])
    for item, kept in zip(items, stored, strict=True):
        assert kept is not None
        assert kept.vector == np.array(ONE_HOT[item.content], dtype="<f4").tobytes()


async def test_emb_2_another_model_is_noticed_and_never_compared(place: Place) -> None:
    texts = [f"{word} is on shelf {number}" for number, word in enumerate(WORDS)]
    first = place.open(embedder=HashingEmbedder(8, name="A"))
    items = await first.remember_many(texts)
    assert {item.embedder for item in items} == {"A/8"}
    for model in (HashingEmbedder(12, name="B"), HashingEmbedder(8, name="C")):
        memory = place.open(embedder=model)
        hits = await memory.recall("where is the teapot?", limit=1)
        assert hits[0].content == texts[3]
        assert "cosine" not in hits[0].why
        assert model.name in hits.degraded["vector"]
        assert "10 have vectors of A/8" in hits.degraded["vector"]
        await memory.forget((await memory.remember(f"a note by {model.name}")).id)
    assert sorted(item.content for item in await first.list()) == sorted(texts)
    assert not (await first.recall("teapot")).degraded


async def test_emb_2_reembed_moves_every_memory_to_the_new_model(place: Place) -> None:
    texts = [f"{word} is on shelf {number}" for number, word in enumerate(WORDS)]
    items = await place.open(embedder=HashingEmbedder(8, name="A")).remember_many(texts)
    memory = place.open(embedder=HashingEmbedder(12, name="B"))
    report = await memory.reembed(user_id=None)
    assert (report.before, report.moved, report.left) == ({"A/8": 10}, 10, 0)
    hits = await memory.recall(texts[3], limit=1)
    assert (hits[0].content, dict(hits.degraded)) == (texts[3], {})
    assert "cosine" in hits[0].why
    moved = await place.store().get(Scope("default"), [item.id for item in items])
    assert {len(kept.vector or b"") for kept in moved if kept} == {4 * 12}


async def test_emb_1_answers_of_a_service_out_of_order_reach_their_texts(place: Place) -> None:
    with OpenAIServer() as server:
        server.script_embed(lambda _: Answer(rows=reordered))
        embedder = OpenAIEmbedder("m", base_url=server.base_url, api_key="k", dimensions=64, batch=7)
        memory = place.open(embedder=embedder)
        items = await memory.remember_many(TEXTS)
        await embedder.close()
    stored = await place.store().get(Scope("default"), [item.id for item in items])
    expected = await embed_checked(HashingEmbedder(64), TEXTS, "document")
    for kept, row in zip(stored, expected, strict=True):
        assert kept is not None
        assert np.allclose(np.frombuffer(kept.vector or b"", "<f4"), row, atol=1e-6)


WORDS = ["kettle", "spoon", "ladle", "teapot", "sieve", "grater", "whisk", "tureen", "corkscrew", "apron"]


async def test_emb_3_retries_of_a_slow_write_store_one(place: Place) -> None:
    slow = asyncio.Event()

    class Slow(HashingEmbedder):
        async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
            await slow.wait()
            return await super().embed(texts, kind)

    memory = place.open(embedder=Slow())
    tries = [asyncio.create_task(memory.remember("The gate code is 7781", key="k")) for _ in range(4)]
    same = [asyncio.create_task(memory.remember("The gate code is 7781")) for _ in range(4)]
    for _ in range(3):
        await asyncio.sleep(0)
    tries[0].cancel()
    slow.set()
    items = await asyncio.gather(*tries[1:], *same)
    assert len({item.id for item in items}) == 1
    assert await memory.count() == 1
    assert (await memory.remember("The gate code is 7781", key="k")).id == items[0].id


async def test_emb_3_a_failing_embedder_and_a_retry_store_each_once(place: Place) -> None:
    failures = [429, 429]

    def limited(texts: Sequence[str]) -> object:
        if failures:
            raise ConnectionError(f"status {failures.pop()}")
        return [np.eye(8)[sum(map(ord, text)) % 8] for text in texts]

    memory = place.open(embedder=ScriptedEmbedder(limited, dimensions=8))
    for _ in range(2):
        with pytest.raises(EmbedderError, match="429"):
            await memory.remember("The gate code is 7781")
    item = await memory.remember("The gate code is 7781")
    assert list(await memory.list()) == [item]
    failures.append(500)
    batch = [NewMemory(content=f"{word} is here", key=word) for word in WORDS[:5]]
    with pytest.raises(EmbedderError):
        await memory.remember_many(batch)
    assert await memory.count() == 1
    first = await memory.remember_many(batch)
    assert await memory.remember_many(batch) == first
    assert await memory.count() == 6


BROKEN: dict[str, Callable[[Sequence[str]], object]] = {
    "raises": lambda _: 1 / 0,
    "answers nothing": lambda _: list[float](),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_emb_4_words_answer_while_the_embedder_is_down(
    place: Place, broken: Callable[[Sequence[str]], object]
) -> None:
    healthy = place.open(embedder=ScriptedEmbedder({}, dimensions=2, otherwise=(1, 0)))
    sven = await healthy.remember("The boiler man is called Sven")
    memory = place.open(embedder=ScriptedEmbedder(broken, dimensions=2))
    hits = await memory.recall("boiler man")
    assert [hit.id for hit in hits] == [sven.id]
    assert "words alone" in hits.degraded["vector"]
    with pytest.raises(EmbedderError):
        await memory.remember("new fact")
    assert await memory.count() == 1


async def test_emb_4_a_hanging_embedder_can_be_given_up_on(place: Place) -> None:
    class Hanging(HashingEmbedder):
        async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError("never answers")

    asked = asyncio.Event()
    await place.open(embedder=HashingEmbedder()).remember("The boiler man is called Sven")
    memory = place.open(embedder=Hanging())
    calls: list[Callable[[], Any]] = [
        lambda: memory.recall("boiler man"),
        lambda: memory.remember("new fact"),
    ]
    for call in calls:
        task = asyncio.create_task(call())
        await asked.wait()
        asked.clear()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [item.content for item in await memory.list()] == ["The boiler man is called Sven"]


VECTORS: dict[str, object] = {
    "A": (1.0, 0.0),
    "B": (0.6, 0.8),
    "Z": (0.0, 0.0),
    "N": (float("nan"), 1.0),
    "I": (float("inf"), 0.0),
    "W": None,
    "L": [],
    "query": (1.0, 0.0),
    "zero query": (0.0, 0.0),
    "nan query": (float("nan"), float("nan")),
}


async def odd(place: Place) -> Memory:
    memory = place.open(embedder=NoWords(lambda texts: [VECTORS[text] for text in texts], dimensions=2))
    for text in ("A", "B", "Z"):
        await memory.remember(text)
    return memory


async def test_emb_5_a_vector_that_is_none_is_refused_or_left_out(place: Place) -> None:
    memory = await odd(place)
    for text in ("N", "I", "W", "L"):
        with pytest.raises(EmbedderError):
            await memory.remember(text)
    items = {item.content: item for item in await memory.list()}
    assert set(items) == {"A", "B", "Z"}
    assert items["Z"].embedder == "scripted/2"
    stored = await place.store().get(Scope("default"), [items["Z"].id])
    assert stored[0] is not None
    assert stored[0].vector is None


@pytest.mark.parametrize("query", ["query", "zero query", "nan query", "A query of words"])
async def test_emb_5_scores_are_numbers(place: Place, query: str) -> None:
    memory = await odd(place)
    hits = await memory.recall(query)
    json.dumps([[hit.score, dict(hit.why)] for hit in hits], allow_nan=False)
    if query == "query":
        assert [hit.content for hit in hits[:2]] == ["A", "B"]
    elif query == "nan query":
        assert hits.degraded
        assert hits == []
    else:
        assert not [hit for hit in hits if "cosine" in hit.why]


async def test_emb_5_a_single_memory_has_a_finite_score(place: Place) -> None:
    memory = place.open(embedder=NoWords({"A": (1.0, 0.0), "query": (1.0, 0.0)}, dimensions=2))
    await memory.remember("A")
    assert [hit.content for hit in await memory.recall("query")] == ["A"]
    json.dumps([hit.score for hit in await memory.recall("query")], allow_nan=False)
