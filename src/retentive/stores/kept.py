"""Memories and changes as they are held in this process: copies that share nothing with callers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from retentive.codec import item_from_json, item_to_json, time_to_text
from retentive.stores.base import Changes, IndexRow, StoredMemory

Slot: TypeAlias = tuple[str, ...] | tuple[str, bytes]
"""What only one memory of a scope may hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A memory as it is held: the item as JSON, so that nothing is shared with callers."""

    id: str
    kind: str
    near: str | None
    updated_at: str
    embedder: str | None
    text_key: bytes | None
    key: str | None
    packed: bytes
    vector: bytes | None
    item: str

    def slots(self) -> Iterator[Slot]:
        """What no other memory of the scope may hold, the caller's key first."""
        if self.key is not None:
            yield "key", self.key
        if self.text_key is not None:
            yield self.kind, self.text_key

    def stored(self) -> StoredMemory:
        """The memory as it is handed out."""
        return StoredMemory(
            item=item_from_json(self.item),
            text_key=self.text_key,
            key=self.key,
            packed=self.packed,
            vector=self.vector,
        )

    def index_row(self) -> IndexRow:
        """What a scan gives of it."""
        return IndexRow(id=self.id, packed=self.packed, vector=self.vector, embedder=self.embedder)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptChanges:
    """Changes that share nothing mutable with the caller."""

    deletes: tuple[str, ...]
    updates: tuple[Kept, ...]
    inserts: tuple[Kept, ...]
    unchanged: Mapping[str, str]
    notes: Mapping[str, bytes | None]
    expected: Mapping[str, bytes | None]
    whole: bool


def keep(memory: StoredMemory) -> Kept:
    """The memory as it is held."""
    item = memory.item
    return Kept(
        id=item.id,
        kind=str(item.kind),
        near=item.near,
        updated_at=time_to_text(item.updated_at),
        embedder=item.embedder,
        text_key=memory.text_key,
        key=memory.key,
        packed=memory.packed,
        vector=memory.vector,
        item=item_to_json(item),
    )


def keep_changes(changes: Changes) -> KeptChanges:
    """The changes, copied."""
    return KeptChanges(
        deletes=tuple(dict.fromkeys(changes.deletes)),
        updates=tuple(map(keep, changes.updates)),
        inserts=tuple(map(keep, changes.inserts)),
        unchanged={id: time_to_text(moment) for id, moment in changes.unchanged.items()},
        notes=dict(changes.notes),
        expected=dict(changes.expected),
        whole=changes.whole,
    )
