"""The one JSON form of a memory and of a turn: in stores, journals, exports and `--json` output."""

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, cast

from retentive.checks import Json
from retentive.errors import StoreCorrupt
from retentive.types import MemoryItem, MemoryKind, Origin, Scope, Source, Turn

_TIMES = (
    "created_at",
    "updated_at",
    "occurred_at",
    "valid_from",
    "valid_until",
    "expires_at",
    "superseded_at",
    "planned_until",
)
ITEM_FIELDS: Final = frozenset(field.name for field in fields(MemoryItem)) - {"scope"} | {
    "namespace",
    "user_id",
}
"""The names that a memory may have in its JSON form."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_KINDS = {str(kind): kind for kind in MemoryKind}
_ORIGINS = {str(origin): origin for origin in Origin}
_PLAIN = ("importance", "success", "supersedes", "superseded_by", "near", "embedder")


def time_to_text(value: datetime) -> str:
    """ISO 8601 in UTC with microseconds and a Z: its order as text is its order in time."""
    return value.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def time_from_text(text: str) -> datetime:
    """The instant, aware and in UTC.

    Raises:
        ValueError: not a time, or one without a zone (which would have to be guessed).
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is UTC:
        return moment
    if moment.utcoffset() is None:
        raise ValueError(f"the time {text!r} has no zone")
    return moment.astimezone(UTC)


def item_to_dict(item: MemoryItem) -> dict[str, Json]:
    """The memory as a JSON object; what is None or empty is left out, but for `user_id`."""
    out: dict[str, Json] = {
        "id": item.id,
        "namespace": item.scope.namespace,
        "user_id": item.scope.user_id,
        "kind": str(item.kind),
        "content": item.content,
        "origin": str(item.origin),
    }
    for name in _PLAIN:
        value = getattr(item, name)
        if value is not None:
            out[name] = value
    for name in _TIMES:
        moment = getattr(item, name)
        if moment is not None:
            out[name] = time_to_text(moment)
    if item.tags:
        out["tags"] = list(item.tags)
    if item.metadata:
        out["metadata"] = dict(item.metadata)
    if item.merged_from:
        out["merged_from"] = list(item.merged_from)
    if item.merged_sources:
        out["merged_sources"] = [_source_to_dict(source) for source in item.merged_sources]
    if item.source is not None:
        out["source"] = _source_to_dict(item.source)
    return out


def item_from_dict(data: Mapping[str, Any]) -> MemoryItem:
    """The memory again.

    Raises:
        StoreCorrupt: a field is missing or is not what it should be.
    """
    try:
        return MemoryItem(
            id=data["id"],
            scope=_scope(data["namespace"], data["user_id"]),
            kind=_KINDS[data["kind"]],
            content=data["content"],
            origin=_ORIGINS[data["origin"]],
            tags=tuple(data.get("tags", ())),
            metadata=data.get("metadata", {}),
            merged_from=tuple(data.get("merged_from", ())),
            merged_sources=tuple(map(_source_from_dict, data.get("merged_sources", ()))),
            source=_source_from_dict(data["source"]) if "source" in data else None,
            **_optional_fields(data),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorrupt(f"a stored memory cannot be read: {error!r}") from error


@lru_cache(maxsize=1_024)
def _scope(namespace: str, user_id: str | None) -> Scope:
    return Scope(namespace, user_id)


def _optional_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: data[name] for name in _PLAIN if name in data}
    for name in _TIMES:
        if name in data:
            fields[name] = time_from_text(data[name])
    return fields


def item_to_json(item: MemoryItem) -> str:
    """One line of JSON."""
    return to_json(item_to_dict(item))


def item_from_json(text: str) -> MemoryItem:
    """The memory again.

    Raises:
        StoreCorrupt: it is not JSON, or not a memory.
    """
    try:
        return item_from_dict(json.loads(text))
    except json.JSONDecodeError as error:
        raise StoreCorrupt(f"a stored memory is not JSON: {error}") from error


def turn_to_dict(turn: Turn) -> dict[str, Json]:
    """The turn as a JSON object; empty metadata is left out."""
    out: dict[str, Json] = {
        "seq": turn.seq,
        "id": turn.id,
        "at": time_to_text(turn.at),
        "role": turn.role,
        "content": turn.content,
    }
    if turn.metadata:
        out["metadata"] = dict(turn.metadata)
    return out


def turn_from_dict(data: Mapping[str, Any]) -> Turn:
    """The turn again.

    Raises:
        StoreCorrupt: a field is missing or is not what it should be.
    """
    try:
        turn = Turn(
            seq=data["seq"],
            id=data["id"],
            role=data["role"],
            content=data["content"],
            at=time_from_text(data["at"]),
            metadata=data.get("metadata", {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorrupt(f"not a turn: {error!r}") from error
    if type(turn.seq) is not int or turn.seq < 1:
        raise StoreCorrupt(f"not a turn: seq is {turn.seq!r}")
    if not type(turn.id) is type(turn.role) is type(turn.content) is str:
        raise StoreCorrupt("not a turn: id, role and content must be text")
    return turn


def to_json(value: Json) -> str:
    """One line of strict JSON; other alphabets stay readable."""
    return _encode(value)


def _source_to_dict(source: Source) -> dict[str, Json]:
    out: dict[str, Json] = {
        name: value
        for name in ("thread", "speaker", "document", "place")
        if (value := getattr(source, name)) is not None
    }
    if source.turns:
        out["turns"] = list(source.turns)
    return out


def _source_from_dict(data: Mapping[str, Any]) -> Source:
    fields = {name: cast("str | None", data.get(name)) for name in ("thread", "speaker", "document", "place")}
    return Source(turns=tuple(data.get("turns", ())), **fields)
