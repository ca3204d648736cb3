"""Letting go of what is not worth keeping, and making one memory of several."""

import time
from collections.abc import Sequence

from retentive import drafts
from retentive.errors import InvalidInput
from retentive.events import EventType
from retentive.life.merging import Merge
from retentive.life.reports import ConsolidateReport, Progress, PruneReport
from retentive.memory.base import MemoryBase, Told
from retentive.ranking.retention import RetentionPolicy
from retentive.types import UNSET, MemoryItem, Scope, Unset


class Upkeep(MemoryBase):
    """The verbs for jobs that run now and then."""

    async def prune(
        self,
        policy: RetentionPolicy,
        *,
        user_id: str | Unset | None = UNSET,
        everyone: bool = False,
        dry_run: bool = True,
        progress: Progress | None = None,
    ) -> PruneReport:
        """What was removed for good, as the policy says; in a dry run, which is the default, what would be.

        Expired memories go always. Memories go in batches, each in one atomic change, and older versions
        before what took their place. Killed or stopped, it goes on with what is left when called again. What
        others change meanwhile is looked at once more before it goes.

        Args:
            policy: what is let go of.
            user_id: whose memories; None is the namespace's own shared scope.
            everyone: the whole namespace instead, scope after scope.
            dry_run: remove nothing; pass False to remove.
            progress: called after each batch with how many are gone, of how many that is known of so far.

        Raises:
            InvalidInput: no policy, or neither `user_id` nor `everyone=True` was passed, or both were.
            StoreError: the store cannot be read or written; what is gone is gone.
        """
        from retentive.life.prune import Pruning

        if not isinstance(policy, RetentionPolicy):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"prune takes a RetentionPolicy, not {type(policy).__name__}")
        scopes = await self._scopes_for("prune", user_id, everyone=everyone)
        started = time.perf_counter()
        if self._uses is not None:
            await self._uses.flush()

        def told(scope: Scope, gone: Sequence[Told]) -> None:
            self._tell(EventType.MEMORY_FORGET, "prune", scope, started, gone)

        wanted = Pruning(policy=policy, dry_run=dry_run, told=told, progress=progress or _ignore)
        return await self._engine.pruner.prune(scopes, wanted)

    async def consolidate(
        self,
        *,
        user_id: str | Unset | None = UNSET,
        everyone: bool = False,
        dry_run: bool = True,
        merge: Merge | None = None,
        progress: Progress | None = None,
    ) -> ConsolidateReport:
        """What was made one memory of several; in a dry run, which is the default, what would be.

        Memories that state the same become one, in the words of the most trusted, else of the newest, with
        the highest importance and all tags of those that are trusted as much. Its `merged_from` names its
        sources, which stay as older versions: `history` tells them, `unmerge` brings them back, `prune` with
        `purge_superseded_after` lets go of them. Nothing is trusted more than before. Turns, working and
        short-term memories are left alone. Killed or stopped, it goes on with what is left when called again;
        a second run changes nothing.

        Args:
            user_id: whose memories; None is the namespace's own shared scope.
            everyone: the whole namespace instead, scope after scope.
            dry_run: change nothing; pass False to merge. No model is asked in a dry run.
            merge: says several statements as one text, or None where they belong apart: a model, such as
                `retentive.life.llm_merge.LLMMerge`. It is shown linked wordings that differ in a fact, and
                statements with their older versions, of one origin each. None merges only what is the same.
            progress: called after each scope with how many are done, of how many.

        Raises:
            InvalidInput: neither `user_id` nor `everyone=True` was passed, or both were; or `merge` gave a
                text that cannot be kept.
            StoreError: the store cannot be read or written; what is merged stays merged. What `merge` raises
                comes through.
        """
        from retentive.life.consolidate import Consolidating

        scopes = await self._scopes_for("consolidate", user_id, everyone=everyone)
        started = time.perf_counter()

        def told(scope: Scope, made: Sequence[MemoryItem]) -> None:
            self._tell(EventType.MEMORY_WRITE, "consolidate", scope, started, made)

        wanted = Consolidating(
            dry_run=dry_run, merge=merge, new_id=self._new_id, told=told, progress=progress or _ignore
        )
        return await self._engine.consolidator.consolidate(scopes, wanted)

    async def unmerge(self, memory_id: str, *, user_id: str | None = None) -> list[MemoryItem]:
        """The memories that `consolidate` made this one of, living again as they were, oldest first.

        The merged one is removed in the same change, with what was done to it since. If another statement
        superseded it meanwhile, the sources come back as older versions of that one, each for itself. What is
        gone of its sources stays gone.

        Raises:
            NotFound: the scope has no such memory, it was not made by `consolidate`, or its sources are gone.
            Conflict: `consolidate` has made it part of another memory since (unmerge that one first), or
                another memory states now what one of its sources says.
            StoreError: nothing was changed.
        """
        scope, started = Scope(self.namespace, user_id), time.perf_counter()
        await self._ready()
        items = await self._engine.unmerging.unmerge(scope, drafts.check_id(memory_id))
        self._tell(EventType.MEMORY_WRITE, "unmerge", scope, started, items)
        return items

    async def _scopes_for(self, verb: str, user_id: str | Unset | None, *, everyone: bool) -> Sequence[Scope]:
        if everyone != isinstance(user_id, Unset):
            raise InvalidInput(
                f"say whose memories: {verb}(user_id=...) for one user, {verb}(user_id=None) for the shared "
                f"scope, or {verb}(everyone=True) for the whole namespace"
            )
        await self._ready()
        if isinstance(user_id, Unset):
            return await self._store.scopes(self.namespace)
        return [Scope(self.namespace, user_id)]


def _ignore(_done: int, _total: int) -> None:
    return
