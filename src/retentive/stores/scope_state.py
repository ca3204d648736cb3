"""One scope held in memory by the laws of `MemoryStore`: the core of the in-memory and the file store."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from retentive.codec import item_from_json, item_to_json
from retentive.errors import Conflict, NotFound
from retentive.stores.base import IndexRow, Scan, Written
from retentive.stores.kept import Kept, KeptChanges, Slot

MAX_GONE = 1_000
"""How many deletes of a scope are remembered; who is further behind reads the scope anew."""


class ScopeState:
    """The memories of one scope, in the order of their latest change, and its notes. Not thread-safe."""

    def __init__(self, next_position: Callable[[], int]) -> None:
        """An empty scope; positions come from `next_position`, each greater than all before."""
        self._next_position = next_position
        self._position = self._complete_after = next_position()
        self._memories: dict[str, tuple[int, Kept]] = {}
        self._holders: dict[Slot, str] = {}
        self._named_near: dict[str, set[str]] = {}
        self._gone: deque[tuple[int, str]] = deque()
        self._notes: dict[str, bytes] = {}

    def __len__(self) -> int:
        """How many memories it holds."""
        return len(self._memories)

    def __bool__(self) -> bool:
        """Whether it holds anything."""
        return bool(self._memories or self._notes)

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

    def note(self, name: str) -> bytes | None:
        """The note; None if there is none."""
        return self._notes.get(name)

    def notes(self, prefix: str = "") -> dict[str, bytes]:
        """See `MemoryStore.notes`."""
        return {name: self._notes[name] for name in sorted(self._notes) if name.startswith(prefix)}

    def loses(self, changes: KeptChanges) -> bool:
        """Whether the changes take away or replace anything that is here now."""
        return (
            bool(changes.updates)
            or any(id in self._memories for id in changes.deletes)
            or any(self._notes.get(name, note) != note for name, note in changes.notes.items())
        )

    def apply(self, changes: KeptChanges) -> Written:
        """Do all of it, or raise before anything is done.

        Raises:
            NotFound, Conflict: see `MemoryStore.write`.
        """
        self._check_expected(changes)
        plan = self._check_updates(changes)
        if changes.whole:
            self._check_inserts(changes, plan)
        self.put_notes(changes.notes)
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

    def put_notes(self, notes: Mapping[str, bytes | None]) -> None:
        """Hold the notes in place of those with their names; None takes one out."""
        for name, note in notes.items():
            if note is None:
                self._notes.pop(name, None)
            else:
                self._notes[name] = note

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

    def _check_expected(self, changes: KeptChanges) -> None:
        for name, note in changes.expected.items():
            if self._notes.get(name) != note:
                raise Conflict(f"note {name!r} was changed by another write; read it again")

    def _check_updates(self, changes: KeptChanges) -> "_Plan":
        """Play the deletes and updates through on paper."""
        plan = _Plan(self._memories, self._holders)
        for id in changes.deletes:
            plan.take_out(id)
        for memory in changes.updates:
            old = plan.take_out(memory.id)
            if old is None:
                raise NotFound(f"no memory {memory.id!r} in this scope")
            if changes.unchanged.get(memory.id, old.updated_at) != old.updated_at:
                raise Conflict(f"memory {memory.id!r} was changed by another write; read it again")
            if not plan.put(memory):
                raise Conflict(f"another memory of this scope already says what {memory.id!r} would say")
        return plan

    @staticmethod
    def _check_inserts(changes: KeptChanges, plan: "_Plan") -> None:
        for memory in changes.inserts:
            holder = plan.holder(memory)
            if holder is not None:
                raise Conflict(
                    f"the place of memory {memory.id!r} is taken, so nothing of the change is kept",
                    taken={memory.id: holder},
                )
            plan.put(memory)


class _Plan:
    """A scope as it would be after a change: what differs is written over what is held."""

    def __init__(self, memories: Mapping[str, tuple[int, Kept]], holders: Mapping[Slot, str]) -> None:
        self._held = memories
        self._held_slots = holders
        self._memories: dict[str, Kept | None] = {}
        self._slots: dict[Slot, str | None] = {}

    def get(self, id: str) -> Kept | None:
        """The memory of the id; None if there would be none."""
        if id in self._memories:
            return self._memories[id]
        held = self._held.get(id)
        return None if held is None else held[1]

    def take_out(self, id: str) -> Kept | None:
        """Leave a free place; what was there."""
        memory = self.get(id)
        if memory is not None:
            self._memories[id] = None
            self._slots.update(dict.fromkeys(memory.slots()))
        return memory

    def put(self, memory: Kept) -> bool:
        """Put it where nothing is; False if its id or one of its slots is taken."""
        if self.holder(memory) is not None:
            return False
        self._memories[memory.id] = memory
        self._slots.update(dict.fromkeys(memory.slots(), memory.id))
        return True

    def holder(self, memory: Kept) -> str | None:
        """The memory that has its id, else one of its slots; None if it would find its place free."""
        if self.get(memory.id) is not None:
            return memory.id
        holders = map(self._holder, memory.slots())
        return next((holder for holder in holders if holder is not None), None)

    def _holder(self, slot: Slot) -> str | None:
        return self._slots[slot] if slot in self._slots else self._held_slots.get(slot)


def _without_near(memory: Kept) -> Kept:
    item = replace(item_from_json(memory.item), near=None)
    return replace(memory, near=None, item=item_to_json(item))
