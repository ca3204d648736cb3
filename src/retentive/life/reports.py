"""What the upkeep of memories says it did: values, without numpy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many are done, of how many."""

MAX_LISTED: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """What a prune removed, or would remove when it was a `dry_run`.

    `removed` counts by reason: expired, superseded, age, idle, importance, keep_top, and history, which are
    the older versions that go with one of those. A memory counts for the first reason alone. `ids` are those
    of the first `MAX_LISTED`, in the order in which they go. `scanned` is how many memories there were, in so
    many `scopes`.
    """

    dry_run: bool
    scopes: int
    scanned: int
    removed: Mapping[str, int] = field(default_factory=dict[str, int])
    ids: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many memories, with their older versions."""
        return sum(self.removed.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Several memories that became one, or would: `id` is None in a dry run.

    `sources` are the ids of those whose place it takes, oldest first. `why` is "same" where they state the
    same, else "wordings" or "history": what a model was, or would be, asked to say as one.
    """

    id: str | None
    sources: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateReport:
    """What a consolidation did, or would do when it was a `dry_run`.

    `merged` are the first `MAX_LISTED` of `total`. `skipped` counts by reason the groups that were left as
    they are: a model said that they belong apart, or another writer was there first. `scanned` is how many
    memories were looked at, in so many `scopes`.
    """

    dry_run: bool
    scopes: int
    scanned: int
    total: int = 0
    merged: tuple[Merged, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict[str, int])
