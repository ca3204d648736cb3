"""Memory that ends with the run that wrote it."""

import asyncio
import itertools
import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Final, Self

from retentive import checks
from retentive.errors import RetentiveError, StoreClosed
from retentive.memory.forgetting import Forgetting
from retentive.memory.reading import Reading
from retentive.memory.writing import Writing
from retentive.recall import Recall
from retentive.types import MemoryItem, MemoryKind, Origin

RUN_TAG: Final = "run:"
MAX_RUN_CHARS: Final = checks.MAX_TAG_CHARS - len(RUN_TAG)
_PAGE: Final = 1_000
_log = logging.getLogger(__name__)
_starts = itertools.count()
_endings: set["asyncio.Task[int]"] = set()


class Working(Writing, Reading, Forgetting):
    """The verb that begins a run's own memory."""

    def working(
        self, run_id: str, *, user_id: str | None = None, ttl: timedelta | None = None
    ) -> "WorkingMemory":
        """What one run keeps for itself; use it in an `async with` block, at whose end it is forgotten.

        An agent opens one around a run, with the run's id, and gives the run's tools its `remember` and
        `recall`; a run that is streamed closes it when the stream ends or is left.

        The same `run_id` in another process gives the memory of the same run. What a crash leaves behind
        expires by its lifetime: `ttl`, else the Memory's lifetime of working memories, an hour.

        Raises:
            InvalidInput: `run_id` is not a plain text of up to 124 characters.

        Example:
            >>> import asyncio
            >>> from retentive import Memory
            >>> async def main():
            ...     async with Memory(store="memory://") as memory:
            ...         async with memory.working("run-1", user_id="ann") as working:
            ...             _ = await working.remember("The third of five files is done.")
            ...             during = await memory.count(user_id="ann")
            ...         return during, await memory.count(user_id="ann")
            >>> asyncio.run(main())
            (1, 0)
        """
        run_id = checks.check_label("run_id", run_id, max_chars=MAX_RUN_CHARS)
        # A start of its own sets a run's memories apart from equal ones of other runs: those that hold for
        # different times never restate each other.
        began = self._clock() - timedelta(microseconds=next(_starts) % 1_000_000)
        return WorkingMemory(self, run_id, user_id, began, ttl)


class WorkingMemory:
    """The working memories of one run. Made by `Memory.working`; safe to use from several tasks."""

    def __init__(
        self, memory: Working, run_id: str, user_id: str | None, began: datetime, ttl: timedelta | None
    ) -> None:
        self.run_id = run_id
        self.user_id = user_id
        self._memory = memory
        self._tag = f"{RUN_TAG}{run_id}"
        self._began = began
        self._ttl = ttl
        self._writing: set[asyncio.Task[MemoryItem]] = set()
        self._ended = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Forget it all, also after a failure or a cancellation; a store that fails is logged, not raised."""
        try:
            await self.end()
        except RetentiveError as failure:
            _log.warning("run %s: its working memory stays until it expires: %s", self.run_id, failure)

    async def remember(
        self,
        content: str,
        *,
        importance: float = 0.5,
        tags: Iterable[str] = (),
        metadata: Mapping[str, object] | None = None,
        origin: Origin | str = Origin.ASSISTANT,
    ) -> MemoryItem:
        """The memory, durable until the run ends; tagged `run:` and the run's id. See `Memory.remember`.

        Raises:
            InvalidInput, EmbedderError, StoreError: nothing was written.
            StoreClosed: the run has ended.
        """
        if self._ended:
            raise StoreClosed(f"run {self.run_id!r} has ended; begin a new one with memory.working()")
        writing = asyncio.ensure_future(
            self._memory.remember(
                content,
                user_id=self.user_id,
                kind=MemoryKind.WORKING,
                importance=importance,
                tags=[self._tag, *checks.check_tags(tags)],
                metadata=metadata,
                valid_from=self._began,
                ttl=self._ttl,
                origin=origin,
            )
        )
        self._writing.add(writing)
        writing.add_done_callback(self._written)
        return await asyncio.shield(writing)

    def _written(self, writing: "asyncio.Task[MemoryItem]") -> None:
        self._writing.discard(writing)
        if not writing.cancelled():
            writing.exception()  # looked at, or asyncio reports it where the caller was cancelled

    async def recall(self, query: str, *, limit: int = 10) -> Recall:
        """What of this run bears on the query, best first. See `Memory.recall`.

        Raises:
            InvalidInput, StoreError: as `Memory.recall`.
        """
        return await self._memory.recall(
            query, user_id=self.user_id, kinds=MemoryKind.WORKING, tags=[self._tag], limit=limit
        )

    async def items(self) -> list[MemoryItem]:
        """All that this run keeps, oldest first.

        Raises:
            StoreError: the store cannot be read.
        """
        found: list[MemoryItem] = []
        after: str | None = None
        while True:
            page = await self._memory.list(
                user_id=self.user_id, kinds=MemoryKind.WORKING, tags=[self._tag], limit=_PAGE, after=after
            )
            found += page.items
            after = page.next
            if after is None:
                return found[::-1]

    async def end(self) -> int:
        """How many memories were forgotten: all of the run. Later calls find none.

        It goes on if the caller is cancelled meanwhile; writes that are on their way are waited for.

        Raises:
            StoreError: some may be left; call again, or let them expire.
        """
        self._ended = True
        ending = asyncio.ensure_future(self._forget_all())
        _endings.add(ending)
        ending.add_done_callback(_endings.discard)
        return await asyncio.shield(ending)

    async def _forget_all(self) -> int:
        await asyncio.gather(*self._writing, return_exceptions=True)
        items = await self.items()
        receipts = await asyncio.gather(
            *(self._memory.forget(item.id, user_id=self.user_id) for item in items)
        )
        return sum(map(bool, receipts))

    def __repr__(self) -> str:
        ended = ", ended" if self._ended else ""
        return f"<WorkingMemory of run {self.run_id!r}{ended}>"
