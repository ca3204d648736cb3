"""Opening, closing, event loops, cancellation, and where things are kept."""

import asyncio
import io
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from retentive import InvalidInput, Memory, StoreClosed, StoreUnavailable
from retentive.life.batch import Batch
from retentive.stores.in_memory import InMemoryStore
from retentive.testing.embedders import HashingEmbedder
from retentive.testing.places import KINDS_OF_STORE, Place

VERBS: dict[str, Callable[[Memory], Awaitable[Any]]] = {
    "remember": lambda memory: memory.remember("tea"),
    "remember_many": lambda memory: memory.remember_many(["tea"]),
    "recall": lambda memory: memory.recall("tea"),
    "search": lambda memory: memory.search("tea"),
    "get": lambda memory: memory.get("x"),
    "list": lambda memory: memory.list(),
    "count": lambda memory: memory.count(),
    "scopes": lambda memory: memory.scopes(),
    "update": lambda memory: memory.update("x", importance=1),
    "supersede": lambda memory: memory.supersede("x", "tea"),
    "apply": lambda memory: memory.apply(Batch()),
    "notes": lambda memory: memory.notes(),
    "history": lambda memory: memory.history("x"),
    "conflicts": lambda memory: memory.conflicts(),
    "forget": lambda memory: memory.forget("x"),
    "export": lambda memory: memory.export(io.BytesIO()),
    "import_": lambda memory: memory.import_(io.BytesIO(b"[]")),
    "clear": lambda memory: memory.clear(everyone=True),
    "async with": lambda memory: memory.__aenter__(),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
async def test_every_verb_of_a_closed_memory_says_so(
    memory: Memory, verb: Callable[[Memory], Awaitable[Any]]
) -> None:
    await memory.remember("tea")
    await memory.close()
    await memory.close()
    with pytest.raises(StoreClosed):
        await verb(memory)


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{folder}/m.db", "file://{folder}/m"])
async def test_a_memory_closes_the_store_that_it_opened(url: str, tmp_path: Path) -> None:
    memory = Memory(store=url.format(folder=tmp_path), embedder=HashingEmbedder())
    async with memory:
        await memory.remember("tea")
    with pytest.raises(StoreClosed):
        await memory.recall("tea")


async def test_a_memory_leaves_a_store_that_was_passed_in_open() -> None:
    store = InMemoryStore()
    async with Memory(store=store) as memory:
        await memory.remember("tea")
    assert await Memory(store=store).count() == 1


async def test_what_was_remembered_is_there_after_reopening(place: Place) -> None:
    if not place.keeps:
        return
    async with place.open() as memory:
        item = await memory.remember("tea at five")
        forgotten = await memory.remember("coffee at six")
        await memory.forget(forgotten.id)
        item = await memory.update(item.id, tags=["x"])
    await place.close()
    again = place.open()
    assert list(await again.list()) == [item]
    assert [hit.item for hit in await again.recall("tea")] == [item]


async def test_a_store_that_cannot_open_fails_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for url in (f"sqlite:///{tmp_path}/file/m.db", f"file://{tmp_path}/file/m"):
        memory = Memory(store=url)
        with pytest.raises(StoreUnavailable):
            async with memory:
                pass
        with pytest.raises(StoreUnavailable):
            await memory.recall("tea")


@pytest.mark.parametrize("bad", ["", "a/b", "..", "a\\b", "con", "x" * 200, 7, None])
def test_a_namespace_is_a_plain_name(bad: Any) -> None:
    with pytest.raises(InvalidInput):
        Memory(bad, store="memory://")


def test_what_is_not_known_is_refused_at_once() -> None:
    with pytest.raises(InvalidInput):
        Memory(store="mongodb://x")
    with pytest.raises(InvalidInput):
        Memory(store="memory://", embedder="word2vec")


def test_a_memory_says_what_it_is() -> None:
    memory = Memory("team", store="memory://", name="notes")
    assert (memory.namespace, memory.name, Memory("team", store="memory://").name) == (
        "team",
        "notes",
        "team",
    )
    assert repr(memory).startswith("Memory('team', store='memory://'")


async def test_the_environment_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RETENTIVE_URL", raising=False)
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path / "home"))
    async with Memory() as memory:
        await memory.remember("tea")
    assert (tmp_path / "home" / "memory.db").exists()
    monkeypatch.setenv("RETENTIVE_URL", f"file://{tmp_path}/folder")
    async with Memory("team") as memory:
        await memory.remember("tea")
    assert (tmp_path / "folder" / "team.jsonl").exists()
    monkeypatch.delenv("RETENTIVE_URL")
    monkeypatch.delenv("RETENTIVE_HOME")
    monkeypatch.chdir(tmp_path)
    async with Memory() as memory:
        await memory.remember("tea")
    assert (tmp_path / ".retentive" / "memory.db").exists()


