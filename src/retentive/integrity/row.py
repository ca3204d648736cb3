"""One sealed memory: what a store keeps in front of its packed bytes, and how it is checked."""

import struct
from dataclasses import dataclass, replace

from retentive.errors import Tampered
from retentive.integrity.mac import Mac, memory_bytes, scope_parts
from retentive.stores.base import IndexRow, StoredMemory
from retentive.types import Scope

MAGIC = 0xA7
"""The first byte of sealed packed bytes; ranking's own begin otherwise, so it refuses a sealed store."""

_HEADER = struct.Struct("<BQQ32s32sH")


@dataclass(frozen=True, slots=True)
class Row:
    """The seal of one memory.

    `number` counts the writes of its scope, `born` is that of its first. `near` is the link as it was
    written; a store clears it when the other memory goes. `says` covers what it says, `tag` all.
    """

    number: int
    born: int
    near: str | None
    says: bytes
    tag: bytes

    def header(self) -> bytes:
        """What stands in front of the packed bytes."""
        near = (self.near or "").encode()
        return _HEADER.pack(MAGIC, self.number, self.born, self.says, self.tag, len(near)) + near


def seal(mac: Mac, memory: StoredMemory, number: int, born: int) -> tuple[StoredMemory, Row]:
    """The memory as it is stored, and its seal."""
    says = _says(mac, memory)
    bare = IndexRow(
        id=memory.item.id, packed=memory.packed, vector=memory.vector, embedder=memory.item.embedder
    )
    row = Row(number, born, memory.item.near, says, b"")
    row = replace(row, tag=_tag(mac, memory.item.scope, bare, row))
    return replace(memory, packed=row.header() + memory.packed), row


def split(packed: bytes) -> tuple[Row, bytes] | None:
    """The seal and the packed bytes behind it; None where there is no seal."""
    if len(packed) < _HEADER.size or packed[0] != MAGIC:
        return None
    _, number, born, says, tag, size = _HEADER.unpack_from(packed)
    start = _HEADER.size + size
    try:
        near = packed[_HEADER.size : start].decode() or None
    except UnicodeDecodeError:
        return None
    return Row(number, born, near, says, tag), packed[start:]


def open_row(mac: Mac, scope: Scope, stored: IndexRow) -> tuple[IndexRow, Row]:
    """The row of a scan without its seal, and the seal, which is good.

    Raises:
        Tampered: it is not as it was written.
    """
    parts = split(stored.packed)
    if parts is None:
        raise _tampered("inserted", scope, stored.id, "it carries no seal: it was not written with the key")
    row, packed = parts
    bare = replace(stored, packed=packed)
    if _tag(mac, scope, bare, row) != row.tag:
        raise _tampered("edited", scope, stored.id, "it is not what was written under this id")
    return bare, row


def open_memory(mac: Mac, stored: StoredMemory, known: Row) -> StoredMemory:
    """The memory without its seal, if it is the one that `known` seals; its `near` is not checked here.

    Raises:
        Tampered: it is another, or not as it was written.
    """
    item = stored.item
    index_row = IndexRow(id=item.id, packed=stored.packed, vector=stored.vector, embedder=item.embedder)
    bare, row = open_row(mac, item.scope, index_row)
    if row.tag != known.tag:
        why = "an older or another state of it was put in its place"
        raise _tampered("replayed", item.scope, item.id, why)
    opened = replace(stored, packed=bare.packed)
    if _says(mac, opened) != row.says:
        raise _tampered("edited", item.scope, item.id, "its text or its fields were changed")
    return opened


def belongs_to(mac: Mac, scope: Scope, stored: IndexRow, id: str) -> bool:
    """Whether what is stored under another id was written under this one."""
    parts = split(stored.packed)
    return (
        parts is not None
        and _tag(mac, scope, replace(stored, id=id, packed=parts[1]), parts[0]) == parts[0].tag
    )


def place_of(scope: Scope) -> str:
    """The scope in words, for messages."""
    whose = "the shared scope" if scope.user_id is None else f"user {scope.user_id!r}"
    return f"{whose} of namespace {scope.namespace!r}"


def _tampered(kind: str, scope: Scope, id: str, why: str) -> Tampered:
    return Tampered.of(kind, place_of(scope), f"memory {id}: {why}", record=id)


def _says(mac: Mac, memory: StoredMemory) -> bytes:
    return mac.of("memory says", *scope_parts(memory.item.scope), memory_bytes(memory))


def _tag(mac: Mac, scope: Scope, bare: IndexRow, row: Row) -> bytes:
    vector = b"" if bare.vector is None else b"v" + bare.vector
    embedder = b"" if bare.embedder is None else b"e" + bare.embedder.encode()
    near = b"" if row.near is None else b"n" + row.near.encode()
    numbers = struct.pack("<QQ", row.number, row.born)
    return mac.of(
        "memory",
        *scope_parts(scope),
        bare.id.encode(),
        numbers,
        near,
        row.says,
        bare.packed,
        vector,
        embedder,
    )
