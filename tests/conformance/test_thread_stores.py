"""Every thread store keeps every law of the published suite."""

import importlib
import pkgutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

import retentive.stores
from retentive.stores.base import ThreadStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.testing.thread_store_suite import ThreadStoreSuite

BACKENDS: dict[type[ThreadStore], Callable[[Path], ThreadStore]] = {
    JsonlThreadStore: lambda folder: JsonlThreadStore(folder / "threads"),
    InMemoryThreadStore: lambda _: InMemoryThreadStore(),
}


@pytest.mark.parametrize("make", BACKENDS.values(), ids=[backend.__name__ for backend in BACKENDS])
class TestThreadStores(ThreadStoreSuite):
    @pytest.fixture
    async def store(self, tmp_path: Path, make: Callable[[Path], ThreadStore]) -> AsyncIterator[ThreadStore]:
        store = make(tmp_path)
        yield store
        await store.close()


def test_no_thread_store_is_missing_here() -> None:
    verbs = {name for name in vars(ThreadStore) if not name.startswith("_")}
    found: set[object] = set()
    for module in pkgutil.iter_modules(retentive.stores.__path__, "retentive.stores."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and verbs <= set(dir(value)) and value is not ThreadStore:
                found.add(value)
    assert found == set(BACKENDS)