@pytest.mark.parametrize("kind", KINDS_OF_STORE)
def test_one_memory_serves_one_event_loop_after_another(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    memory = place.open(embedder=HashingEmbedder())

    async def use(number: int) -> int:
        await asyncio.gather(*(memory.remember(f"tea {number} {one}") for one in range(3)))
        return len(await memory.recall("tea", limit=100))

    assert [asyncio.run(use(number)) for number in range(5)] == [3, 6, 9, 12, 15]
    asyncio.run(place.close())


@pytest.mark.parametrize("kind", KINDS_OF_STORE)
def test_one_memory_serves_several_event_loops_at_once(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    memory = place.open(embedder=HashingEmbedder())
    failed: list[BaseException] = []

    async def use(number: int) -> None:
        for one in range(5):
            item = await memory.remember(f"tea {number} {one}")
            assert item.id in [hit.id for hit in await memory.recall(f"tea {number} {one}", limit=100)]

    def run(number: int) -> None:
        try:
            asyncio.run(use(number))
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert asyncio.run(memory.count()) == 20
    asyncio.run(place.close())


async def cancelled_after(steps: int, call: Awaitable[Any]) -> bool:
    """Cancel the call after it could go on `steps` times; whether it was cancelled."""
    task = asyncio.ensure_future(call)
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


async def test_a_cancelled_remember_is_there_wholly_or_not_at_all(memory: Memory) -> None:
    cancelled = 0
    for steps in range(40):
        user = f"u{steps}"
        drafts = [f"tea {number}" for number in range(5)]
        cancelled += await cancelled_after(steps, memory.remember_many(drafts, user_id=user))
        await memory.remember("a later call works", user_id=user)
        assert await memory.count(user_id=user) in {1, 6}
        found = {hit.id for hit in await memory.search("tea", user_id=user, limit=100)}
        assert found <= {item.id for item in await memory.list(user_id=user)}
        await memory.remember_many(drafts, user_id=user)
        assert await memory.count(user_id=user) == 6
    assert cancelled


@pytest.mark.parametrize("verb", ["update", "forget", "recall", "clear"])
async def test_a_cancelled_call_leaves_all_or_nothing_behind(memory: Memory, verb: str) -> None:
    for steps in range(25):
        user = f"u{steps}"
        items = await memory.remember_many([f"tea {number}" for number in range(4)], user_id=user)
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "update": lambda: memory.update(items[0].id, user_id=user, content="coffee", tags=["x"]),  # noqa: B023
            "forget": lambda: memory.forget(items[0].id, user_id=user),  # noqa: B023
            "recall": lambda: memory.recall("tea", user_id=user),  # noqa: B023
            "clear": lambda: memory.clear(user_id=user),  # noqa: B023
        }
        await cancelled_after(steps, calls[verb]())
        await memory.remember("a later call works", user_id=user)
        left = [item for item in await memory.list(user_id=user) if item.content != "a later call works"]
        if verb == "clear":
            assert len(left) in {0, 4}
        elif verb == "update":
            changed = [(item.content, item.tags) for item in left if item.id == items[0].id]
            assert changed in ([("tea 0", ())], [("coffee", ("x",))])
        assert {hit.id for hit in await memory.search("tea coffee", user_id=user)} <= {
            item.id for item in await memory.list(user_id=user)
        }


async def test_other_tasks_go_on_during_a_big_write(memory: Memory) -> None:
    writing = asyncio.create_task(memory.remember_many([f"fish number {number}" for number in range(1_000)]))
    turns = 0
    while not writing.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 100
    assert len(await writing) == 1_000
