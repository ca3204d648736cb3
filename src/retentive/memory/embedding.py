"""Moving memories to the embedder in use."""

import time

from retentive.errors import InvalidInput
from retentive.events import EventType
from retentive.life.reembedded import Progress, Reembedded
from retentive.memory.base import MemoryBase
from retentive.types import UNSET, Scope, Unset


class Embedding(MemoryBase):
    """The verb that makes vectors anew."""

    async def reembed(
        self,
        *,
        user_id: str | Unset | None = UNSET,
        everyone: bool = False,
        progress: Progress | None = None,
    ) -> Reembedded:
        """Give the memories that this Memory's embedder has not embedded its vectors, while all goes on.

        Those are the ones another model embedded, and those kept while the embedder was down. They move in
        small batches, oldest first, each in one atomic change that puts the new vector in the old one's
        place; text, times and ids stay. Killed or stopped, it goes on with what is left when called again.
        Recall goes on meanwhile: a memory is found by words until it has moved.

        Args:
            user_id: whose memories; None is the namespace's own shared scope.
            everyone: the whole namespace instead, scope after scope.
            progress: called after each batch with how many are done, failed ones included, of how many.

        A report, which also says what failed and what is left. An embedder that cannot be reached ends it
        early and does not raise.

        Raises:
            InvalidInput: neither `user_id` nor `everyone=True` was passed, or both were.
            StoreError: the store cannot be read or written; what has moved stays moved.
        """
        if everyone != isinstance(user_id, Unset):
            raise InvalidInput(
                "say whose memories: reembed(user_id=...) for one user, reembed(user_id=None) for the shared "
                "scope, or reembed(everyone=True) for the whole namespace"
            )
        started = time.perf_counter()
        await self._ready()
        if isinstance(user_id, Unset):
            scopes, about = await self._store.scopes(self.namespace), Scope(self.namespace)
        else:
            about = Scope(self.namespace, user_id)
            scopes = [about]
        report = await self._engine.reembedding.move_all(scopes, progress)
        trouble = "; ".join(f"{count} memories: {reason}" for reason, count in report.failed.items())
        self._tell(EventType.MEMORY_WRITE, "reembed", about, started, [], error=trouble or None)
        return report
