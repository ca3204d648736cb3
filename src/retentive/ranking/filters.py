"""Which memories may be returned at all."""

from collections.abc import Collection
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.features import KINDS, NO_TIME, ORIGINS, SUPERSEDED, microseconds
from retentive.ranking.view import IndexView, Mask
from retentive.trust import trust
from retentive.types import Filters, MemoryKind, Origin


def passing(view: IndexView, filters: Filters, now: datetime) -> Mask:
    """For each row whether it is a living memory that the filters let through at the instant `now`."""
    mask = view.alive & _valid(view, filters, microseconds(filters.as_of or filters.known_at or now))
    if filters.known_at is not None:
        mask &= view.column("created") <= microseconds(filters.known_at)
    if filters.min_trust is not None:
        mask &= np.isin(view.column("origin"), _at_least(filters.min_trust))
    if filters.kinds:
        mask &= of_kinds(view, filters.kinds)
    if filters.success is not None:
        mask &= view.column("success") == int(filters.success)
    if filters.since is not None:
        mask &= view.happened >= microseconds(filters.since)
    if filters.until is not None:
        mask &= view.happened < microseconds(filters.until)
    for tag in filters.tags:
        mask &= _tagged(view, tag)
    return mask


def of_kinds(view: IndexView, kinds: Collection[MemoryKind]) -> Mask:
    """For each row whether it is a living memory of one of the kinds (none: of any), expired or not."""
    if not kinds:
        return view.alive
    return view.alive & np.isin(view.column("kind"), [KINDS.index(kind) for kind in kinds])


def expired(view: IndexView, now: datetime) -> list[str]:
    """The ids of the memories that have expired and are still kept."""
    if not _used(view, "expires"):
        return []
    bound = view.column("expires")
    over = view.alive & (bound != NO_TIME) & (bound <= microseconds(now))
    return [view.ids[row] for row in np.flatnonzero(over).tolist()]


def _valid(view: IndexView, filters: Filters, at: int) -> Mask:
    """Not expired, valid already and still. Each bound is looked at only when some memory has it."""
    mask = np.ones(view.size, dtype=np.bool_)
    if _used(view, "expires"):
        bound = view.column("expires")
        mask &= (bound == NO_TIME) | (bound > at)
    if _used(view, "valid_from"):
        mask &= view.column("valid_from") <= at
    if _any_superseded(view) or _used(view, "valid_until"):
        bound, replaced = _ends(view, filters)
        mask &= (bound > at) | ((bound == NO_TIME) & ~replaced)
    return mask


def _ends(view: IndexView, filters: Filters) -> tuple[NDArray[np.int64], Mask]:
    """Until when each row holds, as far as that is to be known, and which count as superseded.

    A superseded one without an end holds at no time: what took its place says the same.
    """
    bound, replaced = view.column("valid_until"), view.flag(SUPERSEDED)
    if not _any_superseded(view):
        return bound, replaced
    undone = np.zeros(view.size, dtype=np.bool_)
    if filters.include_superseded:
        undone = replaced
    elif filters.known_at is not None:
        at = view.column("superseded")
        undone = replaced & (at != NO_TIME) & (at > microseconds(filters.known_at))
    return np.where(undone, view.column("planned_until"), bound), replaced & ~undone


def _at_least(floor: Origin) -> list[int]:
    """The origins, as they are packed, that are trusted as much as the floor or more."""
    return [number for number, origin in enumerate(ORIGINS) if trust(origin) >= trust(floor)]


def _any_superseded(view: IndexView) -> bool:
    return view.keep("any superseded", lambda: bool((view.flag(SUPERSEDED) & view.alive).any()))


def _used(view: IndexView, name: str) -> bool:
    return view.keep(("used", name), lambda: bool((view.column(name)[1:] != NO_TIME).any()))


def _tagged(view: IndexView, tag: str) -> Mask:
    rows = np.array(view.tagged.get(tag, ()), dtype=np.intp)
    mask = np.zeros(view.size, dtype=np.bool_)
    mask[rows[rows < view.size]] = True
    return mask
