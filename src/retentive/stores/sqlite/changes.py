"""One atomic change of one scope, put into SQL; the caller holds the transaction."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from json import dumps
from typing import TypeAlias

import apsw

from retentive.codec import item_to_json, time_to_text
from retentive.errors import Conflict, NotFound
from retentive.stores.base import Changes, StoredMemory, Written
from retentive.stores.sqlite.connection import run
from retentive.stores.sqlite.queries import load_queries

MAX_GONE = 1_000
"""How many deletes of a scope are remembered; who is further behind reads the scope anew."""

_SQL = load_queries()
_MASK = (1 << 32) - 1

Row: TypeAlias = tuple[
    str, str, bytes | None, str | None, str | None, str | None, bytes, bytes | None, str
]  # id, kind, text_key, key, near, embedder, packed, vector, item: as bound from ?3 on


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedChanges:
    """Changes as they are bound to statements: a copy that shares nothing mutable with the caller."""

    namespace: str
    user_id: str | None
    deletes: tuple[str, ...]
    updates: tuple[Row, ...]
    inserts: tuple[Row, ...]
    unchanged: dict[str, str]
    notes: dict[str, bytes | None]
    expected: dict[str, bytes | None]
    whole: bool

    @property
    def adds(self) -> bool:
        """Whether it puts anything into a scope that holds nothing."""
        return bool(self.inserts) or any(note is not None for note in self.notes.values())


@dataclass(frozen=True, slots=True)
class Applied:
    """What was written, and whether the text of some memory or note is no more."""

    written: Written
    removed_text: bool


@dataclass(slots=True)
class _ScopeRow:
    scope_id: int
    position: int
    complete_after: int

    def place(self, position: int) -> int:
        return place(self.scope_id, position)

    def next_place(self) -> int:
        self.position += 1
        return self.place(self.position)


def place(scope_id: int, position: int) -> int:
    """The row number of what happened at `position` of a scope."""
    return scope_id << 32 | position


def prepare(changes: Changes) -> PreparedChanges:
    """The changes, copied and encoded."""
    return PreparedChanges(
        namespace=changes.scope.namespace,
        user_id=changes.scope.user_id,
        deletes=tuple(dict.fromkeys(filter(can_exist, changes.deletes))),
        updates=tuple(map(_row, changes.updates)),
        inserts=tuple(map(_row, changes.inserts)),
        unchanged={id: time_to_text(moment) for id, moment in changes.unchanged.items()},
        notes=dict(changes.notes),
        expected=dict(changes.expected),
        whole=changes.whole,
    )


def apply(connection: apsw.Connection, changes: PreparedChanges) -> Applied:
    """Do all of it; the transaction must be undone when this raises.

    Raises:
        NotFound, Conflict: see `MemoryStore.write`.
    """
    scope = _scope_to_change(connection, changes)
    if scope is None:
        return Applied(Written(), removed_text=False)
    deleted = _delete(connection, scope, changes.deletes)
    reworded = [_update(connection, scope, row, changes.unchanged.get(row[0])) for row in changes.updates]
    inserted = [_insert(connection, scope, row, whole=changes.whole) for row in changes.inserts]
    replaced = [_put_note(connection, scope, name, note) for name, note in changes.notes.items()]
    removed_text = bool(deleted) or any(reworded) or any(replaced)
    if removed_text:
        _drop_if_empty(connection, scope)
    return Applied(Written(deleted=deleted, inserted=inserted), removed_text)


def _row(memory: StoredMemory) -> Row:
    item = memory.item
    return (
        item.id,
        str(item.kind),
        memory.text_key,
        memory.key,
        item.near,
        item.embedder,
        memory.packed,
        memory.vector,
        item_to_json(item),
    )


def can_exist(id: str) -> bool:
    """Whether the id is text that can be stored (half of a surrogate pair cannot)."""
    try:
        id.encode()
    except UnicodeEncodeError:
        return False
    return True


def _scope_to_change(connection: apsw.Connection, changes: PreparedChanges) -> _ScopeRow | None:
    """The scope, made if something is to be put into it; None if there is nothing to do."""
    name = (changes.namespace, changes.user_id)
    found = next(iter(run(connection, _SQL["find_scope"], name)), None)
    _check_expected(connection, None if found is None else found[0], changes.expected)
    if found is None and changes.updates:
        raise NotFound(f"no memory {changes.updates[0][0]!r} in this scope")
    if found is None and changes.adds:
        found = next(iter(run(connection, _SQL["add_scope"], name)), None)
    return None if found is None else _ScopeRow(*found)


def _check_expected(
    connection: apsw.Connection, scope_id: int | None, expected: Mapping[str, bytes | None]
) -> None:
    for name, note in expected.items():
        if _note(connection, scope_id, name) != note:
            raise Conflict(f"note {name!r} was changed by another write; read it again")


def _note(connection: apsw.Connection, scope_id: int | None, name: str) -> bytes | None:
    found = next(iter(run(connection, _SQL["note_of"], (scope_id, name))), None)
    return None if found is None else found[0]


def _put_note(connection: apsw.Connection, scope: _ScopeRow, name: str, note: bytes | None) -> bool:
    """Whether something that stood there is no more."""
    old = _note(connection, scope.scope_id, name)
    if note == old:
        return False
    if note is None:
        run(connection, _SQL["remove_note"], (scope.scope_id, name))
    else:
        run(connection, _SQL["put_note"], (scope.scope_id, name, note))
    return old is not None


def _delete(connection: apsw.Connection, scope: _ScopeRow, ids: Iterable[str]) -> list[str]:
    deleted: list[str] = []
    for id in ids:
        run(connection, _SQL["delete_memory"], (scope.scope_id, id))
        if connection.changes():
            run(connection, _SQL["add_gone"], (scope.next_place(), id))
            deleted.append(id)
    if deleted:  # the links in one statement: each one costs a walk through all that the change has undone
        run(connection, _SQL["clear_near"], (scope.scope_id, dumps(deleted)))
        _trim_gone(connection, scope)
    return deleted


def _trim_gone(connection: apsw.Connection, scope: _ScopeRow) -> None:
    span = (scope.place(0), scope.place(scope.position), MAX_GONE)
    too_many = next(iter(run(connection, _SQL["last_gone_too_many"], span)), None)
    if too_many is not None:
        run(connection, _SQL["drop_gone"], (scope.place(0), too_many[0]))
        run(connection, _SQL["forget_before"], (scope.scope_id, too_many[0] & _MASK))


def _update(connection: apsw.Connection, scope: _ScopeRow, row: Row, unchanged: str | None) -> bool:
    """Whether it says something else now."""
    id = row[0]
    found = next(iter(run(connection, _SQL["kept_of"], (scope.scope_id, id, row[-1]))), None)
    if found is None:
        raise NotFound(f"no memory {id!r} in this scope")
    if unchanged is not None and found[0] != unchanged:
        raise Conflict(f"memory {id!r} was changed by another write; read it again")
    try:
        run(connection, _SQL["update_memory"], (scope.next_place(), scope.scope_id, *row))
    except apsw.ConstraintError as error:
        raise Conflict(f"another memory of this scope already says what {id!r} would say") from error
    return not found[1]


def _insert(connection: apsw.Connection, scope: _ScopeRow, row: Row, *, whole: bool) -> str:
    """The id that holds the row's id, key or text afterwards."""
    run(connection, _SQL["add_memory"], (scope.place(scope.position + 1), scope.scope_id, *row))
    if connection.changes():
        scope.position += 1
        return row[0]
    id, kind, text_key, key = row[:4]
    for query, values in (("who_has_id", (id,)), ("who_has_key", (key,)), ("who_has_text", (kind, text_key))):
        found = next(iter(run(connection, _SQL[query], (scope.scope_id, *values))), None)
        if found is not None and whole:
            raise Conflict(
                f"the place of memory {id!r} is taken, so nothing of the change is kept",
                taken={id: found[0]},
            )
        if found is not None:
            return found[0]
    raise Conflict(f"memory {id!r} could not be stored")  # pragma: no cover  (no other unique index)


def _drop_if_empty(connection: apsw.Connection, scope: _ScopeRow) -> None:
    span = (scope.place(0), scope.place(scope.position))
    if not run(connection, _SQL["holds_anything"], (scope.scope_id, *span)):
        run(connection, _SQL["drop_gone"], span)
        run(connection, _SQL["drop_scope"], (scope.scope_id,))
        run(connection, _SQL["raise_floor"], (scope.position,))
