"""Removing memories for good."""

import time
from collections.abc import Iterable, Sequence

from retentive import drafts
from retentive.errors import InvalidInput
from retentive.events import EventType
from retentive.memory.base import MemoryBase
from retentive.receipts import receipt_of
from retentive.types import UNSET, MemoryKind, Receipt, Scope, Unset


class Forgetting(MemoryBase):
    """The verbs that remove."""

    async def forget(self, memory_id: str, *, user_id: str | None = None) -> Receipt:
        """Remove the memory for good: its text, words, vector, links and history, in one change.

        The memories whose place it took go with it: they are its older versions. Those that took its place
        stay. The receipt says what was removed; it is falsy, with no ids, when the scope has no such memory.

        Raises:
            InvalidInput: the id is not text.
            StoreError: nothing was removed.
        """
        return await self._forget("forget", Scope(self.namespace, user_id), [drafts.check_id(memory_id)])

    async def clear(
        self,
        *,
        user_id: str | Unset | None = UNSET,
        kinds: Iterable[MemoryKind | str] | MemoryKind | str | None = None,
        everyone: bool = False,
    ) -> Receipt:
        """Remove all memories of one user, or with `user_id=None` of the namespace's own shared scope.

        `kinds` removes only these and keeps the others; None is all. `everyone=True` clears the whole
        namespace, scope after scope; the receipt is then that of all together, under the shared scope. Other
        namespaces are never touched.

        Raises:
            InvalidInput: neither `user_id` nor `everyone=True` was passed, or both were; or `kinds` is empty.
            StoreError: scopes already cleared stay cleared, each wholly or not at all.
        """
        if everyone != isinstance(user_id, Unset):
            raise InvalidInput(
                "say whose memories: clear(user_id=...) for one user, clear(user_id=None) for the shared "
                "scope, or clear(everyone=True) for the whole namespace"
            )
        wanted = drafts.check_filters(kinds=kinds).kinds
        if kinds is not None and not wanted:
            raise InvalidInput("kinds is empty: nothing would be removed; leave it out to remove all kinds")
        await self._ready()
        scopes = (
            await self._store.scopes(self.namespace)
            if isinstance(user_id, Unset)
            else [Scope(self.namespace, user_id)]
        )
        receipts = [
            await self._forget("clear", scope, await self._engine.reader.ids(scope, wanted), history=False)
            for scope in scopes
        ]
        return self._together(receipts) if everyone else receipts[0]

    def _together(self, receipts: Sequence[Receipt]) -> Receipt:
        removed: dict[str, int] = {}
        for receipt in receipts:
            for place, number in receipt.removed.items():
                removed[place] = removed.get(place, 0) + number
        ids = tuple(memory_id for receipt in receipts for memory_id in receipt.ids)
        return Receipt(scope=Scope(self.namespace), at=self._clock(), ids=ids, removed=removed)

    async def _forget(self, verb: str, scope: Scope, ids: Sequence[str], *, history: bool = True) -> Receipt:
        started = time.perf_counter()
        await self._ready()
        done = await self._engine.histories.forget(scope, ids, history=history)
        self._tell(EventType.MEMORY_FORGET, verb, scope, started, [stored.item for stored in done.gone])
        return receipt_of(scope, done.gone, self._clock(), history=done.history)
