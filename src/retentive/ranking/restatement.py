"""Whether a new memory states what is there already, and which older wording it is linked to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from retentive.ranking.dedupe import LONGEST_COMPARED, same_fact
from retentive.ranking.near import Near
from retentive.text import surfaces
from retentive.trust import may_replace, trust
from retentive.types import MemoryItem


def settled(
    items: Sequence[MemoryItem], near: Sequence[Sequence[Near]], old: Mapping[str, MemoryItem]
) -> list[MemoryItem]:
    """For each item the memory that states the same, or itself, linked to the nearest older wording.

    Of several wordings it is the one trusted most: recall puts what is trusted less behind it.

    `near` holds what is close to each item, nearest first; `old` the stored ones of those by id (one that is
    missing was forgotten meanwhile). Two that hold for different times never state the same. Nor does a
    stored one of a less trusted origin: the trusted word must not be lost in it.
    """
    found: list[MemoryItem] = []
    for item, candidates in zip(items, near, strict=True):
        there = [old.get(one.id) if one.index is None else found[one.index] for one in candidates]
        found.append(_settle(item, [other for other in there if other is not None]))
    return found


def _settle(item: MemoryItem, candidates: Sequence[MemoryItem]) -> MemoryItem:
    for other in candidates:
        if _same_time(item, other) and may_replace(other, item) and same_fact(item.content, other.content):
            return other
    older = [other for other in candidates if alike(item.content, other.content)]
    if not older:
        return item
    return replace(item, near=max(older, key=lambda other: trust(other.origin)).id)


def _same_time(item: MemoryItem, other: MemoryItem) -> bool:
    exactly = (item.valid_from, item.valid_until) == (other.valid_from, other.valid_until)
    return exactly or item.stated_period == other.stated_period


def alike(one: str, other: str) -> bool:
    """Whether half of the words of one stand in the other; a cosine alone does not make two texts alike."""
    mine, theirs = set(surfaces(one[:LONGEST_COMPARED])), set(surfaces(other[:LONGEST_COMPARED]))
    return 2 * len(mine & theirs) >= min(len(mine), len(theirs))
