"""How often memories were used and when last: counted beside the recall, kept as notes of the scope.

The counts are for ranking and retention, not for accounts: a process that is killed loses the last seconds.
"""

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias, cast

from retentive.codec import to_json
from retentive.errors import Conflict, RetentiveError
from retentive.events import Event
from retentive.ranking.retention import Uses
from retentive.stores.base import Changes, MemoryStore
from retentive.types import Scope

PREFIX: Final = "use/"
SHARDS: Final = 16
MAX_A_SHARD: Final = 10_000
FLUSH_AFTER_S: Final = 5.0
MAX_WAITING: Final = 10_000
AT_ONCE: Final = 1_000
COUNTED: Final = frozenset(["recall", "context"])
TRIES: Final = 5
_MICROSECONDS: Final = 1_000_000
_Change: TypeAlias = Callable[[dict[str, tuple[int, int]]], None]
_log = logging.getLogger(__name__)


class UseNotes:
    """Reads and writes the counts of a scope: `SHARDS` notes, each of at most `MAX_A_SHARD` memories.

    Beyond that the least recently used are forgotten: they count as never used.
    """

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def read(self, scope: Scope) -> Uses:
        """The counts; empty where none were kept."""
        found: dict[str, tuple[int, int]] = {}
        for note in (await self._store.notes(scope, PREFIX)).values():
            found |= _decoded(note)
        return found

    async def add(self, scope: Scope, seen: Uses) -> None:
        """Add these counts to those that are kept, but for those of memories that are gone.

        Raises:
            Conflict: others kept changing the same notes.
        """
        there = await self._there(scope, list(seen))
        await self._change(scope, there, _adding({id: seen[id] for id in there}))
        if gone := there - await self._there(scope, list(there)):  # forgotten meanwhile: they must not stay
            await self._change(scope, gone, _dropping(gone))

    async def without(self, scope: Scope, ids: Collection[str]) -> "Different":
        """What is different in the notes without the counts of these memories; writes nothing."""
        return await self._different(scope, ids, _dropping(ids))

    async def _there(self, scope: Scope, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for start in range(0, len(ids), AT_ONCE):
            got = await self._store.get(scope, ids[start : start + AT_ONCE])
            found.update(memory.item.id for memory in got if memory is not None)
        return found

    async def _change(self, scope: Scope, ids: Collection[str], change: _Change) -> None:
        for _ in range(TRIES):
            notes = await self._different(scope, ids, change)
            if not notes.after:
                return
            try:
                await self._store.write(Changes(scope=scope, notes=notes.after, expected=notes.before))
            except Conflict:
                continue
            return
        raise Conflict("others kept changing how often memories were used; try again")

    async def _different(self, scope: Scope, ids: Collection[str], change: _Change) -> "Different":
        kept = await self._store.notes(scope, PREFIX)
        before = {name: kept.get(name) for name in {_shard(memory_id) for memory_id in ids}}
        after = {name: _changed(note, change, name) for name, note in before.items()}
        return Different(before, {name: note for name, note in after.items() if note != before[name]})


class Different(NamedTuple):
    """The notes that a change looks at as they are, and those it makes different as they are to be.

    None is not there.
    """

    before: Mapping[str, bytes | None]
    after: Mapping[str, bytes | None]


class UseTracker:
    """Counts what is recalled, and writes it down some seconds later, in the background."""

    def __init__(self, notes: UseNotes) -> None:
        self._notes = notes
        self._lock = threading.Lock()
        self._seen: dict[Scope, dict[str, tuple[int, int]]] = {}
        self._waiting = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writing: set[asyncio.Task[None]] = set()

    def saw(self, event: Event) -> None:
        """Count the memories of a recall or a context; other events are passed over."""
        if event.verb not in COUNTED or not event.ids:
            return
        moment = int(event.at.timestamp() * _MICROSECONDS)
        with self._lock:
            seen = self._seen.setdefault(event.scope, {})
            for memory_id in event.ids:
                seen[memory_id] = seen.get(memory_id, (0, 0))[0] + 1, moment
            self._waiting += len(event.ids)
        self._arrange()

    def _arrange(self) -> None:
        loop = asyncio.get_running_loop()
        if self._waiting >= MAX_WAITING:
            self._begin(loop)
        elif self._loop is not loop:
            self._loop = loop
            loop.call_later(FLUSH_AFTER_S, self._begin, loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = None
        task = loop.create_task(self.flush())
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def settled(self) -> None:
        """Wait for what is being written just now."""
        await asyncio.gather(*self._writing)

    async def flush(self) -> None:
        """Write down what was counted; what the store does not take is logged and lost."""
        with self._lock:
            seen, self._seen, self._waiting = self._seen, {}, 0
        for scope, counts in seen.items():
            try:
                await self._notes.add(scope, counts)
            except RetentiveError:
                _log.warning("how often %d memories were used is lost", len(counts), exc_info=True)


def _adding(seen: Uses) -> _Change:
    def added(kept: dict[str, tuple[int, int]]) -> None:
        for memory_id, (count, last) in seen.items():
            before = kept.pop(memory_id, (0, last))
            kept[memory_id] = before[0] + count, max(before[1], last)

    return added


def _dropping(ids: Collection[str]) -> _Change:
    def dropped(kept: dict[str, tuple[int, int]]) -> None:
        for memory_id in ids:
            kept.pop(memory_id, None)

    return dropped


def _shard(memory_id: str) -> str:
    return f"{PREFIX}{blake2b(memory_id.encode(), digest_size=1).digest()[0] % SHARDS:x}"


def _changed(note: bytes | None, change: _Change, name: str) -> bytes | None:
    kept = _decoded(note) if note is not None else {}
    change(kept)
    mine = sorted(
        ((memory_id, use) for memory_id, use in kept.items() if _shard(memory_id) == name),
        key=lambda each: each[1][1],
        reverse=True,
    )[:MAX_A_SHARD]
    return to_json({memory_id: list(use) for memory_id, use in mine}).encode() if mine else None


def _decoded(note: bytes) -> dict[str, tuple[int, int]]:
    counts = cast("Mapping[str, list[int]]", json.loads(note))
    return {memory_id: (count, last) for memory_id, (count, last) in counts.items()}
