"""What is known, checked, of one scope: the seals of all its memories and notes, and the head over them."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from retentive.errors import Tampered
from retentive.integrity import row as rows
from retentive.integrity.anchor import Head
from retentive.integrity.mac import MAC_BYTES, Mac, scope_parts
from retentive.integrity.row import Row, place_of
from retentive.stores.base import Changes, IndexRow, Scan, StoredMemory
from retentive.types import Scope

NOTE = "retentive:seal"
"""The note of a scope that holds its head; it changes in the same commit as the memories."""

_NOTE = struct.Struct("<8sQQQQ32s")
_MODULUS = 1 << (8 * MAC_BYTES)
_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeHead:
    """The head of a scope as its note keeps it.

    `writes` is the number of the latest written memory, `newest` that of the latest that is still there.
    """

    version: int = 0
    memories: int = 0
    notes: int = 0
    writes: int = 0
    newest: int = 0
    mac: bytes = b""

    def to_bytes(self, mac: Mac) -> bytes:
        """The note."""
        counts = struct.pack("<Q", self.newest)
        return _NOTE.pack(mac.key_id, self.version, self.memories, self.notes, self.writes, self.mac) + counts


def head_from_note(mac: Mac, scope: Scope, note: bytes | None) -> ScopeHead:
    """The head in a note; not checked yet. None is the head of a scope that was never written.

    Raises:
        Tampered: it is none, or was made with another key.
    """
    if note is None:
        return ScopeHead()
    if len(note) != _NOTE.size + 8:
        raise Tampered.of("edited", place_of(scope), "its seal is no seal")
    key_id, version, memories, notes, writes, digest = _NOTE.unpack_from(note)
    if key_id != mac.key_id:
        why = "it was sealed with another key, or by a store with another name; pass the key it was made with"
        raise Tampered.of("other key", place_of(scope), why)
    (newest,) = struct.unpack_from("<Q", note, _NOTE.size)
    return ScopeHead(
        version=version, memories=memories, notes=notes, writes=writes, newest=newest, mac=digest
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A change with its seals, and the head after it."""

    changes: Changes
    head: ScopeHead


