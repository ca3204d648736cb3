"""The exchanges of agents that hold what a memory said: they go when the memory is forgotten."""

from collections.abc import Sequence

from retentive.indexes import ScopeIndexes
from retentive.life.erase import AT_ONCE
from retentive.ranking.echo import says_words_of
from retentive.ranking.filters import of_kinds
from retentive.stores.base import MemoryStore
from retentive.types import MemoryItem, MemoryKind, Scope

RECALLED = "recalled"
"""In an exchange's metadata: the ids of the memories that the run was shown."""


async def exchanges_with(
    store: MemoryStore, indexes: ScopeIndexes, scope: Scope, ids: Sequence[str]
) -> list[str]:
    """The ids of episodic memories whose `metadata["recalled"]` names one of these and that say its words.

    A run that was shown a memory may have said it in words of its own, so the order of the words does not
    count. An exchange that only refers to the memory (`[memory <id>]`) stays.
    """
    forgotten = [got.item for got in await store.get(scope, ids) if got is not None]
    if not forgotten:
        return []
    view = await indexes.view(scope)
    rows = of_kinds(view, frozenset({MemoryKind.EPISODIC})).nonzero()[0].tolist()
    episodes = [view.ids[row] for row in rows]
    found: list[str] = []
    for start in range(0, len(episodes), AT_ONCE):
        got = await store.get(scope, episodes[start : start + AT_ONCE])
        found += [one.item.id for one in got if one is not None and _holds_one(one.item, forgotten)]
    return [id for id in found if id not in ids]


def _holds_one(exchange: MemoryItem, forgotten: Sequence[MemoryItem]) -> bool:
    recalled = exchange.metadata.get(RECALLED)
    if not isinstance(recalled, list):
        return False
    return any(one.id in recalled and says_words_of(exchange.content, one.content) for one in forgotten)
