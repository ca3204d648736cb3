"""One scope held in memory by the laws of `MemoryStore`: the core of the in-memory and the file store."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from retentive.codec import item_from_json, item_to_json, time_to_text
from retentive.errors import Conflict, NotFound
from retentive.stores.base import Changes, IndexRow, Scan, StoredMemory, Written

MAX_GONE = 1_000
"""How many deletes of a scope are remembered; who is further behind reads the scope anew."""

_Slot: TypeAlias = tuple[str, ...] | tuple[str, bytes]  # what only one memory of a scope may hold


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

    def slots(self) -> Iterator[_Slot]:
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
    )


class ScopeState:
    """The memories of one scope, in the order of their latest change. Not thread-safe."""

    def __init__(self, next_position: Callable[[], int]) -> None:
        """An empty scope; positions come from `next_position`, each greater than all before."""
        self._next_position = next_position
        self._position = self._complete_after = next_position()
        self._memories: dict[str, tuple[int, Kept]] = {}
        self._holders: dict[_Slot, str] = {}
        self._named_near: dict[str, set[str]] = {}
        self._gone: deque[tuple[int, str]] = deque()

    def __len__(self) -> int:
        return len(self._memories)

    def __iter__(self) -> Iterator[tuple[int, Kept]]:
        """The memories with the positions of their latest changes, oldest change first."""
        return iter(self._memories.values())

    def get(self, id: str) -> Kept | None:
        """The memory; None if there is none."""
        found = self._memories.get(id)
        return None if found is None else found[1]

    def scan(self, since: int) -> Scan:
        """See `MemoryStore.scan`."""
        if since == self._position:
            return Scan(position=since, rows=())
        reset = not self._complete_after <= since < self._position
        newest_first: list[IndexRow] = []
        for position, memory in reversed(self._memories.values()):
            if position <= since and not reset:
                break
            newest_first.append(memory.index_row())
        gone = [] if reset else [id for position, id in self._gone if position > since]
        return Scan(position=self._position, rows=newest_first[::-1], gone=gone, reset=reset)

    def apply(self, changes: KeptChanges) -> Written:
        """Do all of it, or raise before anything is done.

        Raises:
            NotFound, Conflict: see `MemoryStore.write`.
        """
        self._check_updates(changes)
        deleted = [id for id in changes.deletes if self._delete(id)]
        for memory in changes.updates:
            self.put(memory)
        return Written(deleted=deleted, inserted=[self._insert(memory) for memory in changes.inserts])

    def put(self, memory: Kept) -> None:
        """Hold the memory in place of the one with its id; nothing else may hold its slots."""
        self._take_out(memory.id)
        self._position = self._next_position()
        self._memories[memory.id] = (self._position, memory)
        for slot in memory.slots():
            self._holders[slot] = memory.id
        if memory.near is not None:
            self._named_near.setdefault(memory.near, set()).add(memory.id)

    def _insert(self, memory: Kept) -> str:
        """The id that holds the memory's id, key or text afterwards."""
        if memory.id in self._memories:
            return memory.id
        for slot in memory.slots():
            if slot in self._holders:
                return self._holders[slot]
        self.put(memory)
        return memory.id

    def _delete(self, id: str) -> bool:
        if self._take_out(id) is None:
            return False
        for other in self._named_near.pop(id, ()):
            position, memory = self._memories[other]
            self._memories[other] = (position, _without_near(memory))
        self._position = self._next_position()
        self._gone.append((self._position, id))
        if len(self._gone) > MAX_GONE:
            self._complete_after, _ = self._gone.popleft()
        return True

    def _take_out(self, id: str) -> Kept | None:
        found = self._memories.pop(id, None)
        if found is None:
            return None
        memory = found[1]
        for slot in memory.slots():
            if self._holders.get(slot) == id:
                del self._holders[slot]
        if memory.near is not None:
            named = self._named_near[memory.near]
            named.discard(id)
            if not named:
                del self._named_near[memory.near]
        return memory

    def _check_updates(self, changes: KeptChanges) -> None:
        """Play the updates through on paper."""
        now: dict[str, Kept | None] = dict.fromkeys(changes.deletes)
        holders: dict[_Slot, str | None] = {
            slot: None for id in changes.deletes for slot in self._slots_of(self.get(id))
        }
        for memory in changes.updates:
            old = now[memory.id] if memory.id in now else self.get(memory.id)
            if old is None:
                raise NotFound(f"no memory {memory.id!r} in this scope")
            if changes.unchanged.get(memory.id, old.updated_at) != old.updated_at:
                raise Conflict(f"memory {memory.id!r} was changed by another write; read it again")
            holders.update(dict.fromkeys(old.slots()))
            for slot in memory.slots():
                if (holders[slot] if slot in holders else self._holders.get(slot)) is not None:
                    raise Conflict(f"another memory of this scope already says what {memory.id!r} would say")
                holders[slot] = memory.id
            now[memory.id] = memory

    @staticmethod
    def _slots_of(memory: Kept | None) -> Iterable[_Slot]:
        return () if memory is None else memory.slots()


def _without_near(memory: Kept) -> Kept:
    item = replace(item_from_json(memory.item), near=None)
    return replace(memory, near=None, item=item_to_json(item))
