"""What a forget leaves in the caller's hands."""

from collections.abc import Sequence
from datetime import datetime

from retentive.life.erase import Erased
from retentive.life.taking_back import Taken
from retentive.types import Receipt, Scope


def receipt_of(
    scope: Scope,
    erased: Sequence[Erased],
    at: datetime,
    taken: Taken | None = None,
    *,
    everyone: bool = False,
) -> Receipt:
    """The one receipt of what was removed, of one scope or several; all share their tracing."""
    taken = taken or Taken()
    gone = [one for each in erased for one in each.gone.values()]
    removed = {
        "rows": len(gone),
        "words": len(gone),
        "vectors": sum(one.has_vector for one in gone),
        "links": sum(one.links for one in gone),
        "history": sum(each.history for each in erased),
    }
    notes = sum(each.notes for each in erased)
    more = {"notes": notes, "threads": len(taken.threads), "turns": taken.count}
    return Receipt(
        scope=scope,
        at=at,
        ids=tuple(one.id for one in gone),
        removed=removed | {place: count for place, count in more.items() if count},
        threads=taken.threads,
        turns=taken.turns,
        everyone=everyone,
        traces=erased[0].tracing.traces() if erased else None,
    )
