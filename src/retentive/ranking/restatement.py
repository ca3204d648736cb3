"""Whether a new memory states what is there already, and which older wording it is linked to. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from retentive.errors import Conflict
from retentive.ranking.dedupe import LONGEST_COMPARED, same_fact, text_key
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


def other_use(item: MemoryItem, key: str | None, held: MemoryItem) -> Conflict | None:
    """What to raise if the memory that has the item's key is of another call; None if it is of the same one.

    That is so where kind or statement differ, or the item's origin is trusted more: then the item would be
    lost. One that was edited since it was stored may have said the same then, so it only has to be trusted.
    """
    if key is None or held.id == item.id:
        return None
    if may_replace(held, item) and (_says_the_same(item, held) or _was_edited(held)):
        return None
    return Conflict(
        f"the key {key!r} was used for memory {held.id!r}, which is another statement, of another kind or "
        "less trusted: give each statement a key of its own"
    )


def _says_the_same(item: MemoryItem, held: MemoryItem) -> bool:
    same = text_key(item.content) == text_key(held.content) or same_fact(item.content, held.content)
    return same and item.kind is held.kind


def _was_edited(held: MemoryItem) -> bool:
    """Whether it changed since it was stored, otherwise than by being superseded."""
    if held.superseded_at is None:
        return held.updated_at > held.created_at
    return held.updated_at > held.superseded_at + timedelta(microseconds=1)
