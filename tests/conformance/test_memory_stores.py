"""Every memory store keeps every law of the published suite."""

import inspect
import pkgutil
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import retentive.stores
from retentive.stores.base import MemoryStore
from retentive.stores.file import FileStore
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.sqlite import SQLiteStore
from retentive.testing.memory_store_suite import MemoryStoreSuite

BACKENDS: dict[type[Any], Callable[[Path], MemoryStore] | None] = {
    SQLiteStore: lambda folder: SQLiteStore(folder / "memory.db"),
    FileStore: lambda folder: FileStore(folder / "memories"),
    InMemoryStore: None,
}
"""Each store, and how to open it on a folder; None where nothing survives a close."""


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.__name__)
class TestMemoryStores(MemoryStoreSuite):
    @pytest_asyncio.fixture
    async def store(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, backend: type[Any], tmp_path: Path
    ) -> AsyncIterator[MemoryStore]:
        self.tmp_path = tmp_path
        self.make = BACKENDS[backend]
        store = InMemoryStore() if self.make is None else self.make(tmp_path)
        await store.open()
        yield store
        await store.close()

    async def reopen(self, store: MemoryStore) -> MemoryStore | None:
        await store.close()
        return None if self.make is None else self.make(self.tmp_path)


def test_every_store_is_in_the_table() -> None:
    verbs = {name for name in vars(MemoryStore) if not name.startswith("_")}
    found: set[type] = set()
    for info in pkgutil.walk_packages(retentive.stores.__path__, "retentive.stores."):
        module = import_module(info.name)
        for _, value in inspect.getmembers(module, inspect.isclass):
            if verbs <= set(dir(value)) and value is not MemoryStore:
                found.add(value)
    assert found == set(BACKENDS)
