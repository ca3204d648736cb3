"""What a sealed store does with a change and with a head before it asks the store: pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from retentive.errors import Tampered
from retentive.frozen import frozen
from retentive.integrity.anchor import Head
from retentive.integrity.row import place_of, split
from retentive.integrity.scope_seal import NOTE, Plan, ScopeHead, ScopeSeal
from retentive.stores.base import Changes, StoredMemory
from retentive.types import Scope


def check_anchor(scope: Scope, head: ScopeHead, anchored: Head | None) -> None:
    """See that the scope's head is the anchored one, or a later one.

    Raises:
        Tampered: it is not.
    """
    place = place_of(scope)
    if anchored is None:
        if head.version > 1:
            why = (
                "the anchor knows nothing of it. Restore the anchor; or, if the store was moved, name it "
                "as before, or take it as genuine: retentive verify --seal"
            )
            raise Tampered.of("unsealed", place, why)
        return
    if not head.version:
        raise Tampered.of("missing", place, "all it held is gone, and its seal with it")
    if head.version < anchored.version:
        why = f"it is in state {head.version}, and {anchored.version} was written: an older copy is back"
        raise Tampered.of("rolled back", place, why)
    if head.version == anchored.version and head.mac.hex() != anchored.mac:
        raise Tampered.of("rolled back", place, "another state of the same age was put in its place")


def to_insert(changes: Changes, taken: Mapping[int, str], seal: ScopeSeal) -> list[int]:
    """Which inserts to write, by place: those whose id is free, the first of each, and no place is taken."""
    if changes.whole:
        return list(range(len(changes.inserts)))
    deleted, first = set(changes.deletes), dict[str, int]()
    for index, new in enumerate(changes.inserts):
        id = new.item.id
        if index not in taken and (id not in seal.rows or id in deleted):
            first.setdefault(id, index)
    return list(first.values())


def changes_anything(changes: Changes, inserts: Sequence[int], seal: ScopeSeal) -> bool:
    """Whether the change does anything at all, if these inserts are made."""
    notes = any(note is not None or name in seal.notes for name, note in changes.notes.items())
    return bool(inserts or changes.updates or notes) or any(id in seal.rows for id in changes.deletes)


def without_effect(changes: Changes, seal: ScopeSeal, plan: Plan) -> Plan:
    """Nothing but what the store is to check, so that the head stays."""
    return replace(
        plan,
        changes=Changes(
            scope=changes.scope,
            unchanged=changes.unchanged,
            expected={**changes.expected, NOTE: seal.note},
        ),
    )


def without_seal(memory: StoredMemory) -> StoredMemory:
    """The memory as it was before it was sealed, unchecked."""
    parts = split(memory.packed)
    return memory if parts is None else replace(memory, packed=parts[1])


def copied(changes: Changes) -> Changes:
    """The changes, sharing nothing with the caller that can change while the write waits."""
    return replace(
        changes,
        deletes=tuple(changes.deletes),
        updates=tuple(map(_copy, changes.updates)),
        inserts=tuple(map(_copy, changes.inserts)),
        unchanged=dict(changes.unchanged),
        notes=dict(changes.notes),
        expected=dict(changes.expected),
    )


def _copy(memory: StoredMemory) -> StoredMemory:
    return replace(memory, item=replace(memory.item, metadata=frozen(memory.item.metadata)))
