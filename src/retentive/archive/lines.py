"""One memory or turn as one line of an archive, and back: what comes in is checked like any caller's."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn, cast

from retentive import checks, drafts
from retentive.checks import Json
from retentive.codec import item_from_dict, item_to_dict, to_json, turn_from_dict, turn_to_dict
from retentive.conversation import check_role
from retentive.errors import InvalidInput, StoreCorrupt
from retentive.names import check_name
from retentive.stores.base import StoredMemory
from retentive.types import MemoryItem, Scope, Turn

MAX_ID_CHARS = 128
MAX_SOURCES = 1_000
_HERE = "here"  # a namespace to read an item with; an archive's lines name none
_BESIDE = frozenset(["key", "vector"])
_NOT_HERE = frozenset(["namespace"])
_MAY_BE_EMPTY = frozenset(["tags", "metadata", "source", "merged_from", "merged_sources"])
_KINDS: Final[Mapping[str, type]] = {
    "source": dict,
    "metadata": dict,
    "tags": list,
    "merged_from": list,
    "merged_sources": list,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLine:
    """A memory as it came out of a line. `vector` is float32, little-endian, of the model `item.embedder`."""

    place: str
    item: MemoryItem
    key: str | None
    vector: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLine:
    """A turn as it came out of a line, and the thread it belongs to."""

    place: str
    thread: str
    turn: Turn


def memory_to_line(memory: StoredMemory, *, vectors: bool) -> str:
    """The line: the memory's fields but its namespace, its `key`, and its vector if asked for."""
    with_vector = vectors and memory.vector is not None
    item = memory.item if with_vector else replace(memory.item, embedder=None)
    data = item_to_dict(item)
    del data["namespace"]
    if memory.key is not None:
        data["key"] = memory.key
    if with_vector and memory.vector is not None:
        data["vector"] = base64.b64encode(memory.vector).decode()
    return to_json(data)


def memory_from_line(place: str, raw: bytes) -> MemoryLine:
    """The memory, with its scope in the namespace "here".

    Raises:
        InvalidInput: something in it cannot be used; the message names the field.
    """
    data = _object(raw)
    key = data.get("key")
    if key is not None:
        checks.check_label("key", key, max_chars=drafts.MAX_KEY_CHARS)
    fields = {name: value for name, value in data.items() if name not in _BESIDE}
    item = _checked(_item(fields))
    unknown = fields.keys() - (item_to_dict(item).keys() - _NOT_HERE) - _MAY_BE_EMPTY
    if unknown:
        raise InvalidInput(f"the field {min(unknown)!r} is not known")
    vector = _vector(data.get("vector"))
    item = item if vector else replace(item, embedder=None)
    return MemoryLine(place=place, item=item, key=cast("str | None", key), vector=vector)


def turn_to_line(thread: str, turn: Turn) -> str:
    """The line: the thread's id and the turn's fields."""
    return to_json({"thread": thread, **turn_to_dict(turn)})


def turn_from_line(place: str, raw: bytes) -> TurnLine:
    """The turn.

    Raises:
        InvalidInput: something in it cannot be used; the message names the field.
    """
    data = dict(_object(raw))
    thread = check_name("thread", data.pop("thread", None))
    try:
        turn = turn_from_dict(data)
    except (StoreCorrupt, OverflowError) as error:
        raise InvalidInput(str(error)) from error
    return TurnLine(place=place, thread=thread, turn=check_turn(turn))


def check_turn(turn: Turn) -> Turn:
    """The turn, if a thread would take it.

    Raises:
        InvalidInput: its id, role, content, time or metadata cannot be used.
    """
    checks.check_label("id", turn.id, max_chars=MAX_ID_CHARS)
    return replace(
        turn,
        role=check_role(turn.role),
        content=checks.check_text("content", turn.content),
        at=checks.check_time("at", turn.at),
        metadata=checks.check_metadata("metadata", turn.metadata),
    )


def _item(fields: Mapping[str, Any]) -> MemoryItem:
    for name, kind in _KINDS.items():
        if not isinstance(fields.get(name, kind()), kind):
            raise InvalidInput(f"{name} is {fields[name]!r}")
    if not all(isinstance(source, dict) for source in fields.get("merged_sources", ())):
        raise InvalidInput(f"merged_sources is {fields['merged_sources']!r}")
    try:
        return item_from_dict({**fields, "namespace": _HERE})
    except (StoreCorrupt, OverflowError) as error:
        raise InvalidInput(str(error)) from error


def _checked(item: MemoryItem) -> MemoryItem:
    for name in ("id", "supersedes", "superseded_by", "near", "embedder"):
        label = getattr(item, name)
        if label is not None or name == "id":
            checks.check_label(name, label, max_chars=drafts.MAX_LABEL_CHARS)
    if len(item.merged_from) > MAX_SOURCES:
        raise InvalidInput(f"merged_from has {len(item.merged_from)} ids; the limit is {MAX_SOURCES}")
    for source in item.merged_from:
        checks.check_label("merged_from", source, max_chars=drafts.MAX_LABEL_CHARS)
    if len(item.id) > MAX_ID_CHARS:
        raise InvalidInput(f"id has {len(item.id)} characters; the limit is {MAX_ID_CHARS}")
    drafts.check_validity(item)
    return replace(
        item,
        content=checks.check_text("content", item.content),
        importance=checks.check_unit("importance", item.importance),
        tags=checks.check_tags(item.tags),
        metadata=checks.check_metadata("metadata", item.metadata),
        source=None if item.source is None else drafts.check_source(item.source),
        merged_sources=tuple(map(drafts.check_source, item.merged_sources)),
        success=drafts.check_success(item.success),
    )


def _vector(text: Json) -> bytes | None:
    if text is None:
        return None
    try:
        return base64.b64decode(cast("str", text), validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise InvalidInput(f"vector is not base64: {error}") from error


def _object(raw: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw, parse_constant=_no_such_number)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise InvalidInput("not a JSON object")
    return cast("dict[str, Any]", data)


def _no_such_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def in_scope(line: MemoryLine, scope: Scope) -> MemoryLine:
    """The same memory in another scope."""
    return replace(line, item=replace(line.item, scope=scope))
