"""Extraction beside the runs: a bounded queue and one task that works it off."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeAlias

from retentive import checks
from retentive.errors import InvalidInput
from retentive.extraction.backlog import Backlog
from retentive.extraction.facade import Extraction

_Name: TypeAlias = tuple[str | None, str]


@dataclass(frozen=True, slots=True)
class _Asked:
    backlog: Backlog
    model: object | None
    recalled: tuple[str, ...]
    context: Context
    """Where it was asked for: its events belong to that run, whichever run began the work."""


class ExtractionQueue:
    """Works off backlogs in the background, one at a time, in the order they came.

    A run never waits for it: where the queue is full, or the process ends, the turns stay in the log, and
    the next run of that thread, `Extraction.backlogs` or `retentive extract` finds them. A failure is told as
    an EXTRACTION_FAILED event. Use it within one event loop; `async with` drains it at the end.
    """

    def __init__(self, extraction: Extraction, *, most: int = 100) -> None:
        """A queue of at most `most` backlogs; the same backlog waits once."""
        self.extraction = extraction
        self.most = checks.check_limit("most", most)
        self._waiting: OrderedDict[_Name, _Asked] = OrderedDict()
        self._task: asyncio.Task[None] | None = None
        self._done = asyncio.Event()
        self._done.set()
        self._is_closed = False

    def put(self, backlog: Backlog, *, model: object | None = None, recalled: Sequence[str] = ()) -> bool:
        """Have it extracted soon; False if the queue is full. Never waits.

        Raises:
            InvalidInput: the queue was drained; make a new one.
        """
        if self._is_closed:
            raise InvalidInput("this ExtractionQueue was drained; make a new one")
        name = (backlog.user_id, backlog.note)
        earlier = self._waiting.get(name)
        if earlier is None and len(self._waiting) >= self.most:
            return False
        ids = dict.fromkeys((*(earlier.recalled if earlier else ()), *recalled))
        self._waiting[name] = _Asked(backlog, model, tuple(ids), copy_context())
        if self._task is None or self._task.done():
            self._done = asyncio.Event()
            self._task = asyncio.get_running_loop().create_task(self._work(), name="retentive-extraction")
        return True

    def __len__(self) -> int:
        return len(self._waiting)

    async def flush(self) -> None:
        """Wait until all that was put in is done, or has failed."""
        await self._done.wait()

    async def drain(self) -> None:
        """Take nothing more in, and wait until all is done. Harmless when drained."""
        self._is_closed = True
        await self.flush()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain()

    async def _work(self) -> None:
        try:
            while self._waiting:
                _, asked = self._waiting.popitem(last=False)
                await asyncio.get_running_loop().create_task(self._extract(asked), context=asked.context)
        finally:
            self._waiting.clear()
            self._done.set()

    async def _extract(self, asked: _Asked) -> None:
        try:
            await self.extraction.extract(asked.backlog, model=asked.model, recalled=asked.recalled)
        except Exception as error:  # noqa: BLE001 - one backlog that cannot be done must not stop the others
            self.extraction.report(asked.backlog.user_id, f"{asked.backlog.note}: {error}")
