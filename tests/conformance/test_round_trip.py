"""What goes from one store into another comes back equal, whichever two they are."""

import io
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from test_memory_stores import BACKENDS
from test_thread_stores import BACKENDS as THREAD_BACKENDS

from retentive import Memory, MemoryKind, NewMemory, Source
from retentive.stores.base import MemoryStore, NewTurn, ThreadStore
from retentive.stores.in_memory import InMemoryStore
from retentive.testing.clocks import START, CountingIds, FakeClock
from retentive.testing.embedders import HashingEmbedder

USERS = (None, "ann_lee", "ben%", "çelik 🎣")
TEXTS = (
    "Two lines\nand a 'quote', a \"double\" one, a \\ and a tab\t.",
    "Line separators\u2028and\u2029more, \u0085 and a zero\u200bwidth.",
    "🎣 Göteborg, 北京, مرحبا, e\u0301",
)


def opened(backend: type[Any], folder: Path) -> MemoryStore:
    make = BACKENDS[backend]
    return InMemoryStore() if make is None else make(folder)


def memory_on(store: MemoryStore, clock: FakeClock) -> Memory:
    return Memory("tenant", store=store, clock=clock, new_id=CountingIds(), embedder=HashingEmbedder())


def drafts() -> list[NewMemory]:
    every: list[NewMemory] = [
        NewMemory(
            content=f"A {kind} note.",
            kind=kind,
            importance=0.25,
            tags=["b", "a"],
            metadata={"n": 2**70, "deep": [{"x": None}, 1.5, True]},
            occurred_at=START - timedelta(days=2_000, microseconds=7),
            valid_from=START - timedelta(days=9),
            valid_until=START + timedelta(days=9),
            expires_at=START + timedelta(days=3),
            source=Source(thread="t 1", turns=(2, 3), speaker="Ann", document="d", place="p. 3"),
            origin="document",
            success=False,
            key=f"key of {kind}",
        )
        for kind in MemoryKind
    ]
    return [*every, *(NewMemory(content=text) for text in TEXTS)]


async def fill(memory: Memory, threads: ThreadStore, clock: FakeClock) -> None:
    for user in USERS:
        items = await memory.remember_many(drafts(), user_id=user)
        clock.move(minutes=1)
        await memory.supersede(items[-1].id, "Malmö, since then.", user_id=user)
        await memory.update(items[-2].id, user_id=user, importance=1.0)
    await memory.remember("Gone before it is exported.", user_id="gone", ttl=timedelta(seconds=1))
    clock.move(seconds=1)
    await memory.forget((await memory.list(user_id="ben%")).items[0].id, user_id="ben%")
    for thread in ("t 1", "T 1", "日誌"):
        turns = [
            NewTurn(id="1", role="user", content=TEXTS[0], at=START),
            NewTurn(
                id="2",
                role="assistant",
                content="Looking.",
                at=START + timedelta(microseconds=1),
                metadata={"tool_calls": [{"name": "look", "args": {"q": TEXTS[2]}}]},
            ),
            NewTurn(id="3", role="tool", content=TEXTS[1], at=START),
        ]
        await threads.append("tenant", thread, turns, 0)


async def exported(memory: Memory, threads: ThreadStore) -> bytes:
    file = io.BytesIO()
    await memory.export(file, threads=threads, vectors=True)
    return file.getvalue()


@pytest.mark.parametrize("into", BACKENDS, ids=lambda backend: f"into {backend.__name__}")
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: f"from {backend.__name__}")
async def test_a_round_trip_between_any_two_stores_is_equal(
    backend: type[Any], into: type[Any], tmp_path: Path
) -> None:
    clock = FakeClock()
    first, second = opened(backend, tmp_path / "a"), opened(into, tmp_path / "b")
    thread_stores = [make(tmp_path / f"t{n}") for n, make in enumerate(THREAD_BACKENDS.values())]
    memory, threads = memory_on(first, clock), thread_stores[0]
    await fill(memory, threads, clock)
    archive = await exported(memory, threads)
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        lines = packed.read("memories.jsonl").decode()
    assert "Malmö" in lines
    assert "superseded_by" in lines
    assert "Gone before" not in lines

    other = memory_on(second, clock)
    for kept in thread_stores[1:]:
        report = await other.import_(io.BytesIO(archive), threads=kept)
        assert report.refused == report.expired == 0
        assert await exported(other, kept) == archive
    again = await memory.import_(io.BytesIO(archive), threads=threads)
    assert (again.imported, again.threads, again.refused) == (0, 0, 0)
    assert again.present == lines.count("\n")
    assert await exported(memory, threads) == archive
    for user in USERS:
        mine = await memory.recall("a note of Malmö", user_id=user)
        theirs = await other.recall("a note of Malmö", user_id=user)
        assert [(hit.id, hit.score) for hit in mine] == [(hit.id, hit.score) for hit in theirs]
        for item in await memory.list(user_id=user):
            assert await other.history(item.id, user_id=user) == await memory.history(item.id, user_id=user)
    for store in (first, second, *thread_stores):
        await store.close()


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.__name__)
async def test_what_expires_between_export_and_import_stays_expired(
    backend: type[Any], tmp_path: Path
) -> None:
    clock = FakeClock()
    store = opened(backend, tmp_path)
    memory = memory_on(store, clock)
    await memory.remember("gate code 7781", ttl=timedelta(seconds=60))
    await memory.remember("The gate is green.")
    file = io.BytesIO()
    await memory.export(file)
    clock.move(seconds=60)
    other = memory_on(InMemoryStore(), clock)
    report = await other.import_(file)
    assert (report.imported, report.expired, report.refused) == (1, 1, 0)
    assert [item.content for item in await other.list()] == ["The gate is green."]
    await store.close()
