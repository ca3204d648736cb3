"""A store of memories whose texts, and all that is made of them, are encrypted before the store sees them."""

import asyncio
import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from retentive.codec import item_from_json, item_to_json
from retentive.encryption.keeper import Keeper, no_key
from retentive.encryption.options import Encryption, NamespaceKeys
from retentive.errors import Conflict, WrongKey
from retentive.stores.base import (
    Changes,
    IndexRow,
    MemoryStore,
    Scan,
    StoredMemory,
    Written,
)
from retentive.stores.wrapped import files_of, ids_of
from retentive.types import MemoryItem, Scope

_INLINE_ROWS: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked(Changes):
    """Changes that were checked before they were encrypted, which makes a note a little longer."""

    def __post_init__(self) -> None:
        pass


class EncryptedMemoryStore:
    """Wraps a `MemoryStore`: same laws, and the store keeps ids, times of writing, kinds and links in clear.

    Text, tags, metadata, source, event times, ranking's words and vectors are encrypted and bound to scope
    and id; the keys by which equal memories are known are keyed hashes.
    """

    encrypts: Final = True

    def __init__(self, inner: MemoryStore, encryption: Encryption) -> None:
        """Wrap the store; it is closed with this one."""
        self.inner = inner
        self._keeper = Keeper(encryption)
        self._encryption = encryption

    @property
    def url(self) -> str:
        """See `MemoryStore.url`."""
        return self.inner.url

    async def open(self) -> None:
        """See `MemoryStore.open`.

        Raises:
            WrongKey: the master key opens none of the ring's keys.
        """
        ring = self._encryption.keyring()
        for namespace in (await ring.namespaces())[:1]:
            await self._keeper.keys(namespace)
        await self.inner.open()

    async def close(self) -> None:
        """See `MemoryStore.close`."""
        await self.inner.close()
        self._keeper.forget()

    async def namespaces(self) -> list[str]:
        """See `MemoryStore.namespaces`."""
        return await self.inner.namespaces()

    async def scopes(self, namespace: str) -> list[Scope]:
        """See `MemoryStore.scopes`."""
        return await self.inner.scopes(namespace)

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[StoredMemory | None]:
        """See `MemoryStore.get`.

        Raises:
            WrongKey: they cannot be read with this key.
        """
        found = await self.inner.get(scope, ids)
        if not any(found):
            return found
        keys = await self._keys(scope)

        def opened() -> list[StoredMemory | None]:
            return [None if memory is None else _opened(keys, memory) for memory in found]

        return opened() if len(found) <= _INLINE_ROWS else await asyncio.to_thread(opened)

    async def scan(self, scope: Scope, since: int) -> Scan:
        """See `MemoryStore.scan`.

        Raises:
            WrongKey: it cannot be read with this key.
        """
        scan = await self.inner.scan(scope, since)
        if not scan.rows:
            return scan
        keys = await self._keys(scope)

        def opened() -> list[IndexRow]:
            return [_opened_row(keys, scope, row) for row in scan.rows]

        few = len(scan.rows) <= _INLINE_ROWS
        return replace(scan, rows=opened() if few else await asyncio.to_thread(opened))

    async def notes(self, scope: Scope, prefix: str = "") -> dict[str, bytes]:
        """See `MemoryStore.notes`. Their names are kept in clear.

        Raises:
            WrongKey: they cannot be read with this key.
        """
        found = await self.inner.notes(scope, prefix)
        if not found:
            return {}
        keys = await self._keys(scope)
        return {name: keys.cipher.decrypt(note, *_note_place(scope, name)) for name, note in found.items()}

    async def ids(self, scope: Scope) -> list[str]:
        """See `ListsIds.ids`."""
        return await ids_of(self.inner, scope)

    async def files(self, namespace: str) -> list[Path]:
        """See `KeepsFiles.files`.

        Raises:
            InvalidInput: the store wrapped does not say.
        """
        return await files_of(self.inner, namespace)

    async def write(self, changes: Changes) -> Written:
        """See `MemoryStore.write`.

        Raises:
            WrongKey: the scope's namespace holds data and its key is gone, or the master key is another:
                nothing is written; or the key was shredded just now: what was written cannot be read.
        """
        scope = changes.scope
        changes = replace(
            changes,
            deletes=tuple(changes.deletes),
            unchanged=dict(changes.unchanged),
            notes=dict(changes.notes),
            expected=dict(changes.expected),
        )
        sealed_inputs = [_with_json(memory) for memory in (*changes.updates, *changes.inserts)]

        async def holds_data() -> bool:
            return bool(await self.inner.scopes(scope.namespace))

        if not sealed_inputs and not changes.expected and not any(map(_is_there, changes.notes.values())):
            return await self.inner.write(changes)  # what cannot be read any more can be removed
        keys = await self._keeper.keys_to_write(scope.namespace, holds_data)
        sealed = [_sealed(keys, memory) for memory in sealed_inputs]
        split = len(changes.updates)
        notes = {
            name: None if note is None else keys.cipher.encrypt(note, *_note_place(scope, name))
            for name, note in changes.notes.items()
        }
        inner = _Checked(
            scope=scope,
            deletes=changes.deletes,
            updates=sealed[:split],
            inserts=sealed[split:],
            unchanged=changes.unchanged,
            notes=notes,
            expected=await self._expected(keys, changes),
            whole=changes.whole,
        )
        written = await self.inner.write(inner)
        await self._keeper.check(scope.namespace, keys)
        return written

    async def _expected(self, keys: NamespaceKeys, changes: Changes) -> dict[str, bytes | None]:
        """The notes that must be as given, as the store has them."""
        found: dict[str, bytes | None] = {}
        for name, note in changes.expected.items():
            kept = (await self.inner.notes(changes.scope, name)).get(name)
            plain = None if kept is None else keys.cipher.decrypt(kept, *_note_place(changes.scope, name))
            if plain != note:
                raise Conflict(f"note {name!r} was changed by another write; read it again")
            found[name] = kept
        return found

    async def _keys(self, scope: Scope) -> NamespaceKeys:
        keys = await self._keeper.keys(scope.namespace)
        if keys is None:
            raise no_key(scope.namespace)
        return keys


