"""The lines of a namespace's journal: one JSON object a change, readable by people.

A line is a memory, its own fields first, or `{"memories": [...]}` where one change wrote several. A later
line with the same id replaces an earlier one.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any, cast

from retentive.codec import item_from_dict, to_json
from retentive.errors import InvalidInput, StoreCorrupt
from retentive.stores.base import StoredMemory
from retentive.stores.scope_state import Kept, keep
from retentive.types import Scope


def encode_line(memories: Sequence[Kept]) -> bytes:
    """One line, with its end."""
    objects = [_encode(memory) for memory in memories]
    line = objects[0] if len(objects) == 1 else '{"memories":[' + ",".join(objects) + "]}"
    return line.encode() + b"\n"


def decode_line(line: bytes) -> list[tuple[Scope, Kept]]:
    """The memories of a line.

    Raises:
        StoreCorrupt: it is not such a line; none of it can be used.
    """
    try:
        data = json.loads(line)
    except ValueError as error:
        raise StoreCorrupt(f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise StoreCorrupt("not a JSON object")
    fields = cast("dict[str, Any]", data)
    many = fields["memories"] if fields.keys() == {"memories"} else [fields]
    try:
        return [_decode(memory) for memory in many]
    except (InvalidInput, TypeError, ValueError, KeyError, AttributeError) as error:
        raise StoreCorrupt(f"not a memory: {error!r}") from error


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
    text_key, vector = data.get("text_key"), data.get("vector")
    memory = StoredMemory(
        item=item,
        text_key=None if text_key is None else bytes.fromhex(text_key),
        key=data.get("key"),
        packed=b64decode(data["packed"], validate=True),
        vector=None if vector is None else b64decode(vector, validate=True),
    )
    return item.scope, keep(memory)
