"""LangGraph: items of a store as JSON: namespace, key, value, created_at, updated_at."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, cast

from retentive.archive.formats.base import ForeignMemory, Found, Record, fields, kept, text, when
from retentive.archive.report import Refusal
from retentive.checks import Json
from retentive.codec import to_json
from retentive.drafts import NewMemory, clean_query
from retentive.errors import InvalidInput
from retentive.types import Origin

_TEXTS = ("content", "text", "memory", "data")


def looks_like(data: object) -> bool:
    """Whether an entry is an item of a store."""
    return isinstance(data, dict) and {"namespace", "key", "value"} <= cast("dict[str, Any]", data).keys()


def read(records: Iterable[Record]) -> Iterator[Found]:
    """A memory an item: its content is the value's "content", "text", "memory" or "data", else all of it.

    Which part of a namespace is a user is each program's own convention, so none is taken for one: the
    namespace is in the metadata under "langgraph". So are the key and the rest of the value.
    """
    for record in records:
        try:
            yield _memory(record)
        except InvalidInput as error:
            yield Refusal(place=record.place, reason=str(error))


def _memory(record: Record) -> ForeignMemory:
    data = fields(record)
    value, key, namespace = data.get("value"), data.get("key"), _namespace(data.get("namespace"))
    if not isinstance(value, dict) or not isinstance(key, str) or namespace is None:
        raise InvalidInput('an item needs a "namespace" (list), a "key" (text) and a "value" (object)')
    content, rest = _split(cast("dict[str, Any]", value))
    try:
        place_there = to_json([*namespace, key])
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"the namespace cannot be used: {error}") from error
    mark = blake2b(place_there.encode("utf-8", "replace"), digest_size=16).hexdigest()
    times = {name: data.get(name) for name in ("created_at", "updated_at")}
    own = {"namespace": namespace, "key": key, **kept(value=rest, **times)}
    return ForeignMemory(
        place=record.place,
        user_id=None,
        new=NewMemory(
            content=content,
            metadata={"langgraph": own},
            occurred_at=when(data.get("created_at")),
            origin=Origin.IMPORTED,
            key=f"langgraph:{mark}",
        ),
    )


def _namespace(value: object) -> list[Json] | None:
    """Its parts; None where it is none."""
    if isinstance(value, str):
        return list(value.split("."))
    return cast("list[Json]", value) if isinstance(value, list) else None


def _split(value: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The content, and what else the value holds."""
    for name in _TEXTS:
        content = text(value, name)
        if content is not None:
            return content, {other: one for other, one in value.items() if other != name}
    if not value:
        raise InvalidInput("the value is empty")
    try:
        return clean_query(to_json(dict(value))), {}
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"the value cannot be used: {error}") from error
