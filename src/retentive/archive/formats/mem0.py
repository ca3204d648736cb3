"""mem0: the JSON that `get_all` gives, or a list of its `results`. Made from docs.mem0.ai."""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from retentive.archive.formats.base import ForeignMemory, Found, Record, fields, kept, text, when
from retentive.archive.report import Refusal
from retentive.drafts import NewMemory
from retentive.errors import InvalidInput
from retentive.types import Origin

_BESIDE = ("id", "agent_id", "app_id", "run_id", "created_at", "updated_at")


def looks_like(data: object) -> bool:
    """Whether an entry is one of mem0's."""
    return isinstance(data, dict) and isinstance(cast("dict[str, Any]", data).get("memory"), str)


def read(records: Iterable[Record]) -> Iterator[Found]:
    """A memory an entry: `memory` is the content, `categories` its tags, `created_at` when it happened.

    What else mem0 knows of it is in the metadata under "mem0".
    """
    for record in records:
        try:
            yield _memory(record)
        except InvalidInput as error:
            yield Refusal(place=record.place, reason=str(error))


def _memory(record: Record) -> ForeignMemory:
    data = fields(record)
    content = text(data, "memory")
    if content is None:
        raise InvalidInput('no text in "memory"')
    metadata: object = data.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise InvalidInput('"metadata" is no JSON object')
    own = kept(**{name: data.get(name) for name in _BESIDE})
    user = data.get("user_id")
    id = data.get("id")
    return ForeignMemory(
        place=record.place,
        user_id=None if user is None else str(user),
        new=NewMemory(
            content=content,
            tags=data.get("categories") or (),
            metadata={**cast("dict[str, object]", metadata), **kept(mem0=own)},
            occurred_at=when(data.get("created_at")),
            expires_at=when(data.get("expiration_date")),
            origin=Origin.IMPORTED,
            key=None if id is None else f"mem0:{id}",
        ),
    )
