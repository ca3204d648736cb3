"""Takes turns into a thread store: what is there stays, what is missing at the end is added."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from retentive.archive.report import Tally
from retentive.errors import Conflict
from retentive.redaction.base import Redactor
from retentive.redaction.fields import redacted_said
from retentive.stores.base import NewTurn, ThreadStore
from retentive.stores.wrapped import check_guarded
from retentive.types import Turn

BATCH = 500
MAX_LOST = 1_000
LOST = "(this turn could not be read when the thread was exported)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadIntake:
    """Where threads go, and the tally that is kept of them."""

    store: ThreadStore
    namespace: str
    tally: Tally
    dry_run: bool = False
    redactor: Redactor | None = None

    async def take(self, place: str, thread: str, turns: Sequence[Turn]) -> None:
        """Have the thread hold these turns with these numbers, unless it holds others in their place.

        Turns that it has beyond them stay. A number that `turns` leaves out, because its turn was damaged
        where they come from, is filled with a note of that, so that the others keep theirs.

        Raises:
            RedactionError: nothing of the thread was kept.
            StoreError: the turns before this batch of `BATCH` were kept.
        """
        turns = await asyncio.to_thread(_redacted, self.redactor, turns)
        if reason := _unusable(turns):
            self.tally.refuse(place, f"thread {thread!r}: {reason}")
            return
        known = (await self.store.turns(self.namespace, thread)).turns
        check_guarded(thread, known)
        last = known[-1].seq if known else 0
        held = {turn.seq: turn for turn in known}
        for turn in turns:
            if turn.seq <= last and not _is_same(turn, held.get(turn.seq)):
                reason = f"thread {thread!r} is here already, and its turn {turn.seq} differs"
                self.tally.refuse(place, reason)
                return
        missing = [turn for turn in turns if turn.seq > last]
        if not missing:
            self.tally.threads_present += 1
            return
        if not self.dry_run:
            await self._append(thread, missing, last)
        self.tally.threads += 1
        self.tally.turns += len(missing)

    async def _append(self, thread: str, turns: Sequence[Turn], last: int) -> None:
        new = list(_without_holes(turns, last))
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            read = await self.store.append(self.namespace, thread, batch, last + start)
            if len(read.turns) != len(batch):
                raise Conflict(f"thread {thread!r} is being written by others; import it when they are done")


def _redacted(redactor: Redactor | None, turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns as they may be kept."""
    if redactor is None:
        return turns
    said = [redacted_said(redactor, turn.content, turn.metadata) for turn in turns]
    return [
        replace(turn, content=content, metadata=metadata)
        for turn, (content, metadata) in zip(turns, said, strict=True)
    ]


def _unusable(turns: Sequence[Turn]) -> str | None:
    """Why the turns are no thread: their numbers do not rise, or leave out more than damage does."""
    numbers = [turn.seq for turn in turns]
    if any(after <= before for before, after in pairwise(numbers)):
        return "its turns are not in the order of their numbers, each once"
    if numbers and numbers[-1] - len(numbers) > MAX_LOST:
        return f"more than {MAX_LOST:,} of its turns are missing"
    return None


def _without_holes(turns: Sequence[Turn], last: int) -> Iterator[NewTurn]:
    for turn in turns:
        for seq in range(last + 1, turn.seq):
            yield NewTurn(id=f"lost-{seq}", role="system", content=LOST, at=turn.at, metadata={"lost": True})
        yield NewTurn(id=turn.id, role=turn.role, content=turn.content, at=turn.at, metadata=turn.metadata)
        last = turn.seq


def _is_same(turn: Turn, held: Turn | None) -> bool:
    return held is not None and (turn.id, turn.role, turn.content, turn.at, dict(turn.metadata)) == (
        held.id,
        held.role,
        held.content,
        held.at,
        dict(held.metadata),
    )
