"""The lines of a namespace's journal: one JSON object a change, readable by people.

A line is a memory, its own fields first, or `{"memories": [...]}` where one change wrote several. A change
with notes names its scope: `{"namespace": ..., "user_id": ..., "memories": [...], "notes": {name: base64}}`.
A later line replaces what an earlier one says of the same id or note.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from retentive.checks import Json
from retentive.codec import ITEM_FIELDS, item_from_dict, to_json
from retentive.errors import InvalidInput, StoreCorrupt
from retentive.stores.base import Changes, StoredMemory
from retentive.stores.kept import Kept, keep
from retentive.stores.schema import unknown_fields
from retentive.types import Scope

_MEMORY_FIELDS: Final = ITEM_FIELDS | {"key", "text_key", "packed", "vector"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one line says: memories and notes of one scope. Falsy when it says nothing."""

    scope: Scope
    memories: tuple[Kept, ...] = ()
    notes: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    def __bool__(self) -> bool:
        return bool(self.memories or self.notes)


def encode_line(line: Line) -> bytes:
    """One line, with its end."""
    objects = [_encode(memory) for memory in line.memories]
    if len(objects) == 1 and not line.notes:
        return objects[0].encode() + b"\n"
    parts = [f'"memories":[{",".join(objects)}]'] if objects else []
    if line.notes:
        notes: dict[str, Json] = {name: b64encode(note).decode() for name, note in line.notes.items()}
        scope: dict[str, Json] = {"namespace": line.scope.namespace, "user_id": line.scope.user_id}
        parts = [to_json(scope)[1:-1], *parts, f'"notes":{to_json(notes)}']
    return ("{" + ",".join(parts) + "}").encode() + b"\n"


def decode_line(line: bytes) -> Line:
    """What the line says.

    Raises:
        StoreCorrupt: it is not such a line; none of it can be used.
        SchemaTooNew: a memory in it has a field that is not known.
    """
    try:
        data = json.loads(line)
    except ValueError as error:
        raise StoreCorrupt(f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise StoreCorrupt("not a JSON object")
    try:
        return _decode_line(cast("dict[str, Any]", data))
    except (InvalidInput, TypeError, ValueError, LookupError, AttributeError) as error:
        raise StoreCorrupt(f"not a memory: {error!r}") from error


def _decode_line(data: Mapping[str, Any]) -> Line:
    if "memories" not in data and "notes" not in data:
        scope, memory = _decode(data)
        return Line(scope=scope, memories=(memory,))
    memories = [_decode(memory) for memory in data.get("memories", ())]
    notes = {name: b64decode(note, validate=True) for name, note in data.get("notes", {}).items()}
    scope = Scope(data["namespace"], data["user_id"]) if notes else memories[0][0]
    if any(other != scope for other, _ in memories):
        raise StoreCorrupt("memories of several scopes in one line")
    Changes(scope=scope, notes=notes)
    return Line(scope=scope, memories=tuple(memory for _, memory in memories), notes=notes)


def _encode(memory: Kept) -> str:
    beside = {
        "key": memory.key,
        "text_key": None if memory.text_key is None else memory.text_key.hex(),
        "packed": b64encode(memory.packed).decode(),
        "vector": None if memory.vector is None else b64encode(memory.vector).decode(),
    }
    return (
        memory.item[:-1]
        + ","
        + to_json({name: value for name, value in beside.items() if value is not None})[1:]
    )


def _decode(data: Mapping[str, Any]) -> tuple[Scope, Kept]:
    item = item_from_dict(data)
    if not data.keys() <= _MEMORY_FIELDS:
        raise unknown_fields(data.keys() - _MEMORY_FIELDS)
    text_key, vector = data.get("text_key"), data.get("vector")
    memory = StoredMemory(
        item=item,
        text_key=None if text_key is None else bytes.fromhex(text_key),
        key=data.get("key"),
        packed=b64decode(data["packed"], validate=True),
        vector=None if vector is None else b64decode(vector, validate=True),
    )
    return item.scope, keep(memory)