async def purge(store: MemoryStore, namespace: str) -> int:
    """Remove all memories and notes of a namespace whose key was shredded; gives how many memories.

    `store` is the bare store, without encryption: nothing is read, only removed.
    """
    count = 0
    for scope in await store.scopes(namespace):
        ids = [row.id for row in (await store.scan(scope, 0)).rows]
        notes = dict.fromkeys(await store.notes(scope))
        written = await store.write(Changes(scope=scope, deletes=ids, notes=notes))
        count += len(written.deleted)
    return count


def _is_there(note: bytes | None) -> bool:
    return note is not None


def _with_json(memory: StoredMemory) -> tuple[StoredMemory, str]:
    """The memory and its item as JSON, made before the write waits for anything."""
    return memory, item_to_json(replace(memory.item, near=None))


def _sealed(keys: NamespaceKeys, given: tuple[StoredMemory, str]) -> StoredMemory:
    memory, text = given
    item, place = memory.item, _place(memory.item)
    text_key = None if memory.text_key is None else memory.text_key.hex()
    body = keys.cipher.encrypt(json.dumps([text, text_key, memory.key]).encode(), "memory", *place)
    packed = json.dumps(item.embedder).encode() + b"\n" + memory.packed
    whose = [word.encode() for word in place[:2]]
    return StoredMemory(
        item=MemoryItem(
            id=item.id,
            scope=item.scope,
            kind=item.kind,
            content=base64.b64encode(body).decode(),
            created_at=item.created_at,
            updated_at=item.updated_at,
            near=item.near,
        ),
        text_key=None if memory.text_key is None else keys.hashed(b"text", *whose, memory.text_key),
        key=None if memory.key is None else keys.hashed(b"key", *whose, memory.key.encode()).hex(),
        packed=keys.cipher.encrypt(packed, "packed", *place),
        vector=None if memory.vector is None else keys.cipher.encrypt(memory.vector, "vector", *place),
    )


def _opened(keys: NamespaceKeys, stored: StoredMemory) -> StoredMemory:
    place = _place(stored.item)
    try:
        body = base64.b64decode(stored.item.content, validate=True)
    except ValueError as error:
        raise WrongKey(f"memory {stored.item.id} is not encrypted: somebody wrote without the key") from error
    text, text_key, key = json.loads(keys.cipher.decrypt(body, "memory", *place))
    row = _opened_row(keys, stored.item.scope, _index_row(stored))
    return StoredMemory(
        item=replace(item_from_json(text), near=stored.item.near),
        text_key=None if text_key is None else bytes.fromhex(text_key),
        key=key,
        packed=row.packed,
        vector=row.vector,
    )


def _opened_row(keys: NamespaceKeys, scope: Scope, row: IndexRow) -> IndexRow:
    place = (scope.namespace, _user(scope), row.id)
    embedder, packed = keys.cipher.decrypt(row.packed, "packed", *place).split(b"\n", 1)
    vector = None if row.vector is None else keys.cipher.decrypt(row.vector, "vector", *place)
    return IndexRow(id=row.id, packed=packed, vector=vector, embedder=json.loads(embedder))


def _index_row(stored: StoredMemory) -> IndexRow:
    return IndexRow(id=stored.item.id, packed=stored.packed, vector=stored.vector, embedder=None)


def _place(item: MemoryItem) -> tuple[str, str, str]:
    return item.scope.namespace, _user(item.scope), item.id


def _note_place(scope: Scope, name: str) -> tuple[str, str, str, str]:
    return "note", scope.namespace, _user(scope), name


def _user(scope: Scope) -> str:
    return "" if scope.user_id is None else scope.user_id
