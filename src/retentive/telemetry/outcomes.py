"""What a span says of a call, read from its arguments and its result. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from retentive.archive.report import ImportReport
from retentive.life.batch import Applied
from retentive.life.reports import ConsolidateReport, PruneReport
from retentive.recall import Recall
from retentive.tokens import truncate
from retentive.types import Disagreement, MemoryItem, Page, Receipt

SEARCH: Final = "search_memory"
UPSERT: Final = "upsert_memory"
UPDATE: Final = "update_memory"
DELETE: Final = "delete_memory"

OPERATIONS: Final[Mapping[str, str]] = {
    "recall": SEARCH,
    "search": SEARCH,
    "get": SEARCH,
    "list": SEARCH,
    "history": SEARCH,
    "conflicts": SEARCH,
    "remember": UPSERT,
    "remember_many": UPSERT,
    "apply": UPSERT,
    "import_": UPSERT,
    "consolidate": UPSERT,
    "update": UPDATE,
    "supersede": UPDATE,
    "unmerge": UPDATE,
    "forget": DELETE,
    "forget_thread": DELETE,
    "forget_user": DELETE,
    "clear": DELETE,
    "prune": DELETE,
}
"""The convention's name for what a verb does. Verbs that are not in it make no span."""

MAX_RECORDS: Final = 100
"""How many memories a span shows the content of."""
MAX_CHARS: Final = 4_000
"""How many characters of a content or a query a span shows."""

_NAMES_ONE: Final = ("memory_id", "old_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One memory that a call found, wrote or removed; what was removed has no content any more."""

    id: str
    item: MemoryItem | None = None
    score: float | None = None

    def shown(self) -> dict[str, Any]:
        """The record as the convention's `gen_ai.memory.records` has it."""
        assert self.item is not None
        shown: dict[str, Any] = {"id": self.id, "content": truncate(self.item.content, MAX_CHARS)}
        if self.score is not None:
            shown["score"] = self.score
        return shown | {"metadata": {"kind": self.item.kind.value, "tags": list(self.item.tags)}}


def named_record(arguments: Mapping[str, Any]) -> str | None:
    """The id of the one memory that the call is about; None if its arguments name none."""
    return next((str(arguments[name]) for name in _NAMES_ONE if name in arguments), None)


def query_text(arguments: Mapping[str, Any]) -> str | None:
    """What is asked for, cut at `MAX_CHARS`; None if the verb takes no query."""
    query = arguments.get("query")
    return truncate(query, MAX_CHARS) if isinstance(query, str) else None


def records_of(result: object) -> Sequence[Record]:
    """The memories in what a verb gave, in its order."""
    match result:
        case Recall():
            return [Record(id=hit.id, item=hit.item, score=hit.score) for hit in result]
        case MemoryItem():
            return _items([result])
        case Page() | Applied():
            return _items(result.items)
        case Receipt():
            return [Record(id=memory_id) for memory_id in result.ids]
        case PruneReport() if not result.dry_run:
            return [Record(id=memory_id) for memory_id in result.ids]
        case ConsolidateReport():
            return [Record(id=one.id) for one in result.merged if one.id is not None]
        case list():
            return _listed(result)  # pyright: ignore[reportUnknownArgumentType]
        case _:
            return []


def count_of(result: object, records: Sequence[Record]) -> int:
    """How many memories the call found, wrote or removed."""
    return result.imported if isinstance(result, ImportReport) else len(records)


def records_text(records: Sequence[Record]) -> str | None:
    """The first `MAX_RECORDS` of them with their contents, as JSON; None if there is nothing to show."""
    shown = [record.shown() for record in records[:MAX_RECORDS] if record.item is not None]
    return json.dumps(shown, ensure_ascii=False) if shown else None


def _listed(found: Sequence[object]) -> Sequence[Record]:
    pairs = [one for one in found if isinstance(one, Disagreement)]
    if pairs:
        both = {item.id: item for pair in pairs for item in (pair.newer, pair.older)}
        return _items([*both.values()])
    return _items([one for one in found if isinstance(one, MemoryItem)])


def _items(items: Sequence[MemoryItem]) -> Sequence[Record]:
    return [Record(id=item.id, item=item) for item in items]
