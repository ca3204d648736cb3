"""Several changes of one scope as one: what is asked for, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from retentive import drafts
from retentive.drafts import NewMemory
from retentive.errors import InvalidInput
from retentive.types import MemoryItem

MAX_NEW: Final = 1_000

_Places = Mapping[int, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """New memories, whose place they take, edits and notes: all of it is written, or nothing.

    Args:
        new: at most `MAX_NEW`; those that state what is there already are not written.
        supersedes: by place in `new`, from 0, the ids of the memories that end where the new one begins.
        merges: the same where the new memory says all that those say, for all time.
        edits: by id, fields as `Memory.update` takes them.
        notes: small named records of the scope; None removes one.
        expected: notes that must be so for anything to be written; None is not there.
        lenient: store a new memory beside the old one where it cannot supersede it, instead of raising.
    """

    new: Sequence[NewMemory] = ()
    supersedes: _Places = field(default_factory=dict[int, Sequence[str]])
    merges: _Places = field(default_factory=dict[int, Sequence[str]])
    edits: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    notes: Mapping[str, bytes | None] = field(default_factory=dict[str, "bytes | None"])
    expected: Mapping[str, bytes | None] = field(default_factory=dict[str, "bytes | None"])
    lenient: bool = False

    def replaced(self) -> dict[str, int]:
        """By the id of each memory whose place is taken, the place in `new` of the one that takes it."""
        pairs = [
            (old, place)
            for places in (self.supersedes, self.merges)
            for place in places
            for old in places[place]
        ]
        return dict(pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What came of a Batch.

    `items` are, for each of `new` in order, the memory that states it now; `restated` the ids of those that
    were there already; `superseded` and `edited` the old ones as they are now; `refused` says by id why a
    lenient batch could not supersede or edit one.
    """

    items: Sequence[MemoryItem] = ()
    restated: tuple[str, ...] = ()
    superseded: Sequence[MemoryItem] = ()
    edited: Sequence[MemoryItem] = ()
    refused: Mapping[str, str] = field(default_factory=dict[str, str])


def check_batch(batch: Batch) -> dict[str, dict[str, object]]:
    """The edits of the batch, checked.

    Raises:
        InvalidInput: too many new memories, a place that is not in `new`, an id that is not text or whose
            place is taken twice, or a field that cannot be used.
    """
    if len(batch.new) > MAX_NEW:
        raise InvalidInput(
            f"a batch takes at most {MAX_NEW:,} new memories, not {len(batch.new):,}: split it"
        )
    seen: set[str] = set()
    for place, olds in (*batch.supersedes.items(), *batch.merges.items()):
        if type(place) is not int or not 0 <= place < len(batch.new):
            raise InvalidInput(f"supersedes and merges name places in new, from 0: there is no {place!r}")
        if isinstance(olds, str):
            raise InvalidInput("supersedes and merges take a list of ids for each place")
        for old in map(drafts.check_id, olds):
            if old in seen:
                raise InvalidInput(f"the place of memory {old!r} is taken twice in one batch")
            seen.add(old)
    return {drafts.check_id(id): drafts.check_edit(**fields) for id, fields in batch.edits.items()}
