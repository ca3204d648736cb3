"""What a forget leaves in the caller's hands."""

from collections.abc import Sequence
from datetime import datetime

from retentive.stores.base import StoredMemory
from retentive.types import Receipt, Scope


def receipt_of(scope: Scope, gone: Sequence[StoredMemory], at: datetime) -> Receipt:
    """What was removed with these memories."""
    removed = {
        "rows": len(gone),
        "words": len(gone),
        "vectors": sum(got.vector is not None for got in gone),
        "links": sum(got.item.near is not None for got in gone),
    }
    return Receipt(scope=scope, at=at, ids=tuple(got.item.id for got in gone), removed=removed)
