"""Removing memories for good, with what was said in threads, and proving it."""

import time
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from retentive import drafts
from retentive.errors import InvalidInput
from retentive.events import EventType
from retentive.memory.base import MemoryBase
from retentive.names import check_name
from retentive.stores.base import ThreadStore
from retentive.types import UNSET, MemoryKind, Receipt, Scope, Unset, Verdict

if TYPE_CHECKING:
    from retentive.life.removal import Removed


class Forgetting(MemoryBase):
    """The verbs that remove.

    Where `threads` is taken it says where threads are kept: the home folder of the default store, of which
    None is the default place, as for `open_thread`; or a store. The default store is sealed and encrypted as
    this Memory is; a store is used as it is, and refused where its threads are sealed or encrypted and it is
    opened without: `memory.guards.threads(store)` gives it the guards of the Memory.
    """

    async def forget(
        self,
        memory_id: str,
        *,
        user_id: str | None = None,
        redact_source: bool = False,
        threads: ThreadStore | Path | None = None,
    ) -> Receipt:
        """Remove the memory for good: its text, words, vector, links and history, in one change.

        The memories whose place it took go with it: they are its older versions. Those that took its place
        stay. So do the exchanges of agents that only refer to it; one whose run was shown the memory, and
        that holds all its words, goes with it, and what waits to be extracted of that run. The receipt says
        what was removed; it is falsy, with no ids, when the scope has no such memory.

        With `redact_source` the turns that the memories came from are redacted first: each keeps its number,
        and says that it was redacted. Turns of another user are left alone. Summaries of their threads are
        removed, and what waits to be extracted of the runs that the memories came from.

        Raises:
            InvalidInput: the id is not text; or turns would have to be redacted, and their store cannot.
            Conflict: others kept changing what is linked to the memory, which is still there.
            StoreError: the memory is still there; turns may have been redacted. Call again.
        """
        scope, started = Scope(self.namespace, user_id), time.perf_counter()
        drafts.check_id(memory_id)
        await self._ready()
        async with self._threads(threads, wanted=redact_source) as store:
            removed = await self._engine.removal.forget(scope, memory_id, store)
        return self._tell_removed("forget", started, removed)

    async def forget_thread(
        self,
        thread: str,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        threads: ThreadStore | Path | None = None,
    ) -> Receipt:
        """Remove a thread, the memories of the scope that came from it, and how far it was extracted.

        What `consolidate` made of memories of this and of other threads is taken apart, as by `unmerge`, so
        that those of the others stay; it is removed as a whole where that cannot be done any more.

        If turns in it name another user, the thread stays, and only those that name this one are redacted.
        The thread goes first; a crash in between leaves the memories, and the same call finishes.

        Args:
            thread: the id of the thread.
            user_id: in whose scope the memories are; None is the shared one.
            namespace: the thread's; None is that of this Memory.
            threads: see the class.

        Raises:
            InvalidInput: a name is not a plain name; or turns would have to be redacted, and their store
                cannot.
            StoreError: not all is removed. Call again.
        """
        scope, started = Scope(self.namespace, user_id), time.perf_counter()
        space = check_name("namespace", self.namespace if namespace is None else namespace)
        place = space, check_name("thread id", thread)
        await self._ready()
        async with self._opened(threads) as store:
            removed = await self._engine.removal.thread(scope, place, store)
        return self._tell_removed("forget_thread", started, removed)

    async def forget_user(
        self,
        user_id: str,
        *,
        threads: ThreadStore | Path | None = None,
        also: Iterable[str] = (),
    ) -> Receipt:
        """Remove all that there is of a user, in memories and threads; one receipt for both.

        Threads are the user's when the scope's notes name them, when a turn's metadata names the user
        (`{"user_id": ...}`, as runs of agents write it), or when they are passed in `also`. They are deleted,
        unless turns in them name another user: then the turns that name this one are redacted. So are turns
        that memories came from, in threads that are not the user's. The threads looked through are those of
        this namespace, and of namespaces that the notes name.

        First it is noted what will be done, then the threads go, then in one change all memories and notes.
        After a crash or an error the same call does the rest; its receipt tells of that rest.

        Args:
            user_id: the user; for the shared scope see `clear`.
            threads: see the class.
            also: ids of more threads of this namespace that are the user's.

        Raises:
            InvalidInput: `user_id` is not one; or turns would have to be redacted, and the store cannot.
            Conflict: others kept writing into the scope.
            StoreError: not all is removed. Call again.
        """
        if user_id is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidInput("say which user; clear(user_id=None) removes the shared memories")
        if isinstance(also, str):
            raise InvalidInput("also takes a list of thread ids")
        scope, started = Scope(self.namespace, user_id), time.perf_counter()
        places = [(self.namespace, check_name("thread id", thread)) for thread in also]
        await self._ready()
        async with self._opened(threads) as store:
            removed = await self._engine.removal.user(scope, store, places)
        return self._tell_removed("forget_user", started, removed)

    async def clear(
        self,
        *,
        user_id: str | Unset | None = UNSET,
        kinds: Iterable[MemoryKind | str] | MemoryKind | str | None = None,
        everyone: bool = False,
        redact_source: bool = False,
        threads: ThreadStore | Path | None = None,
    ) -> Receipt:
        """Remove all memories of one user, or with `user_id=None` of the namespace's own shared scope.

        `kinds` removes only these and keeps the others and the notes; None is all, and the notes: what waits
        to be extracted, how far threads were, summaries. Threads stay: see `forget_user`. `everyone=True`
        clears the whole namespace, scope after scope, each in one change; the receipt is then that of all
        together, under the shared scope. Other namespaces are never touched. `redact_source` as for `forget`.

        Raises:
            InvalidInput: neither `user_id` nor `everyone=True` was passed, or both were; or `kinds` is empty;
                or turns would have to be redacted, and their store cannot.
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
        started = time.perf_counter()
        await self._ready()
        scopes = [Scope(self.namespace, user_id)] if not isinstance(user_id, Unset) else []
        if everyone:
            scopes = await self._store.scopes(self.namespace)
        ids = {scope: await self._engine.reader.ids(scope, wanted) if wanted else None for scope in scopes}
        whole = Scope(self.namespace) if everyone else None
        async with self._threads(threads, wanted=redact_source) as store:
            removed = await self._engine.removal.clear(ids, store, everyone=whole)
        return self._tell_removed("clear", started, removed)

    async def verify_forgotten(
        self, receipt: Receipt, *, threads: ThreadStore | Path | None = None
    ) -> Verdict:
        """Whether all that the receipt names is gone: truthy when all was searched and nothing was found.

        Searched are the rows, the index in memory, the links of other memories and the notes of the scope,
        and the threads that the receipt names; then, byte by byte, every file of a store that has files
        (`KeepsFiles`): database, log, journals, what was torn off, left-over temporary files, and backups
        made before a migration, which keep what was forgotten later. The verdict names each place.

        Traces of the text are needed for the files. They are in the receipt that a forget gave, for as long
        as it lives in this process. What living memories or turns say as well is not counted as found.
        Encrypted stores are searched for the bytes that lay there, and for the words. A verdict that had to
        leave something out says so (`skipped`), and is falsy: it proves nothing.

        Raises:
            InvalidInput: the receipt is of another namespace.
            StoreError: a store cannot be read.
        """
        if receipt.scope.namespace != self.namespace:
            raise InvalidInput(
                f"the receipt is of namespace {receipt.scope.namespace!r}; ask a Memory of that namespace"
            )
        await self._ready()
        async with self._opened(threads) as store:
            return await self._engine.verification.verify(receipt, store)

    def _opened(self, threads: ThreadStore | Path | None) -> AbstractAsyncContextManager[ThreadStore]:
        from retentive.life.taking_back import opened

        return opened(threads, self.guards)

    def _threads(
        self, threads: ThreadStore | Path | None, *, wanted: bool
    ) -> AbstractAsyncContextManager[ThreadStore | None]:
        return self._opened(threads) if wanted else nullcontext()

    def _tell_removed(self, verb: str, started: float, removed: "Removed") -> Receipt:
        for scope, gone in removed.gone.items():
            self._tell(EventType.MEMORY_FORGET, verb, scope, started, gone)
        return removed.receipt
