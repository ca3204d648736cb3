"""The audit of a whole store: every scope and every thread is read and checked, nothing is changed."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retentive.errors import StoreCorrupt, Tampered
from retentive.integrity.anchor import Head, ListsHeads
from retentive.integrity.options import Integrity, sealed_memories, sealed_threads
from retentive.integrity.row import place_of
from retentive.stores.base import MemoryStore, ThreadStore
from retentive.types import Scope

_BATCH: Final = 500
_REDACTIONS: Final = "redactions"  # they are checked with their thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the audit says of one scope or thread: how much it holds, what is wrong (`kind`)."""

    what: str
    namespace: str
    name: str | None
    records: int = 0
    kind: str | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """All that was looked at, memories first, each by namespace and name; and the heads of those, by name.

    `lists_missing` says whether the anchor could tell of what is gone whole.
    """

    checked: Sequence[Checked]
    heads: Mapping[str, Head]
    lists_missing: bool

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return all(each.kind is None for each in self.checked)


async def audit(store: MemoryStore, threads: ThreadStore, integrity: Integrity) -> Audit:
    """Read and check all of both stores, as they are without the seal; what is damaged is told, not raised.

    Raises:
        StoreError: a store or the anchor cannot be opened or read at all.
    """
    memories, logs = sealed_memories(store, integrity), sealed_threads(threads, integrity)
    checked = [
        await _told("memories", scope.namespace, scope.user_id, _scope_reader(memories, scope))
        for scope in await _scopes(store)
    ]
    checked += [await _told("thread", *name, _thread_reader(logs, *name)) for name in await _threads(threads)]
    anchor = integrity.anchored()
    listed = await anchor.heads() if isinstance(anchor, ListsHeads) else dict[str, Head]()
    ours = {integrity.mac(store.url).place_id, integrity.mac(threads.url).place_id}
    heads = {name: head for name, head in listed.items() if head.label and json.loads(head.label)[0] in ours}
    checked += _vanished(heads.values(), checked)
    return Audit(checked=checked, heads=heads, lists_missing=isinstance(anchor, ListsHeads))


async def adopt(store: MemoryStore, threads: ThreadStore, integrity: Integrity) -> int:
    """Seal what is refused now, as it is found; gives how many memories and turns that are.

    Look at it first: from then on it counts as genuine, whoever wrote it.

    Raises:
        StoreError: a store or the anchor cannot be read or written.
    """
    memories, logs = sealed_memories(store, integrity), sealed_threads(threads, integrity)
    count = 0
    for scope in await _scopes(store):
        reader = _scope_reader(memories, scope)
        if (await _told("memories", scope.namespace, scope.user_id, reader)).kind is not None:
            count += await memories.adopt(scope)
    for name in await _threads(threads):
        if (await _told("thread", *name, _thread_reader(logs, *name))).kind is not None:
            count += await logs.adopt(*name)
    return count


async def _scopes(store: MemoryStore) -> list[Scope]:
    return [scope for namespace in await store.namespaces() for scope in await store.scopes(namespace)]


async def _threads(store: ThreadStore) -> list[tuple[str, str]]:
    return [
        (namespace, thread)
        for namespace in await store.namespaces()
        for thread in await store.threads(namespace)
    ]


def _thread_reader(threads: ThreadStore, namespace: str, thread: str) -> Callable[[], Awaitable[int]]:
    async def read() -> int:
        return len((await threads.turns(namespace, thread, 0)).turns)

    return read


def _scope_reader(memories: MemoryStore, scope: Scope) -> Callable[[], Awaitable[int]]:
    async def read() -> int:
        ids = [row.id for row in (await memories.scan(scope, 0)).rows]
        for start in range(0, len(ids), _BATCH):
            await memories.get(scope, ids[start : start + _BATCH])
        await memories.notes(scope)
        return len(ids)

    return read


async def _told(what: str, namespace: str, name: str | None, read: Callable[[], Awaitable[int]]) -> Checked:
    try:
        return Checked(what=what, namespace=namespace, name=name, records=await read())
    except StoreCorrupt as error:
        kind = error.kind if isinstance(error, Tampered) else "unreadable"
        return Checked(what=what, namespace=namespace, name=name, kind=kind, why=str(error))


def _vanished(heads: Iterable[Head], checked: Sequence[Checked]) -> list[Checked]:
    """What the anchor knows and no store holds."""
    seen = {(each.what, each.namespace, each.name) for each in checked}
    found: list[Checked] = []
    for head in heads:
        _, what, namespace, name = json.loads(head.label)
        if what == _REDACTIONS or (what, namespace, name) in seen or head.going:
            continue
        place = place_of(Scope(namespace, name)) if what == "memories" else f"thread {name!r}"
        why = f"{place}: all it held is gone, and its seal with it"
        found.append(Checked(what=what, namespace=namespace, name=name, kind="missing", why=why))
    return found
