"""Where memories can be kept, each as a place that a test can open, close and open again."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from retentive.memory import Memory
from retentive.stores.base import MemoryStore
from retentive.stores.file import FileStore
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.sqlite import SQLiteStore
from retentive.testing.clocks import CountingIds, FakeClock

KINDS_OF_STORE: Mapping[str, Callable[[Path], MemoryStore]] = {
    "memory": lambda _folder: InMemoryStore(),
    "sqlite": lambda folder: SQLiteStore(folder / "memory.db"),
    "file": lambda folder: FileStore(folder / "memories"),
}


class Place:
    """One place of a kind of store. Its clock stands still, and its ids count.

    Every `open` has a store object of its own on the same data, but for "memory", whose data live in one.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        self.clock = FakeClock()
        self.ids = CountingIds()
        self._stores: list[MemoryStore] = []

    @property
    def keeps(self) -> bool:
        """Whether what is stored outlives a close."""
        return self.kind != "memory"

    def store(self) -> MemoryStore:
        """A store on this place; `close` closes it."""
        if self.keeps or not self._stores:
            self._stores.append(KINDS_OF_STORE[self.kind](self.folder))
        return self._stores[-1]

    def open(self, namespace: str = "default", **options: Any) -> Memory:
        """A Memory here, with this place's clock and ids; `options` are those of Memory."""
        defaults: dict[str, Any] = {"clock": self.clock, "new_id": self.ids}
        store: MemoryStore = options.pop("store", None) or self.store()
        return Memory(namespace, store=store, **(defaults | options))

    async def close(self) -> None:
        """Close every store that was opened."""
        for store in self._stores:
            await store.close()

    def bytes_on_disk(self) -> bytes:
        """All that any file here holds; read in another process, as else SQLite's locks would be lost."""
        read = [sys.executable, "-I", "-c", _READ, str(self.folder)]
        return subprocess.run(read, stdout=subprocess.PIPE, check=True).stdout


_READ = """
import pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*")):
    if path.is_file():
        sys.stdout.buffer.write(path.read_bytes())
"""
