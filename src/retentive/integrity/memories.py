"""A store of memories that is sealed: what somebody without the key changed is refused when it is read."""

import asyncio
import json
import logging
import random
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from retentive.errors import Conflict, InvalidInput, StoreUnavailable, Tampered
from retentive.integrity.anchor import Anchor, Head, ListsHeads
from retentive.integrity.mac import Mac
from retentive.integrity.row import open_row, place_of
from retentive.integrity.scope_changes import (
    changes_anything,
    check_anchor,
    copied,
    to_insert,
    without_effect,
    without_seal,
)
from retentive.integrity.scope_seal import NOTE, ScopeHead, ScopeSeal, head_from_note
from retentive.stores.base import Changes, MemoryStore, Scan, StoredMemory, Written
from retentive.stores.wrapped import files_of
from retentive.stores.write_turns import WriteTurns
from retentive.types import Scope

MAX_SCOPES: Final = 10_000
MAX_SEALS: Final = 2_000_000
"""How many memories' seals are held in memory, of all scopes together; the newest scope always is."""

_TRIES = 32
_WRITES = 64
_INLINE_ROWS = 256
_WAIT_S = 0.002
_log = logging.getLogger(__name__)


class SealedMemoryStore:
    """Wraps a `MemoryStore`: same laws, and every read is checked against the anchor's head.

    A scope is read whole once and then followed; a memory that is handed out is checked each time. Several
    processes with the same key and anchor may write.
    """

    def __init__(self, inner: MemoryStore, mac: Mac, anchor: Anchor) -> None:
        """Wrap the store; it is closed with this one."""
        self.inner = inner
        self._mac = mac
        self._anchor = anchor
        self._seals: OrderedDict[Scope, ScopeSeal] = OrderedDict()
        self._lock = threading.Lock()
        self._turns = WriteTurns()

    @property
    def url(self) -> str:
        """See `MemoryStore.url`."""
        return self.inner.url

    async def open(self) -> None:
        """See `MemoryStore.open`."""
        await self.inner.open()

    async def close(self) -> None:
        """See `MemoryStore.close`."""
        await self.inner.close()
        with self._lock:
            self._seals.clear()

    async def namespaces(self) -> list[str]:
        """See `MemoryStore.namespaces`.

        Raises:
            Tampered: a scope was cut out whole. An anchor that does not list its heads cannot tell.
        """
        listed = await self._anchored()
        names = await self.inner.namespaces()
        return [name for name in sorted({*names, *listed}) if await self.scopes(name)]

    async def scopes(self, namespace: str) -> list[Scope]:
        """See `MemoryStore.scopes`. Those of which only the seal is left are left out.

        Raises:
            Tampered: a scope was cut out whole. An anchor that does not list its heads cannot tell.
        """
        listed = await self._anchored()  # before the store is asked: it is always written first
        found = await self.inner.scopes(namespace)
        for scope in listed.get(namespace, []):
            if scope not in found:
                raise Tampered.of("missing", place_of(scope), "all it held is gone, and its seal with it")
        return [scope for scope in found if await self._holds_anything(scope)]

    async def _anchored(self) -> dict[str, list[Scope]]:
        """By namespace the scopes that hold something, as the anchor says."""
        found: dict[str, list[Scope]] = {}
        if not isinstance(self._anchor, ListsHeads):
            return found
        for head in (await self._anchor.heads()).values():
            if not head.label or head.going:
                continue
            place, what, namespace, name = json.loads(head.label)
            if (place, what) == (self._mac.place_id, "memories"):
                found.setdefault(namespace, []).append(Scope(namespace, name))
        return found

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[StoredMemory | None]:
        """See `MemoryStore.get`.

        Raises:
            Tampered: one of them, or the scope, is not as it was left.
        """
        for attempt in range(_TRIES):
            seal, _ = await self._follow(scope, fresh=attempt > 1)
            note = seal.note
            found = await self.inner.get(scope, ids)
            try:
                if len(ids) <= _INLINE_ROWS:
                    return self._opened(seal, ids, found)
                return await asyncio.to_thread(self._opened, seal, ids, found)
            except Tampered:
                if attempt > 1 and seal.note == note == await self._note(scope):
                    raise
        raise Conflict(f"other writers kept changing {place_of(scope)}; try again")

    async def ids(self, scope: Scope) -> list[str]:
        """See `ListsIds.ids`."""
        seal, _ = await self._follow(scope)
        with self._lock:
            return sorted(seal.rows)

    async def scan(self, scope: Scope, since: int) -> Scan:
        """See `MemoryStore.scan`.

        Raises:
            Tampered: the scope is not as it was left.
        """
        for attempt in range(_TRIES):
            seal, scan = await self._follow(scope, since=since, fresh=attempt > 1)
            if scan is not None:
                return scan
            note = seal.note
            scan = await self.inner.scan(scope, since)
            try:
                if scan.position == seal.position:
                    return await asyncio.to_thread(self._stripped, seal, scan)
            except Tampered:
                if attempt > 1 and seal.note == note == await self._note(scope):
                    raise
        raise Conflict(f"other writers kept changing {place_of(scope)}; try again")

    async def notes(self, scope: Scope, prefix: str = "") -> dict[str, bytes]:
        """See `MemoryStore.notes`.

        Raises:
            Tampered: the scope is not as it was left.
        """
        for attempt in range(_TRIES):
            seal, _ = await self._follow(scope, fresh=attempt > 1)
            note = seal.note
            found = await self.inner.notes(scope, prefix)
            found.pop(NOTE, None)
            wanted = {name for name in seal.notes if name.startswith(prefix)}
            if wanted == found.keys() and all(seal.holds(name, value) for name, value in found.items()):
                return found
            if attempt > 1 and seal.note == note == await self._note(scope):
                raise Tampered.of("edited", place_of(scope), "its notes are not those that were written")
        raise Conflict(f"other writers kept changing {place_of(scope)}; try again")

    async def write(self, changes: Changes) -> Written:
        """See `MemoryStore.write`. Durable in the store and in the anchor before this returns.

        Raises:
            Tampered: the scope is not as it was left; nothing is written.
            StoreUnavailable: as of the store; or the anchor cannot be written, and what was written is taken
                as genuine once it can be.
        """
        if NOTE in changes.notes or NOTE in changes.expected:
            raise InvalidInput(f"the note {NOTE!r} is the seal's own; use another name")
        changes = copied(changes)
        async with self._turns.turn(changes.scope):
            for attempt in range(_WRITES):
                seal, _ = await self._follow(changes.scope)
                written = await self._write(seal, changes)
                if written is not None:
                    return written
                await asyncio.sleep(random.random() * _WAIT_S * attempt)  # so that two writers part
        raise Conflict(f"other writers kept changing {place_of(changes.scope)}; try again")

    async def files(self, namespace: str) -> list[Path]:
        """See `KeepsFiles.files`.

        Raises:
            InvalidInput: the store wrapped does not say.
        """
        return await files_of(self.inner, namespace)

    async def adopt(self, scope: Scope) -> int:
        """Seal what is there as it is found, and anchor it; gives how many memories that are."""
        name = self._name(scope)
        anchored = await self._anchor.read(name)
        scan = await self.inner.scan(scope, 0)
        found = await self.inner.get(scope, [row.id for row in scan.rows])
        notes = {name: note for name, note in (await self.inner.notes(scope)).items() if name != NOTE}
        seal = ScopeSeal(self._mac, scope)
        seal.note = await self._note(scope)
        known = 0 if seal.note is None else int.from_bytes(seal.note[8:16], "little")
        bare = [without_seal(memory) for memory in found if memory is not None]
        if not bare and not notes:
            return 0
        version = max(known, anchored.version if anchored else 0) + 1
        plan = seal.plan(Changes(scope=scope, updates=bare, notes=dict(notes)), version, ())
        await self.inner.write(plan.changes)
        await self._anchor.advance(name, seal.to_anchor(plan.head, self._label(scope)))
        with self._lock:
            self._seals.pop(scope, None)
        return len(bare)

    async def _write(self, seal: ScopeSeal, changes: Changes) -> Written | None:
        """Write it on top of what the seal knows; None if another writer came first.

        Inserts whose place is taken are left out one by one.
        """
        taken = dict[int, str]()
        name = self._name(changes.scope)
        anchored = await self._anchor.read(name)
        while True:
            with self._lock:
                left = to_insert(changes, taken, seal)
                version = max(seal.head.version, anchored.version if anchored else 0) + 1
                plan = seal.plan(changes, version, [changes.inserts[index] for index in left])
                if not changes_anything(changes, left, seal):
                    plan = without_effect(changes, seal, plan)
            try:
                written = await self.inner.write(plan.changes)
            except Conflict as conflict:
                if await self._note(changes.scope) != plan.changes.expected[NOTE]:
                    return None
                if changes.whole or not conflict.taken:
                    raise
                taken |= {
                    index: conflict.taken[id]
                    for index in left
                    if (id := changes.inserts[index].item.id) in conflict.taken
                }
                continue
            if NOTE in plan.changes.notes:
                await self._anchor.advance(name, seal.to_anchor(plan.head, self._label(changes.scope)))
            ids = [taken.get(index, new.item.id) for index, new in enumerate(changes.inserts)]
            return Written(deleted=written.deleted, inserted=ids)

    async def _follow(
        self, scope: Scope, *, since: int | None = None, fresh: bool = False
    ) -> tuple[ScopeSeal, Scan | None]:
        """The scope's seal as the store is now, and the scan that led to it if that began at `since`.

        Raises:
            Tampered: it does not agree with itself or with the anchor.
        """
        name = self._name(scope)
        for attempt in range(_TRIES):
            seal = self._seal(scope, fresh=fresh or attempt > 1)
            anchored = await self._anchor.read(name)
            note = await self._note(scope)
            try:
                start = seal.position
                scan: Scan | None = Scan(position=start, rows=())
                if note != seal.note or not start:
                    scan = await self._catch_up(seal, note)
                    if scan is None:
                        continue
                head = head_from_note(self._mac, scope, note)
                check_anchor(scope, head, anchored)
            except Tampered:
                self._forget(seal)
                if attempt + 1 == _TRIES or (attempt > 1 and await self._note(scope) == note):
                    raise
                continue
            await self._catch_up_anchor(name, scope, seal, head, anchored)
            return seal, scan if since == start else None
        raise Conflict(f"other writers kept changing {place_of(scope)}; try again")

    async def _catch_up(self, seal: ScopeSeal, note: bytes | None) -> Scan | None:
        """Take in what is new; None if somebody wrote meanwhile."""
        start = seal.position
        scan = await self.inner.scan(seal.scope, start)
        notes = await self.inner.notes(seal.scope)
        if notes.get(NOTE) != note:
            return None
        if len(scan.rows) <= _INLINE_ROWS:
            return self._take(seal, start, scan, notes)
        return await asyncio.to_thread(self._take, seal, start, scan, notes)

    def _take(self, seal: ScopeSeal, start: int, scan: Scan, notes: dict[str, bytes]) -> Scan | None:
        with self._lock:
            return seal.take(scan, notes) if seal.position == start else None

    async def _catch_up_anchor(
        self, name: str, scope: Scope, seal: ScopeSeal, head: ScopeHead, anchored: Head | None
    ) -> None:
        """Anchor what a writer that was killed had committed."""
        if head.version <= (anchored.version if anchored else 0):
            return
        try:
            await self._anchor.advance(name, seal.to_anchor(head, self._label(scope)))
        except StoreUnavailable as error:  # it was never acknowledged, so reading may go on
            _log.warning("%s", error)

    def _seal(self, scope: Scope, *, fresh: bool) -> ScopeSeal:
        with self._lock:
            seal = None if fresh else self._seals.get(scope)
            if seal is None:
                seal = self._seals[scope] = ScopeSeal(self._mac, scope)
                self._let_go_of_old()
            self._seals.move_to_end(scope)
            return seal

    def _let_go_of_old(self) -> None:
        held = sum(len(seal.rows) for seal in self._seals.values())
        while len(self._seals) > 1 and (held > MAX_SEALS or len(self._seals) > MAX_SCOPES):
            _, seal = self._seals.popitem(last=False)
            held -= len(seal.rows)

    def _forget(self, seal: ScopeSeal) -> None:
        with self._lock:
            if self._seals.get(seal.scope) is seal:
                del self._seals[seal.scope]

    def _opened(
        self, seal: ScopeSeal, ids: Sequence[str], found: Sequence[StoredMemory | None]
    ) -> list[StoredMemory | None]:
        with self._lock:
            for id, memory in zip(ids, found, strict=True):
                if memory is None and id in seal.rows:
                    raise Tampered.of("missing", place_of(seal.scope), f"memory {id} was cut out", record=id)
            return [None if memory is None else seal.open(memory) for memory in found]

    def _stripped(self, seal: ScopeSeal, scan: Scan) -> Scan:
        bare = [open_row(self._mac, seal.scope, row) for row in scan.rows]
        with self._lock:
            for row, own in bare:
                if seal.rows.get(row.id) != own:
                    raise Tampered.of("replayed", place_of(seal.scope), f"memory {row.id} is not the latest")
            for id in scan.gone:
                if id in seal.rows and id not in {row.id for row, _ in bare}:
                    raise Tampered.of("missing", place_of(seal.scope), f"memory {id} was cut out", record=id)
            if scan.reset and len(bare) != len(seal.rows):
                raise Tampered.of("missing", place_of(seal.scope), "some of its memories were cut out")
        return replace(scan, rows=[row for row, _ in bare])

    async def _holds_anything(self, scope: Scope) -> bool:
        head = head_from_note(self._mac, scope, await self._note(scope))
        return not head.version or bool(head.memories or head.notes)

    async def _note(self, scope: Scope) -> bytes | None:
        return (await self.inner.notes(scope, NOTE)).get(NOTE)

    def _name(self, scope: Scope) -> str:
        user = () if scope.user_id is None else (scope.user_id,)
        return self._mac.name_of("memories", scope.namespace, *user)

    def _label(self, scope: Scope) -> str:
        return json.dumps(
            [self._mac.place_id, "memories", scope.namespace, scope.user_id], ensure_ascii=False
        )
