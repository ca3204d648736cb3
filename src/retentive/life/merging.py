"""Which memories may become one, and what that one is. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Final, Protocol

from retentive.checks import MAX_TAGS
from retentive.ranking.dedupe import same_fact
from retentive.trust import may_replace, trust
from retentive.types import MemoryItem, MemoryKind, Source

LASTING: Final = frozenset([MemoryKind.EPISODIC, MemoryKind.SEMANTIC, MemoryKind.PROCEDURAL])
"""The kinds that are merged. The others live so shortly that it is not worth it."""

MAX_SOURCES: Final = 32
"""Of more that could become one, the rest waits for the next time."""

MAX_MERGED_SOURCES: Final = 1_000
"""What came from more places stays apart: a memory must stay small."""


class Merge(Protocol):
    """Says several statements as one; for example `retentive.life.llm_merge.LLMMerge`."""

    async def __call__(self, statements: Sequence[MemoryItem]) -> str | None:
        """One text that says all that these say, oldest first; None if they belong apart.

        Those with a `superseded_by` are what was so before. Every fact that holds must be in the text.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Memories that may become one: `living` give their place, `history` only tells what was before.

    The first of `living` is the one whose fields count. `why` is as in `Merged`.
    """

    living: tuple[MemoryItem, ...]
    history: tuple[MemoryItem, ...] = ()
    why: str

    @property
    def told(self) -> list[MemoryItem]:
        """All of them, oldest first: what a model is shown."""
        return sorted((*self.history, *self.living), key=lambda item: (item.created_at, item.id))


def is_lasting(item: MemoryItem) -> bool:
    """Whether it is of a kind that is merged, and no turn: the same words said twice are two turns."""
    return item.kind in LASTING and not item.is_turn


def duplicates(items: Iterable[MemoryItem]) -> Iterator[Cluster]:
    """The groups of those that state the same, each of two or more. The most trusted, then the newest, leads.

    Two state the same if no fact differs, and neither does who spoke, when it holds, how it went, nor
    anything that the metadata of one says and the leader's does not.
    """
    left = sorted(items, key=lambda item: (trust(item.origin), item.created_at, item.id), reverse=True)
    while left:
        leader, *others = left
        same = [item for item in others if fits(item, leader) and same_fact(item.content, leader.content)]
        same = same[: MAX_SOURCES - 1]
        taken = {item.id for item in same}
        left = [item for item in others if item.id not in taken]
        if same and _may_be_one((leader, *same)):
            yield Cluster(living=(leader, *same), why="same")


def wordings(items: Iterable[MemoryItem]) -> Iterator[Cluster]:
    """The groups of linked memories that a model may be asked about, each of one origin, newest first."""
    left = sorted(items, key=lambda item: (item.created_at, item.id), reverse=True)
    while left:
        leader, *others = left
        near = [item for item in others if item.origin is leader.origin and fits(item, leader)]
        near = near[: MAX_SOURCES - 1]
        taken = {item.id for item in near}
        left = [item for item in others if item.id not in taken]
        if near and _may_be_one((leader, *near)):
            yield Cluster(living=(leader, *near), why="wordings")


def fits(item: MemoryItem, leader: MemoryItem) -> bool:
    """Whether nothing but its words sets the item apart from the leader, which is trusted as much or more."""
    speakers = [one.source.speaker if one.source is not None else None for one in (item, leader)]
    return (
        (item.kind, item.success, item.stated_period) == (leader.kind, leader.success, leader.stated_period)
        and speakers[0] == speakers[1]
        and may_replace(leader, item)
        and all(leader.metadata.get(name, _ABSENT) == value for name, value in item.metadata.items())
    )


def merged(cluster: Cluster, new_id: str, now: datetime) -> MemoryItem:
    """The memory that takes the place of all that live in the cluster, in the words of the first.

    It has the first one's fields; the tags of all and the highest importance of those that are trusted as
    much; it lives as long as the longest, and happened when the latest did. What is less trusted adds
    nothing but its link and its source, so nothing is trusted more than before.
    """
    leader = cluster.living[0]
    peers = [item for item in cluster.living if item.origin is leader.origin]
    ids = sorted(item.id for item in cluster.living)
    ends = [item.expires_at for item in peers]
    return replace(
        leader,
        id=new_id,
        created_at=now,
        updated_at=now,
        importance=max(item.importance for item in peers),
        tags=_tags(peers),
        occurred_at=max(item.occurred_at or item.created_at for item in peers),
        expires_at=None if None in ends else max(end for end in ends if end is not None),
        supersedes=leader.id,
        merged_from=tuple(ids),
        merged_sources=_sources(cluster.told),
        near=None if leader.near in ids else leader.near,
    )


def unmerged(source: MemoryItem, updated_at: datetime) -> MemoryItem:
    """The source as it was before it was merged."""
    return replace(
        source,
        superseded_by=None,
        superseded_at=None,
        valid_until=source.planned_until,
        planned_until=None,
        updated_at=updated_at,
    )


def _may_be_one(items: Sequence[MemoryItem]) -> bool:
    return len(_tags(items)) <= MAX_TAGS and len(_sources(items)) <= MAX_MERGED_SOURCES


def _sources(items: Sequence[MemoryItem]) -> tuple[Source, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(item.sources for item in items)))


def _tags(items: Sequence[MemoryItem]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(item.tags for item in items)))


_ABSENT: Final = object()
