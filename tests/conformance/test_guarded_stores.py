"""Sealed and encrypted stores keep every law that bare ones keep."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from retentive.encryption import EncryptedMemoryStore, EncryptedThreadStore, Encryption, FolderRing
from retentive.integrity import FolderAnchor, Integrity, sealed_memories, sealed_threads
from retentive.stores.base import MemoryStore, ThreadStore
from retentive.stores.file import FileStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.sqlite import SQLiteStore
from retentive.testing.memory_store_suite import MemoryStoreSuite
from retentive.testing.thread_store_suite import ThreadStoreSuite


def integrity(folder: Path) -> Integrity:
    return Integrity(key=b"k" * 32, anchor=FolderAnchor(folder / "anchor"))


def encryption(folder: Path) -> Encryption:
    return Encryption(key=b"e" * 32, ring=FolderRing(folder / "ring"))


def sqlite(folder: Path) -> MemoryStore:
    return SQLiteStore(folder / "memory.db")


MEMORIES: dict[str, Callable[[Path], MemoryStore]] = {
    "sealed sqlite": lambda folder: sealed_memories(sqlite(folder), integrity(folder)),
    "sealed file": lambda folder: sealed_memories(FileStore(folder / "memories"), integrity(folder)),
    "encrypted sqlite": lambda folder: EncryptedMemoryStore(sqlite(folder), encryption(folder)),
    "both": lambda folder: EncryptedMemoryStore(
        sealed_memories(sqlite(folder), integrity(folder)), encryption(folder)
    ),
}
THREADS: dict[str, Callable[[Path], ThreadStore]] = {
    "sealed jsonl": lambda folder: sealed_threads(JsonlThreadStore(folder / "t"), integrity(folder)),
    "sealed memory": lambda folder: sealed_threads(InMemoryThreadStore(), integrity(folder)),
    "encrypted jsonl": lambda folder: EncryptedThreadStore(
        JsonlThreadStore(folder / "t"), encryption(folder)
    ),
    "both": lambda folder: EncryptedThreadStore(
        sealed_threads(JsonlThreadStore(folder / "t"), integrity(folder)), encryption(folder)
    ),
}


@pytest.mark.parametrize("guard", MEMORIES)
class TestGuardedMemories(MemoryStoreSuite):
    @pytest_asyncio.fixture
    async def store(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, guard: str, tmp_path: Path
    ) -> AsyncIterator[MemoryStore]:
        self.tmp_path, self.make = tmp_path, MEMORIES[guard]
        store = self.make(tmp_path)
        await store.open()
        yield store
        await store.close()

    async def reopen(self, store: MemoryStore) -> MemoryStore | None:
        await store.close()
        return self.make(self.tmp_path)


@pytest.mark.parametrize("guard", THREADS)
class TestGuardedThreads(ThreadStoreSuite):
    @pytest_asyncio.fixture
    async def store(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, guard: str, tmp_path: Path
    ) -> AsyncIterator[ThreadStore]:
        store = THREADS[guard](tmp_path)
        yield store
        await store.close()
