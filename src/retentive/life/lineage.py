"""How one memory takes another's place, and which memories are versions of one statement. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from retentive.errors import Conflict, NotFound, NotTrusted, RetentiveError
from retentive.ranking.features import features, pack
from retentive.stores.base import StoredMemory
from retentive.trust import may_replace
from retentive.types import MemoryItem
from retentive.writes import has_expired


def holds_since(new: MemoryItem, now: datetime) -> datetime:
    """When the old one ends and the new one begins: `valid_from`, else `occurred_at`, else now."""
    return new.valid_from or new.occurred_at or now


def ended(old: MemoryItem, successor: str, since: datetime | None, now: datetime) -> MemoryItem:
    """The old memory once another took its place.

    It ends at `since`, unless it ended before; if it had not begun by then it never held: it ends where it
    begins. With `since` None the successor says the same for all time, and the old one has no end of its own.
    """
    end = since
    if since is not None:
        end = min(since, old.valid_until) if old.valid_until else since
        end = max(end, old.valid_from) if old.valid_from else end
    return replace(
        old,
        superseded_by=successor,
        superseded_at=now,
        planned_until=old.valid_until,
        valid_until=end,
        updated_at=later(old, now),
    )


def later(item: MemoryItem, now: datetime) -> datetime:
    """The `updated_at` of a change made now: later than the one before, whatever the clock says."""
    return max(now, item.updated_at + timedelta(microseconds=1))


def relinked(stored: StoredMemory, item: MemoryItem) -> StoredMemory:
    """The stored memory with other links, as text and vector stay what they were."""
    text_key = None if item.superseded_by is not None else stored.text_key
    return replace(stored, item=item, text_key=text_key, packed=pack(features(item)))


def refusal(
    old_id: str, old: MemoryItem | None, new: Sequence[MemoryItem], now: datetime
) -> RetentiveError | None:
    """Why the old one's place cannot be taken by a statement made in `new`; None if it can.

    `new` are the statement as it came and the memory that states it, which may be the same. NotFound: there
    is no such memory or it has expired. Conflict: another one took its place already. NotTrusted: a less
    trusted origin.
    """
    if old is None or has_expired(old, now):
        return NotFound(f"no memory {old_id!r} in this scope")
    if old.superseded_by is not None:
        return Conflict(
            f"memory {old_id!r} was superseded by {old.superseded_by!r} already: supersede that one"
        )
    if distrusted := [item for item in new if not may_replace(item, old)]:
        return NotTrusted(
            f"memory {old_id!r} was said by the {old.origin}: what comes from {distrusted[0].origin} cannot "
            "supersede it; remember it beside, or pass the origin of who really said it"
        )
    return None


def head(memory_id: str, successors: Mapping[str, str]) -> str:
    """The latest version of the memory: itself, or the end of the line of its successors, there or not."""
    seen = {memory_id}
    while (following := successors.get(memory_id)) is not None and following not in seen:
        seen.add(following)
        memory_id = following
    return memory_id


def older_versions(ids: Iterable[str], successors: Mapping[str, str]) -> list[str]:
    """The memories whose place these took, and theirs in turn; without these themselves, each once."""
    predecessors: dict[str, list[str]] = {}
    for old, new in successors.items():
        predecessors.setdefault(new, []).append(old)
    waiting, found = list(ids), dict.fromkeys(ids)
    given = len(found)
    while waiting:
        for old in predecessors.get(waiting.pop(), ()):
            if old not in found:
                found[old] = None
                waiting.append(old)
    return list(found)[given:]


def older_versions_first(ids: Iterable[str], successors: Mapping[str, str]) -> list[str]:
    """These and all their older versions, each once, an older version before what took its place."""
    predecessors: dict[str, list[str]] = {}
    for old, new in successors.items():
        predecessors.setdefault(new, []).append(old)
    found: dict[str, None] = {}
    for asked in ids:
        waiting, line = [asked], dict[str, None]()
        while waiting:
            one = waiting.pop()
            if one not in found and one not in line:
                line[one] = None
                waiting += sorted(predecessors.get(one, ()))
        found |= dict.fromkeys(reversed(line))
    return list(found)


def in_order(versions: Iterable[MemoryItem]) -> list[MemoryItem]:
    """The versions of one statement, the one that was replaced first first, the latest last."""
    items = {item.id: item for item in versions}
    successors = {item.id: item.superseded_by for item in items.values() if item.superseded_by}
    return sorted(items.values(), key=lambda item: (-_steps(item.id, successors), item.created_at, item.id))


def _steps(memory_id: str, successors: Mapping[str, str]) -> int:
    seen: set[str] = set()
    while (following := successors.get(memory_id)) is not None and memory_id not in seen:
        seen.add(memory_id)
        memory_id = following
    return len(seen)