class ScopeSeal:
    """The seals of one scope up to a position of its scan. Not thread-safe.

    All seals are added up in one number that never leaves this process: the head is a keyed hash of it, so
    nobody can make another set of records that has the same head.
    """

    def __init__(self, mac: Mac, scope: Scope) -> None:
        """Nothing is known yet."""
        self.scope = scope
        self.position = 0
        self.note: bytes | None = None
        self.head = ScopeHead()
        self.rows: dict[str, Row] = {}
        self.notes: dict[str, bytes] = {}
        self._mac = mac
        self._sum = 0

    def take(self, scan: Scan, notes: Mapping[str, bytes]) -> Scan:
        """Take in what changed, and all notes; gives the scan without seals.

        Raises:
            Tampered: a record is not as it was written, or all together are not what the head says. What is
                known is worth nothing then: begin anew.
        """
        note = notes.get(NOTE)
        head = head_from_note(self._mac, self.scope, note)
        if note is None and (scan.rows or notes):
            raise self._unsealed()
        if scan.reset:
            self.rows, self._sum = {}, 0
            self.notes = {}
        for id in scan.gone:
            self._drop(self.rows.pop(id, None))
        bare = [self._put(stored, scan.rows) for stored in scan.rows]
        self._take_notes(notes)
        if note is None and (self.rows or self.notes):
            raise self._unsealed()
        if note is not None:
            self._check(head)
        self.position, self.note, self.head = scan.position, note, head
        return replace(scan, rows=bare)

    def plan(self, changes: Changes, version: int, inserts: Sequence[StoredMemory]) -> Plan:
        """The change with the seals that these inserts and its updates get, and the head after all of it."""
        total, number = self._sum, self.head.writes
        after: dict[str, Row | None] = dict.fromkeys(changes.deletes)
        sealed: list[StoredMemory] = []
        for memory in (*changes.updates, *inserts):
            number += 1
            id = memory.item.id
            old = after[id] if id in after else self.rows.get(id)
            kept, after[id] = rows.seal(self._mac, memory, number, number if old is None else old.born)
            sealed.append(kept)
        for id, new in after.items():
            total += self._part(new) - self._part(self.rows.get(id))
        notes, total = self._planned_notes(changes, total)
        live = len(self.rows) + sum((new is not None) - (id in self.rows) for id, new in after.items())
        head = ScopeHead(
            version=version, memories=live, notes=notes, writes=number, newest=self._newest(after)
        )
        head = replace(head, mac=self._head_mac(head, total))
        split = len(changes.updates)
        return Plan(
            changes=replace(
                changes,
                updates=sealed[:split],
                inserts=sealed[split:],
                notes={**changes.notes, NOTE: head.to_bytes(self._mac)},
                expected={**changes.expected, NOTE: self.note},
                whole=True,
            ),
            head=head,
        )

    def open(self, stored: StoredMemory) -> StoredMemory:
        """The memory without its seal.

        Raises:
            Tampered: it is not the one that is known, or not as it was written.
        """
        item = stored.item
        known = self.rows.get(item.id)
        if known is None:
            raise Tampered.of(
                "inserted", place_of(self.scope), f"memory {item.id} is not in the seal", record=item.id
            )
        opened = rows.open_memory(self._mac, stored, known)
        if item.near != known.near and (item.near is not None or not self._may_be_cleared(known)):
            raise Tampered.of(
                "edited", place_of(self.scope), f"memory {item.id}: its link was changed", record=item.id
            )
        return opened

    def holds(self, name: str, value: bytes | None) -> bool:
        """Whether this note has this value."""
        return self.notes.get(name) == (None if value is None else self._note_tag(name, value))

    def to_anchor(self, head: ScopeHead, label: str) -> Head:
        """What the anchor keeps of a head; no label when nothing is left."""
        return Head(
            version=head.version, mac=head.mac.hex(), label=label if head.memories or head.notes else ""
        )

    def _newest(self, after: Mapping[str, Row | None]) -> int:
        changed = [row.number for row in after.values() if row is not None]
        if changed:
            return max(changed)
        gone_newest = any(
            row is not None and row.number == self.head.newest for row in map(self.rows.get, after)
        )
        if not gone_newest:
            return self.head.newest
        return max((row.number for id, row in self.rows.items() if id not in after), default=0)

    def _may_be_cleared(self, known: Row) -> bool:
        """Whether the memory it linked to went away after it was written."""
        other = self.rows.get(known.near or "")
        return other is None or other.born > known.number

    def _put(self, stored: IndexRow, together: Iterable[IndexRow]) -> IndexRow:
        try:
            bare, row = rows.open_row(self._mac, self.scope, stored)
        except Tampered as error:
            raise self._told_apart(stored, together, error) from None
        self._drop(self.rows.get(stored.id))
        self.rows[stored.id] = row
        self._sum += self._part(row)
        return bare

    def _told_apart(self, stored: IndexRow, together: Iterable[IndexRow], error: Tampered) -> Tampered:
        """The error, more exact where the record was written under another id of the scope."""
        for other in together:
            if other.id != stored.id and rows.belongs_to(self._mac, self.scope, stored, other.id):
                was_swapped = rows.belongs_to(self._mac, self.scope, other, stored.id)
                why = f"memory {stored.id}: it holds what was written as memory {other.id}"
                kind = "reordered" if was_swapped else "replayed"
                return Tampered.of(kind, error.place, why, record=stored.id)
        return error

    def _drop(self, row: Row | None) -> None:
        self._sum -= self._part(row)

    def _part(self, row: Row | None) -> int:
        return 0 if row is None else int.from_bytes(self._mac.of("part", row.tag), "little")

    def _take_notes(self, notes: Mapping[str, bytes]) -> None:
        now = {name: self._note_tag(name, value) for name, value in notes.items() if name != NOTE}
        for tag in self.notes.values():
            self._sum -= int.from_bytes(tag, "little")
        for tag in now.values():
            self._sum += int.from_bytes(tag, "little")
        self.notes = now

    def _note_tag(self, name: str, value: bytes) -> bytes:
        return self._mac.of("note", *scope_parts(self.scope), name.encode(), value)

    def _planned_notes(self, changes: Changes, total: int) -> tuple[int, int]:
        names = set(self.notes)
        for name, value in changes.notes.items():
            total -= int.from_bytes(self.notes.get(name, b""), "little")
            if value is None:
                names.discard(name)
            else:
                names.add(name)
                total += int.from_bytes(self._note_tag(name, value), "little")
        return len(names), total

    def _head_mac(self, head: ScopeHead, total: int) -> bytes:
        counts = struct.pack("<5Q", head.version, head.memories, head.notes, head.writes, head.newest)
        digest = (total % _MODULUS).to_bytes(MAC_BYTES, "little")
        return self._mac.of("head", *scope_parts(self.scope), counts, digest)

    def _check(self, head: ScopeHead) -> None:
        if self._head_mac(head, self._sum) == head.mac:
            return
        place, there = place_of(self.scope), len(self.rows)
        numbers = sorted(row.number for row in self.rows.values())
        if there < head.memories:
            tail = not numbers or numbers[-1] < head.newest
            which = (
                f"the newest there is number {numbers[-1] if numbers else 0}, and {head.newest} was written"
            )
            how = f"; {which}" if tail else f"; those there have the numbers {_short(numbers)}"
            why = f"{head.memories - there} of {head.memories} memories are missing{how}"
            raise Tampered.of("missing", place, why)
        if there > head.memories:
            why = f"{there - head.memories} memories came back that were forgotten, or were put there"
            raise Tampered.of("replayed", place, why)
        if len(self.notes) != head.notes:
            raise Tampered.of(
                "edited", place, f"it has {len(self.notes)} notes, and {head.notes} were written"
            )
        raise Tampered.of("replayed", place, "a memory or a note is not in its latest state")

    def _unsealed(self) -> Tampered:
        why = (
            "it holds records and no seal. If this store was written without integrity, or was moved, look "
            "at what it holds and then take it as genuine: retentive verify --seal"
        )
        return Tampered.of("unsealed", place_of(self.scope), why)


def _short(numbers: Sequence[int]) -> str:
    if len(numbers) <= 2 * _NAMED:
        return ", ".join(map(str, numbers))
    first, last = (", ".join(map(str, part)) for part in (numbers[:_NAMED], numbers[-_NAMED:]))
    return f"{first}, ..., {last}"
