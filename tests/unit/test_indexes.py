"""The indexes of scopes: loaded once, followed, bounded, the same for whoever asks."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Sequence

import pytest

from retentive import Scope
from retentive.embedders.static import shared
from retentive.indexes import EMPTY_INDEX_BYTES, ScopeIndexes
from retentive.ranking.view import IndexView
from retentive.stores.base import Changes, Scan
from retentive.stores.in_memory import InMemoryStore
from retentive.testing.embedders import HashingEmbedder
from retentive.testing.places import Place


class Watched(InMemoryStore):
    """Counts scans, and holds them back while `gate` is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.scans: list[tuple[Scope, int]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def scan(self, scope: Scope, since: int) -> Scan:
        self.scans.append((scope, since))
        await self.gate.wait()
        return await super().scan(scope, since)


def living(view: IndexView) -> set[str]:
    return {view.ids[row] for row in range(1, view.size) if view.alive[row]}


def indexes(store: InMemoryStore, max_bytes: int = 10**9) -> ScopeIndexes:
    return ScopeIndexes(store, shared(), "hashing/64", max_bytes=max_bytes)


@pytest.fixture
def store() -> Watched:
    return Watched()


@pytest.fixture
def kit(store: Watched, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place("memory", tmp_path_factory.mktemp("unused"))


async def remember(kit: Place, store: InMemoryStore, texts: Sequence[str], user: str = "ann") -> list[str]:
    memory = kit.open(store=store, embedder=HashingEmbedder())
    return [item.id for item in await memory.remember_many(list(texts), user_id=user)]


ANN, EVE = Scope("default", "ann"), Scope("default", "eve")


async def test_a_cold_scope_is_loaded_once_however_many_ask(kit: Place, store: Watched) -> None:
    ids = await remember(kit, store, [f"tea {number}" for number in range(300)])
    store.scans.clear()
    store.gate.clear()
    cold = indexes(store)
    asking = [asyncio.create_task(cold.view(ANN)) for _ in range(20)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert store.scans == [(ANN, 0)]
    store.gate.set()
    views = await asyncio.gather(*asking)
    assert [since for _, since in store.scans].count(0) == 1
    assert all(living(view) == set(ids) for view in views)


async def test_a_view_has_every_write_that_finished_before(kit: Place, store: Watched) -> None:
    one = indexes(store)
    ids = await remember(kit, store, ["one"])
    assert living(await one.view(ANN)) == set(ids)
    ids += await remember(kit, store, ["two", "three"])
    assert living(await one.view(ANN)) == set(ids)
    await store.write(Changes(scope=ANN, deletes=ids[:2]))
    assert living(await one.view(ANN)) == {ids[2]}
    await store.write(Changes(scope=ANN, deletes=ids))
    assert living(await one.view(ANN)) == set()
    ids = await remember(kit, store, ["four"])
    assert living(await one.view(ANN)) == set(ids)


async def test_an_old_view_stays_as_it_was(kit: Place, store: Watched) -> None:
    one = indexes(store)
    ids = await remember(kit, store, ["one", "two"])
    view = await one.view(ANN)
    await store.write(Changes(scope=ANN, deletes=ids[:1]))
    await one.view(ANN)
    assert living(view) == set(ids)


async def test_nothing_new_gives_the_same_view(kit: Place, store: Watched) -> None:
    one = indexes(store)
    await remember(kit, store, ["one", "two"])
    assert await one.view(ANN) is await one.view(ANN)


async def test_the_scopes_used_longest_ago_are_dropped(kit: Place, store: Watched) -> None:
    for user in "abcde":
        await remember(kit, store, [f"tea {number}" for number in range(50)], user)
    probe = indexes(store)
    await probe.view(Scope("default", "a"))
    size = held(probe)
    few = indexes(store, max_bytes=int(size * 3.5))
    for user in "abcdeacc":
        await few.view(Scope("default", user))
        assert held(few) <= size * 3.5
    store.scans.clear()
    for user in "ceadb":
        await few.view(Scope("default", user))
    assert [since == 0 for _, since in store.scans] == [False, False, False, True, True]


async def test_the_newest_is_kept_however_large(kit: Place, store: Watched) -> None:
    await remember(kit, store, ["tea"] * 1 + [f"tea {number}" for number in range(50)])
    tiny = indexes(store, max_bytes=1)
    await tiny.view(ANN)
    store.scans.clear()
    await tiny.view(ANN)
    assert store.scans[0][1] != 0


async def test_scopes_with_nothing_in_them_are_bounded_too(store: Watched) -> None:
    few = indexes(store, max_bytes=100 * EMPTY_INDEX_BYTES)
    for number in range(300):
        await few.view(Scope("default", f"u{number}"))
    assert len(scopes_held(few)) <= 100


async def test_what_is_held_is_counted_right_whoever_loads_it(kit: Place, store: Watched) -> None:
    one = indexes(store)
    for number in range(10):
        await remember(kit, store, [f"tea {number} {other}" for other in range(30)])
        await asyncio.gather(*(one.view(ANN) for _ in range(20)))
    alone = indexes(store)
    await alone.view(ANN)
    assert held(one) <= 2 * held(alone)
    await store.write(Changes(scope=ANN, deletes=list(living(await one.view(ANN)))))
    await one.view(ANN)
    await alone.view(ANN)
    assert held(one) == held(alone)


async def test_a_damaged_row_is_told_and_the_index_stays(kit: Place, store: Watched) -> None:
    from dataclasses import replace

    from retentive import StoreCorrupt

    one = indexes(store)
    ids = await remember(kit, store, ["one"])
    await one.view(ANN)
    stored = (await store.get(ANN, ids))[0]
    assert stored is not None
    await store.write(Changes(scope=ANN, updates=[replace(stored, packed=b"\x00nonsense")]))
    with pytest.raises(StoreCorrupt):
        await one.view(ANN)
    await store.write(Changes(scope=ANN, updates=[stored]))
    assert living(await one.view(ANN)) == set(ids)


def test_views_asked_from_many_threads_while_others_write_are_whole(kit: Place) -> None:
    store = InMemoryStore()
    one = indexes(store)
    failed: list[BaseException] = []

    async def write(user: str) -> None:
        for number in range(6):
            await remember(kit, store, [f"{user} {number} {other}" for other in range(300)])
            assert living(await one.view(ANN))

    async def read() -> None:
        last = 0
        for _ in range(200):
            view = await one.view(ANN)
            found = living(view)
            assert len(found) == len(view) >= last
            assert all(
                len(column) == view.size for column in (view.heads, view.rated, view.lengths, view.norms)
            )
            last = len(found)

    def run(make: object) -> None:
        try:
            asyncio.run(make())  # pyright: ignore[reportCallIssue, reportUnknownArgumentType]
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            failed.append(error)

    threads = [
        threading.Thread(target=run, args=(make,))
        for make in (lambda: write("a"), lambda: write("b"), read, read)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(living(asyncio.run(one.view(ANN)))) == 3_600


class Unhurried(InMemoryStore):
    """Lets other tasks go first at every scan."""

    async def scan(self, scope: Scope, since: int) -> Scan:
        await asyncio.sleep(0)
        return await super().scan(scope, since)


def test_no_event_loop_is_kept_alive_by_those_who_waited_for_a_load(kit: Place) -> None:
    store = Unhurried()
    one = indexes(store)

    async def ask() -> None:
        await remember(kit, store, ["one", "two"])
        await asyncio.gather(*(one.view(ANN) for _ in range(5)), *(one.view(EVE) for _ in range(5)))

    loop = asyncio.new_event_loop()
    loop.run_until_complete(ask())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    gone = weakref.ref(loop)
    del loop
    gc.collect()
    assert gone() is None


def held(one: ScopeIndexes) -> int:
    return one._nbytes  # pyright: ignore[reportPrivateUsage]


def scopes_held(one: ScopeIndexes) -> list[Scope]:
    return list(one._followers)  # pyright: ignore[reportPrivateUsage]
