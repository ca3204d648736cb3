"""Keyed hashes of framed parts: nobody without the key can make one, and no two lists of parts share one."""

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import replace

from retentive.checks import Json
from retentive.codec import item_to_dict, time_to_text
from retentive.keys import derive
from retentive.stores.base import NewTurn, StoredMemory
from retentive.types import Scope, Turn

MAC_BYTES = 32


class Mac:
    """BLAKE2b keyed with one store's own key: `place` is what the store is called by its owner."""

    def __init__(self, key: bytes, place: str) -> None:
        self._key = derive(key, "integrity")
        self._place = place.encode()
        self.key_id = hashlib.blake2b(key=self._key, digest_size=8, person=b"key id").digest()
        self.place_id = self.of("place").hex()[:16]

    def of(self, what: str, *parts: bytes) -> bytes:
        """The keyed hash of the parts; `what` (16 characters) keeps uses apart."""
        lengths = struct.pack(f"<{len(parts) + 1}Q", len(self._place), *map(len, parts))
        data = b"".join((lengths, self._place, *parts))
        return hashlib.blake2b(data, key=self._key, digest_size=MAC_BYTES, person=what.encode()).digest()

    def name_of(self, *words: str) -> str:
        """What the anchor calls a scope or a thread; it tells nothing to others."""
        return self.of("anchor name", *(word.encode() for word in words)).hex()[:40]


def scope_parts(scope: Scope) -> tuple[bytes, bytes]:
    """The scope, framed: the shared one is not a user without a name."""
    user = b"" if scope.user_id is None else b"u" + scope.user_id.encode()
    return scope.namespace.encode(), user


def memory_bytes(memory: StoredMemory) -> bytes:
    """What a memory says, in one form whatever store it went through; without `near`, which stores clear."""
    item = replace(memory.item, near=None, importance=memory.item.importance + 0.0)
    text_key = None if memory.text_key is None else memory.text_key.hex()
    return _json([item_to_dict(item), text_key, memory.key])


def turn_bytes(turn: Turn | NewTurn, metadata: Mapping[str, Json]) -> bytes:
    """What a turn says, but for its number."""
    return _json([turn.id, turn.role, turn.content, time_to_text(turn.at), dict(metadata)])


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
