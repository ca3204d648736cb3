import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from retentive.embedders.base import EmbedKind, Vectors, embed_checked, fingerprint
from retentive.embedders.cached import CachedEmbedder
from retentive.errors import EmbedderError, InvalidInput
from retentive.testing.embedders import HashingEmbedder


class Counting(HashingEmbedder):
    """Keeps what it is asked for, and answers once it may."""

    def __init__(self) -> None:
        super().__init__(8)
        self.asked: list[tuple[str, ...]] = []
        self.may = asyncio.Event()
        self.may.set()
        self.fails = 0

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
        self.asked.append(tuple(texts))
        await self.may.wait()
        if self.fails:
            self.fails -= 1
            raise EmbedderError("not now")
        return await super().embed(texts, kind)


async def test_it_makes_the_vectors_of_the_inner_one_under_its_name() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    assert fingerprint(cached) == fingerprint(inner)
    for texts in (["a", "b", "a"], ["b", "c"], []):
        made = await embed_checked(cached, texts, "document")
        np.testing.assert_array_equal(made, await embed_checked(HashingEmbedder(8), texts, "document"))
    assert inner.asked == [("a", "b"), ("c",)]


async def test_documents_and_queries_are_kept_apart() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    await cached.embed(["a"], "document")
    await cached.embed(["a"], "query")
    assert len(inner.asked) == 2


async def test_the_least_recently_used_goes_first() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, max_items=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await cached.embed([text], "query")
        assert len(cached) <= 2
    assert inner.asked == [("a",), ("b",), ("c",), ("b",)]


async def test_more_texts_than_it_keeps_are_answered_all_the_same() -> None:
    assert (await CachedEmbedder(Counting(), max_items=1).embed(["a", "b", "c"], "query")).shape == (3, 8)


async def test_a_text_under_way_is_asked_for_once() -> None:
    inner = Counting()
    inner.may.clear()
    cached = CachedEmbedder(inner)
    tasks = [asyncio.create_task(cached.embed(["a", text], "query")) for text in ("b", "c", "b")]
    for _ in range(5):
        await asyncio.sleep(0)
    inner.may.set()
    await asyncio.gather(*tasks)
    assert sorted(sum(inner.asked, ())) == ["a", "b", "c"]


async def test_a_failure_or_a_caller_who_leaves_fails_nobody_else() -> None:
    inner = Counting()
    inner.may.clear()
    inner.fails = 1
    cached = CachedEmbedder(inner)
    first, second = (asyncio.create_task(cached.embed(["a"], "query")) for _ in range(2))
    for _ in range(5):
        await asyncio.sleep(0)
    inner.may.set()
    with pytest.raises(EmbedderError):
        await first
    assert (await second).shape == (1, 8)
    inner.may.clear()
    gone, other = (asyncio.create_task(cached.embed(["b"], "query")) for _ in range(2))
    for _ in range(5):
        await asyncio.sleep(0)
    gone.cancel()
    inner.may.set()
    assert (await other).shape == (1, 8)


async def test_the_rows_are_the_callers_own() -> None:
    cached = CachedEmbedder(Counting())
    (await cached.embed(["a"], "query"))[:] = 7
    assert not (await cached.embed(["a"], "query") == 7).any()


def test_it_keeps_one_at_least() -> None:
    with pytest.raises(InvalidInput, match="max_items"):
        CachedEmbedder(Counting(), max_items=0)
