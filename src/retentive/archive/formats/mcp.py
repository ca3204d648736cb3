"""The reference MCP memory server: its JSONL file of entities with observations, and relations."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, cast

from retentive.archive.formats.base import ForeignMemory, Found, Record, fields, kept, text
from retentive.archive.report import Refusal
from retentive.drafts import NewMemory, clean_query
from retentive.errors import InvalidInput
from retentive.types import Origin


def looks_like(data: object) -> bool:
    """Whether a line is an entity or a relation."""
    if not isinstance(data, dict):
        return False
    named = cast("dict[str, Any]", data)
    return named.get("type") in ("entity", "relation") and ("entityType" in named or "relationType" in named)


def read(records: Iterable[Record]) -> Iterator[Found]:
    """A memory an observation, led by the entity's name; a relation is one sentence.

    An entity without observations is a memory that names it and its type.
    """
    for record in records:
        try:
            data = fields(record)
            if data.get("type") == "entity":
                yield from _entity(record.place, data)
            else:
                yield _relation(record.place, data)
        except InvalidInput as error:
            yield Refusal(place=record.place, reason=str(error))


def _entity(place: str, data: Mapping[str, Any]) -> Iterator[Found]:
    name, kind = text(data, "name"), text(data, "entityType")
    if name is None:
        raise InvalidInput("an entity without a name")
    seen = data.get("observations", [])
    if not isinstance(seen, list):
        raise InvalidInput('"observations" is no list')
    about = kept(entity=name, entity_type=kind)
    if not seen:
        yield _memory(place, f"{name} ({kind})" if kind else name, about)
    for number, one in enumerate(cast("list[object]", seen)):
        where = f"{place}, observations[{number}]"
        if isinstance(one, str) and one.strip():
            yield _memory(where, f"{name}: {clean_query(one)}", about)
        else:
            yield Refusal(place=where, reason="an observation must be some text")


def _relation(place: str, data: Mapping[str, Any]) -> ForeignMemory:
    if data.get("type") != "relation":
        raise InvalidInput('"type" is neither "entity" nor "relation"')
    start, kind, end = text(data, "from"), text(data, "relationType"), text(data, "to")
    if start is None or kind is None or end is None:
        raise InvalidInput('a relation needs "from", "relationType" and "to"')
    about = {"from": start, "relation_type": kind, "to": end}
    return _memory(place, f"{start} {kind.replace('_', ' ')} {end}", about)


def _memory(place: str, content: str, about: Mapping[str, object]) -> ForeignMemory:
    mark = blake2b(content.encode(), digest_size=16).hexdigest()
    new = NewMemory(content=content, metadata={"mcp": dict(about)}, origin=Origin.IMPORTED, key=f"mcp:{mark}")
    return ForeignMemory(place=place, user_id=None, new=new)
