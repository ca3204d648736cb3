"""Which memories may be returned at all."""

from collections.abc import Collection
from datetime import datetime

import numpy as np

from retentive.ranking.features import KINDS, NO_TIME, SUPERSEDED, microseconds
from retentive.ranking.view import IndexView, Mask
from retentive.types import Filters, MemoryKind


def passing(view: IndexView, filters: Filters, now: datetime) -> Mask:
    """For each row whether it is a living memory that the filters let through at the instant `now`."""
    mask = view.alive & _valid(view, microseconds(filters.as_of or now))
    if not filters.include_superseded:
        mask &= ~view.flag(SUPERSEDED)
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


def _valid(view: IndexView, at: int) -> Mask:
    """Not expired, valid already and still. Each bound is looked at only when some memory has it."""
    mask = np.ones(view.size, dtype=np.bool_)
    for name in ("expires", "valid_until"):
        if _used(view, name):
            bound = view.column(name)
            mask &= (bound == NO_TIME) | (bound > at)
    if _used(view, "valid_from"):
        mask &= view.column("valid_from") <= at
    return mask


def _used(view: IndexView, name: str) -> bool:
    return view.keep(("used", name), lambda: bool((view.column(name)[1:] != NO_TIME).any()))


def _tagged(view: IndexView, tag: str) -> Mask:
    rows = np.array(view.tagged.get(tag, ()), dtype=np.intp)
    mask = np.zeros(view.size, dtype=np.bool_)
    mask[rows[rows < view.size]] = True
    return mask
