"""Taking memories and threads out as one file, and in again."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from retentive.archive.report import ExportReport, ImportReport, Tally
from retentive.errors import InvalidInput
from retentive.events import EventType
from retentive.memory.base import MemoryBase
from retentive.names import check_name
from retentive.stores.base import ThreadStore
from retentive.types import UNSET, MemoryItem, Scope, Unset


class Portability(MemoryBase):
    """The verbs that move data between stores and programs."""

    async def export(
        self,
        target: str | Path | BinaryIO,
        *,
        user_id: str | Unset | None = UNSET,
        threads: ThreadStore | None = None,
        thread_ids: Iterable[str] | None = None,
        vectors: bool = False,
    ) -> ExportReport:
        """Write an archive of this namespace: memories with their history, and threads with their turns.

        Expired memories are left out, superseded ones are in it. The same data give the same bytes. Memories
        written or forgotten meanwhile may be in it or not, each wholly. A path is replaced when all is
        written; before that it is as it was.

        Args:
            target: a path, or a file open for writing bytes.
            user_id: only this user's memories; None is the shared scope's. Left out, all of the namespace.
            threads: where threads are kept; None leaves threads out.
            thread_ids: only these threads; None is all. A thread belongs to no user, so with `user_id` they
                must be named.
            vectors: keep the vectors too: larger, but an import with the same embedder need not make them.

        Raises:
            InvalidInput: an argument cannot be used.
            StoreUnavailable: the file cannot be written.
            StoreError: the store cannot be read.
        """
        from retentive.archive.exporting import Export, export_to

        started = time.perf_counter()
        scopes = None if isinstance(user_id, Unset) else [Scope(self.namespace, user_id)]
        if thread_ids is not None and (threads is None or isinstance(thread_ids, str)):
            raise InvalidInput("thread_ids is a list of threads; pass threads=, where they are kept, with it")
        if threads is not None and thread_ids is None and scopes is not None:
            raise InvalidInput("with user_id, name the threads too: thread_ids=[...]; a thread has no user")
        named = None if thread_ids is None else [check_name("thread id", name) for name in thread_ids]
        await self._ready()
        if named is None:
            named = await threads.threads(self.namespace) if threads is not None else []
        wanted = Export(
            namespace=self.namespace,
            store=self._store,
            scopes=scopes or await self._store.scopes(self.namespace),
            threads=threads,
            thread_ids=named,
            vectors=vectors,
            now=self._clock(),
        )

        def told(scope: Scope, items: Sequence[MemoryItem]) -> None:
            self._tell(EventType.MEMORY_READ, "export", scope, started, items)

        return await export_to(target, wanted, told)

    async def import_(  # noqa: PLR0913 - the parts of an import
        self,
        source: str | Path | BinaryIO,
        *,
        format: str | None = None,
        user_id: str | Unset | None = UNSET,
        threads: ThreadStore | None = None,
        trust_origins: bool = True,
        dry_run: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> ImportReport:
        """Take an archive, or what another program exported, into this namespace; gives what came of it.

        An archive keeps ids, keys, times, history and turn numbers. Nothing that is here is changed: a memory
        or thread that is here already is left, one that is here but differs is refused. So a second import of
        the same file changes nothing, and completes a first that was cut short. An archive is checked wholly
        before anything is written. What other programs export gets the origin "imported".

        Args:
            source: a path, or an open binary file that can seek.
            format: archive, mem0, mcp, langgraph, chatgpt, claude or claude-code; None finds out.
            user_id: give all memories to this user, None to the shared scope; refused where they belong to
                several. Left out, each stays with its user, and those of nobody go to the shared scope.
            threads: where to keep threads; sealed and encrypted as this Memory is. None leaves those of an
                archive out, and refuses conversations.
            trust_origins: believe what an archive says of who said what. Its hashes show damage, not who made
                it: pass False for one from somebody else, and every memory gets the origin "imported".
            dry_run: write nothing. What only the store can tell, such as a text that another memory states
                already, is not known then and counts as imported.
            progress: called with how many records were done since the last call.

        Raises:
            ArchiveCorrupt, ArchiveTooNew: nothing was written.
            InvalidInput: an argument or the file cannot be used; nothing was written.
            EmbedderError, StoreError: what came before was written; import again to complete it.
        """
        from retentive.archive.accepting import accept
        from retentive.archive.foreign import Remembering
        from retentive.archive.importing import Into
        from retentive.archive.intake import Intake
        from retentive.archive.thread_intake import ThreadIntake

        started = time.perf_counter()
        if not isinstance(user_id, Unset):
            Scope(self.namespace, user_id)  # refuses what nobody can be called
        await self._ready()
        tally, redactor = Tally(), self.redactor

        def told(scope: Scope, items: Sequence[MemoryItem], restated: tuple[str, ...]) -> None:
            self._tell(EventType.MEMORY_WRITE, "import_", scope, started, items, restated=restated)

        into = Into(
            namespace=self.namespace,
            user_id=user_id,
            trust_origins=trust_origins,
            intake=Intake(
                store=self._store,
                embedder=self._engine.embedder,
                clock=self._clock,
                tally=tally,
                dry_run=dry_run,
                redactor=redactor,
            ),
            threads=None
            if threads is None
            else ThreadIntake(
                store=self.guards.threads(threads),
                namespace=self.namespace,
                tally=tally,
                dry_run=dry_run,
                redactor=redactor,
            ),
            told=told,
            progress=progress or _ignore,
        )
        remembering = Remembering(writer=self._engine.writer, lifetimes=self._lifetimes, new_id=self._new_id)
        return tally.report(await accept(source, format, into, remembering), dry_run=dry_run)


def _ignore(_: int) -> None:
    return
