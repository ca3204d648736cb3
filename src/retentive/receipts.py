"""What a forget leaves in the caller's hands."""

from collections.abc import Sequence
from datetime import datetime

from retentive.stores.base import StoredMemory
from retentive.types import Receipt, Scope

_LINKS = ("near", "supersedes", "superseded_by")


def receipt_of(scope: Scope, gone: Sequence[StoredMemory], at: datetime, *, history: int = 0) -> Receipt:
    """What was removed with these memories, of which `history` are older versions of the others."""
    removed = {
        "rows": len(gone),
        "words": len(gone),
        "vectors": sum(got.vector is not None for got in gone),
        "links": sum(getattr(got.item, link) is not None for got in gone for link in _LINKS),
        "history": history,
    }
    return Receipt(scope=scope, at=at, ids=tuple(got.item.id for got in gone), removed=removed)
