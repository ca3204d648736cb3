"""The view that a new memory is compared with: the latest memories may wait, but never one that is near."""

import asyncio

import numpy as np
import pytest

from retentive import MemoryItem, Scope
from retentive.embedders.base import Vectors, embed_checked
from retentive.embedders.static import shared
from retentive.indexes import MAX_WAITING, ScopeIndexes
from retentive.ranking.view import IndexView
from retentive.stores.base import Changes
from retentive.stores.in_memory import InMemoryStore
from retentive.testing.embedders import HashingEmbedder
from retentive.testing.places import Place

ANN = Scope("default", "ann")


def living(view: IndexView) -> set[str]:
    return {view.ids[row] for row in range(1, view.size) if view.alive[row]}


def vector(text: str) -> Vectors:
    return asyncio.run(embed_checked(HashingEmbedder(), [text], "document"))


FAR, SAME = vector("quite another thing"), vector("tea at nine")


class Scene:
    """A scope with a memory that its index has taken in, and a way to add more."""

    def __init__(self, place: Place) -> None:
        self.store = InMemoryStore()
        self.memory = place.open(store=self.store, embedder=HashingEmbedder())
        self.indexes = ScopeIndexes(self.store, shared(), "hashing/64")

    async def add(self, text: str) -> MemoryItem:
        return await self.memory.remember(text, user_id="ann")


@pytest.fixture
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(Place("memory", tmp_path_factory.mktemp("unused")))


async def test_a_new_memory_that_is_near_is_there(scene: Scene) -> None:
    first = await scene.add("first of all")
    await scene.indexes.view(ANN)
    near = await scene.add("tea at nine")
    assert living(await scene.indexes.view_to_compare(ANN, SAME)) == {first.id, near.id}


async def test_a_new_memory_that_is_far_may_wait_and_is_there_for_a_question(scene: Scene) -> None:
    first = await scene.add("first of all")
    await scene.indexes.view(ANN)
    late = await scene.add("tea at nine")
    assert living(await scene.indexes.view_to_compare(ANN, FAR)) == {first.id}
    assert living(await scene.indexes.view(ANN)) == {first.id, late.id}


async def test_no_more_than_a_few_wait(scene: Scene) -> None:
    await scene.add("first of all")
    await scene.indexes.view(ANN)
    for number in range(MAX_WAITING):
        await scene.add(f"number {number}")
        assert len(living(await scene.indexes.view_to_compare(ANN, FAR))) == 1
    await scene.add("one too many")
    assert len(living(await scene.indexes.view_to_compare(ANN, FAR))) == MAX_WAITING + 2


async def test_what_waits_can_be_forgotten(scene: Scene) -> None:
    first = await scene.add("first of all")
    await scene.indexes.view(ANN)
    late = await scene.add("tea at nine")
    await scene.indexes.view_to_compare(ANN, FAR)
    await scene.memory.forget(late.id, user_id="ann")
    assert living(await scene.indexes.view_to_compare(ANN, FAR)) == {first.id}
    assert living(await scene.indexes.view(ANN)) == {first.id}


async def test_a_changed_memory_never_waits(scene: Scene) -> None:
    first = await scene.add("first of all")
    await scene.indexes.view(ANN)
    await scene.memory.update(first.id, user_id="ann", content="tea at nine")
    view = await scene.indexes.view_to_compare(ANN, FAR)
    vectors = view.vectors
    assert vectors is not None
    assert np.isclose((vectors @ SAME[0])[[row for row in range(view.size) if view.alive[row]]], 1.0).all()


async def test_an_id_older_than_the_newest_never_waits(scene: Scene) -> None:
    first = await scene.add("first of all")
    newest = await scene.add("second of all")
    stored = [got for got in await scene.store.get(ANN, [first.id]) if got]
    await scene.store.write(Changes(scope=ANN, deletes=[first.id]))
    await scene.indexes.view(ANN)
    await scene.store.write(Changes(scope=ANN, inserts=stored))
    assert living(await scene.indexes.view_to_compare(ANN, FAR)) == {first.id, newest.id}
