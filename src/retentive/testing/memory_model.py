"""The laws of a memory store in the plainest form: a scope is a dict, every search a loop over it."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from retentive.errors import Conflict, NotFound
from retentive.stores.base import Changes, IndexRow, Scan, StoredMemory, Written
from retentive.types import MemoryItem, MemoryKind, Scope

EPOCH = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def make_memory(  # noqa: PLR0913  (a builder for tests)
    scope: Scope,
    id: str,
    *,
    text_key: bytes | None = None,
    key: str | None = None,
    packed: bytes | None = None,
    vector: bytes | None = None,
    version: int = 0,
    **fields: Any,
) -> StoredMemory:
    """A memory for tests: its text and packed bytes name its id and version; `fields` are the item's own."""
    item = MemoryItem(
        id=id,
        scope=scope,
        kind=fields.pop("kind", MemoryKind.SEMANTIC),
        content=fields.pop("content", f"{id} says {version}"),
        created_at=EPOCH,
        updated_at=EPOCH + timedelta(microseconds=version),
        **fields,
    )
    packed = f"{id}/{version}".encode() if packed is None else packed
    return StoredMemory(item=item, text_key=text_key, key=key, packed=packed, vector=vector)


class ScopeModel:
    """What one scope must hold after some changes; `memories` are in the order of their latest change."""

    def __init__(self) -> None:
        self.memories: dict[str, StoredMemory] = {}
        self.notes: dict[str, bytes] = {}

    def write(self, changes: Changes) -> Written:
        """Do it or raise as a store must."""
        for name, note in changes.expected.items():
            if self.notes.get(name) != note:
                raise Conflict(name)
        memories = dict(self.memories)
        deleted = [id for id in dict.fromkeys(changes.deletes) if memories.pop(id, None) is not None]
        for memory in changes.updates:
            _update(memories, memory, changes.unchanged)
        inserted = [_insert(memories, memory, whole=changes.whole) for memory in changes.inserts]
        # A name of a deleted memory is cleared where it stood before the updates and inserts of the change.
        untouched = self.memories.keys() - {memory.item.id for memory in changes.updates} - set(deleted)
        for id in untouched & memories.keys():
            if memories[id].item.near in deleted:
                memories[id] = replace(memories[id], item=replace(memories[id].item, near=None))
        self.memories = memories
        notes = {**self.notes, **changes.notes}
        self.notes = {name: note for name, note in notes.items() if note is not None}
        return Written(deleted=deleted, inserted=inserted)


class Follower:
    """What somebody knows of a scope who reads its changes now and then."""

    def __init__(self) -> None:
        self.position = 0
        self.rows: dict[str, IndexRow] = {}

    def follow(self, scan: Scan) -> None:
        """Take in what a scan since `position` gave."""
        if scan.reset:
            self.rows.clear()
        for id in scan.gone:
            self.rows.pop(id, None)
        for row in scan.rows:
            self.rows.pop(row.id, None)
            self.rows[row.id] = row
        self.position = scan.position


def index_rows(memories: Iterable[StoredMemory]) -> list[IndexRow]:
    """What a scan must give of these memories."""
    return [
        IndexRow(id=memory.item.id, packed=memory.packed, vector=memory.vector, embedder=memory.item.embedder)
        for memory in memories
    ]


def _update(memories: dict[str, StoredMemory], memory: StoredMemory, unchanged: Any) -> None:
    id = memory.item.id
    if id not in memories:
        raise NotFound(id)
    if id in unchanged and memories[id].item.updated_at != unchanged[id]:
        raise Conflict(id)
    if any(_same_key(other, memory) or _same_text(other, memory) for other in _others(memories, id)):
        raise Conflict(id)
    del memories[id]
    memories[id] = memory


def _insert(memories: dict[str, StoredMemory], memory: StoredMemory, *, whole: bool) -> str:
    holder = _holder(memories, memory)
    if holder is None:
        memories[memory.item.id] = memory
        return memory.item.id
    if whole:
        raise Conflict(memory.item.id, taken={memory.item.id: holder})
    return holder


def _holder(memories: dict[str, StoredMemory], memory: StoredMemory) -> str | None:
    """The id that has the memory's place: its id's, else its key's, else its text's."""
    if memory.item.id in memories:
        return memory.item.id
    for same in (_same_key, _same_text):
        for other in memories.values():
            if same(other, memory):
                return other.item.id
    return None


def _others(memories: dict[str, StoredMemory], id: str) -> list[StoredMemory]:
    return [memory for other, memory in memories.items() if other != id]


def _same_key(one: StoredMemory, other: StoredMemory) -> bool:
    return one.key is not None and one.key == other.key


def _same_text(one: StoredMemory, other: StoredMemory) -> bool:
    return one.text_key is not None and (one.item.kind, one.text_key) == (other.item.kind, other.text_key)
