"""From a batch and what is stored now to one change of the store. Pure: everything was read before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from retentive import drafts
from retentive.errors import NotFound, RetentiveError
from retentive.life.batch import Applied, Batch
from retentive.life.lineage import ended, holds_since, later, refusal, relinked
from retentive.ranking.dedupe import text_key
from retentive.ranking.restatement import other_use
from retentive.stores.base import Changes, StoredMemory
from retentive.trust import may_replace
from retentive.types import MemoryItem, Scope
from retentive.writes import has_expired


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a plan stands on.

    `items` are the new memories and `settled` what states each now: itself, an earlier one of the batch, or
    one that is stored. `stored` holds by id what was read, `edited` the edited memories as they would be,
    `stale` the expired ones that stand in the way.
    """

    items: Sequence[MemoryItem]
    settled: Sequence[MemoryItem]
    stored: Mapping[str, StoredMemory]
    edited: Mapping[str, StoredMemory]
    stale: Sequence[str]


class Plan:
    """What a batch comes to.

    Raises:
        NotFound, Conflict, NotTrusted: a memory cannot be superseded or edited, and the batch is not lenient.
    """

    def __init__(self, batch: Batch, known: Known, now: datetime) -> None:
        self._batch = batch
        self._known = known
        self._now = now
        self._updates: dict[str, StoredMemory] = {}
        self._fresh = {
            settled.id: settled
            for item, settled in zip(known.items, known.settled, strict=True)
            if item.id == settled.id
        }
        self._superseded: list[str] = []
        self._refused: dict[str, str] = {}
        self._edit()
        self._supersede()
        self._prolong()

    @property
    def fresh(self) -> dict[str, MemoryItem]:
        """The memories to insert, by id."""
        return self._fresh

    def changes(self, scope: Scope, inserts: Sequence[StoredMemory]) -> Changes:
        """The change, with the memories to insert as they are to be stored."""
        stored = self._known.stored
        return Changes(
            scope=scope,
            deletes=self._known.stale,
            updates=list(self._updates.values()),
            inserts=inserts,
            unchanged={id: stored[id].item.updated_at for id in self._updates},
            notes=self._batch.notes,
            expected=self._batch.expected,
            whole=True,
        )

    def applied(self, inserts: Sequence[StoredMemory]) -> Applied:
        """What came of the batch once the change is written."""
        now = {id: update.item for id, update in self._updates.items()}
        now |= {insert.item.id: insert.item for insert in inserts}
        settled = self._known.settled
        pairs = zip(self._known.items, settled, strict=True)
        return Applied(
            items=[now.get(item.id, item) for item in settled],
            restated=tuple(old.id for item, old in pairs if item.id != old.id),
            superseded=[now[id] for id in self._superseded],
            edited=[now[id] for id in self._known.edited if id in now],
            refused=self._refused,
        )

    def _edit(self) -> None:
        for id in self._batch.edits:
            if id in self._known.edited:
                self._updates[id] = self._known.edited[id]
            else:
                self._refuse(id, NotFound(f"no memory {id!r} in this scope"))

    def _supersede(self) -> None:
        for places, for_all_time in ((self._batch.supersedes, False), (self._batch.merges, True)):
            for place, olds in places.items():
                for old_id in olds:
                    self._take_place(place, old_id, for_all_time=for_all_time)

    def _take_place(self, place: int, old_id: str, *, for_all_time: bool) -> None:
        item, settled = self._known.items[place], self._known.settled[place]
        old = self._current(old_id)
        if old is not None and settled.id in (old_id, old.item.superseded_by):
            return
        reason = refusal(old_id, old.item if old else None, (item, settled), self._now)
        if old is None or reason is not None:
            self._refuse(old_id, reason)
            return
        since = None if for_all_time else holds_since(item, self._now)
        self._updates[old_id] = relinked(old, ended(old.item, settled.id, since, self._now))
        self._superseded.append(old_id)
        self._link(settled.id, old_id, since)

    def _link(self, new_id: str, old_id: str, since: datetime | None) -> None:
        """Let the new memory say whose place it took, and since when it holds if it is not stored yet."""
        fresh = self._fresh.get(new_id)
        if fresh is not None:
            near = None if fresh.near == old_id else fresh.near
            linked = replace(
                fresh, supersedes=fresh.supersedes or old_id, valid_from=since or fresh.valid_from, near=near
            )
            drafts.check_validity(linked)
            self._fresh[new_id] = linked
            return
        successor = self._updates.get(new_id) or self._known.stored[new_id]
        item = successor.item
        linked = replace(item, supersedes=item.supersedes or old_id, updated_at=later(item, self._now))
        self._updates[new_id] = relinked(successor, linked)

    def _prolong(self) -> None:
        """Let what is stated again live as long as the new statement would have, if trusted as much."""
        for item, settled in zip(self._known.items, self._known.settled, strict=True):
            current = self._current(settled.id) if settled.id not in self._fresh else None
            if current is None or current.item.expires_at is None or not may_replace(item, current.item):
                continue
            if item.expires_at is None or item.expires_at > current.item.expires_at:
                longer = replace(
                    current.item, expires_at=item.expires_at, updated_at=later(current.item, self._now)
                )
                self._updates[settled.id] = relinked(current, longer)

    def _current(self, id: str) -> StoredMemory | None:
        return self._updates.get(id) or self._known.stored.get(id)

    def _refuse(self, id: str, reason: RetentiveError | None) -> None:
        if reason is None:
            return
        if not self._batch.lenient:
            raise reason
        self._refused[id] = str(reason)


def version_that_says(
    stored: Mapping[str, StoredMemory], old_id: str, item: MemoryItem, key: str | None
) -> MemoryItem | None:
    """The old memory or the one that took its place already, if it says this in the same words.

    Or the one that took its place if it has the key: the same call again. No vector is needed to see that.

    Raises:
        Conflict: the key is that one's, and was used for another statement.
    """
    old = stored.get(old_id)
    if old is None or has_expired(old.item, item.created_at):
        return None
    if old.text_key is not None and (old.item.kind, old.text_key) == (item.kind, drafts.key_of(item)):
        return old.item
    successor = stored.get(old.item.superseded_by or "")
    if successor is None or has_expired(successor.item, item.created_at):
        return None
    again = key is not None and successor.key == key
    refused = other_use(item, key, successor.item) if again else None
    if refused is not None:
        raise refused
    lives = successor.item.superseded_by is None
    same = text_key(successor.item.content) == text_key(item.content)
    return successor.item if again or (lives and same) else None
