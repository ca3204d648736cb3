"""Which memories are compared with a new one: the nearest of its kind, never too many, turns never."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from retentive import MemoryItem, MemoryKind, Scope, Source
from retentive.embedders.static import shared
from retentive.ranking.features import features, pack
from retentive.ranking.near import MAX_NEAR, near_memories
from retentive.ranking.scope_index import ScopeIndex
from retentive.ranking.view import IndexView
from retentive.stores.base import IndexRow, Scan

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TURN = Source(thread="t", turns=(1,))


def item(number: int, kind: MemoryKind = MemoryKind.SEMANTIC) -> MemoryItem:
    return MemoryItem(
        id=f"m{number:05}",
        scope=Scope("d"),
        kind=kind,
        content=f"fact {number}",
        created_at=NOW,
        updated_at=NOW,
    )


def towards(cosine: float) -> NDArray[np.float32]:
    return np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)


def view_of(stored: list[tuple[MemoryItem, float]]) -> IndexView:
    index = ScopeIndex(shared(), "e/2")
    rows = [
        IndexRow(id=one.id, packed=pack(features(one)), vector=towards(cosine).tobytes(), embedder="e/2")
        for one, cosine in stored
    ]
    index.apply(Scan(position=1, rows=rows))
    return index.view()


def near(stored: list[tuple[MemoryItem, float]], *new: MemoryItem) -> list[list[str]]:
    vectors = np.stack([towards(1.0) for _ in new])
    found = near_memories(view_of(stored), new, vectors, NOW, 0.9)
    return [[one.id for one in each] for each in found]


def test_the_nearest_come_first_and_the_far_not_at_all() -> None:
    stored = [(item(1), 0.95), (item(2), 0.89), (item(3), 0.99), (item(4), 0.91)]
    assert near(stored, item(9)) == [["m00003", "m00001", "m00004"]]


def test_of_equally_near_ones_the_newest_are_taken_however_many_there_are() -> None:
    stored = [(item(number), 1.0) for number in range(1, 10_001)]
    assert near(stored, item(20_000)) == [[f"m{10_000 - number:05}" for number in range(MAX_NEAR)]]


def test_a_nearer_one_goes_before_many_newer() -> None:
    stored = [(item(1), 0.99), *((item(number), 0.95) for number in range(2, 6_000))]
    assert near(stored, item(9_999))[0][0] == "m00001"
    assert len(near(stored, item(9_999))[0]) == MAX_NEAR


def test_other_kinds_turns_and_what_is_over_do_not_count() -> None:
    stored = [
        (item(1, MemoryKind.WORKING), 1.0),
        (replace(item(2), kind=MemoryKind.EPISODIC, source=TURN), 1.0),
        (replace(item(3), expires_at=NOW), 1.0),
        (replace(item(4), valid_until=NOW), 1.0),
        (replace(item(5), superseded_by="m6"), 1.0),
        (replace(item(6), expires_at=NOW + timedelta(seconds=1)), 1.0),
    ]
    assert near(stored, item(9)) == [["m00006"]]
    assert near(stored, item(9, MemoryKind.EPISODIC)) == [[]]
    assert near(stored, replace(item(9), kind=MemoryKind.EPISODIC, source=TURN)) == [[]]


def test_of_a_batch_only_what_comes_before_counts() -> None:
    found = near([], item(1), item(2), item(3, MemoryKind.WORKING), item(4))
    assert found == [[], ["m00001"], [], ["m00002", "m00001"]]
    many = near([], *(item(number) for number in range(1, 1_001)))
    assert all(len(each) <= MAX_NEAR for each in many)
    assert many[-1] == [f"m{999 - number:05}" for number in range(MAX_NEAR)]


def test_without_a_vector_nothing_is_near() -> None:
    zeros = np.zeros((1, 2), dtype=np.float32)
    assert near_memories(view_of([(item(1), 1.0)]), [item(2)], zeros, NOW, 0.9) == [[]]
