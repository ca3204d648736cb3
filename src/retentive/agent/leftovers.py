"""What runs could not write, kept for the runs after them; and the queue that extracts behind them."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from retentive.agent.thread_turns import Unwritten
from retentive.drafts import NewMemory
from retentive.extraction import Backlog, Extraction, ExtractionQueue

MAX_UNSAVED: Final = 100
"""How many exchanges that could not be saved are kept in memory, over all users."""


class Leftovers:
    """Shared by all runs of a capability. `background` has memories extracted behind the runs."""

    def __init__(self, *, background: bool) -> None:
        self.unwritten = Unwritten()
        self._background = background
        self._lock = threading.Lock()
        self._extraction: Extraction | None = None
        self._unsaved: deque[tuple[str | None, NewMemory]] = deque(maxlen=MAX_UNSAVED)
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, ExtractionQueue]] = (
            WeakKeyDictionary()
        )

    def extraction(self, make: Callable[[], Extraction]) -> Extraction:
        """The extraction of runs without a thread; made once."""
        with self._lock:
            self._extraction = self._extraction or make()
            return self._extraction

    def keep_unsaved(self, user_id: str | None, new: NewMemory) -> None:
        """Keep an exchange that could not be saved; of more than `MAX_UNSAVED` the oldest is let go of."""
        with self._lock:
            self._unsaved.append((user_id, new))

    def take_unsaved(self, user_id: str | None) -> list[tuple[str | None, NewMemory]]:
        """The user's exchanges that could not be saved, oldest first; they are no longer kept here."""
        with self._lock:
            mine = [one for one in self._unsaved if one[0] == user_id]
            others = [one for one in self._unsaved if one[0] != user_id]
            self._unsaved.clear()
            self._unsaved.extend(others)
        return mine

    def enqueue(
        self, extraction: Extraction, place: str, backlog: Backlog, model: object, recalled: Sequence[str]
    ) -> bool:
        """Whether the extraction is left to the queue of a place; one that is full leaves it to the log."""
        if not self._background:
            return False
        queues = self._queues.setdefault(asyncio.get_running_loop(), {})
        queue = queues.setdefault(place, ExtractionQueue(extraction))
        queue.put(backlog, model=model, recalled=recalled)
        return True

    async def flush(self) -> None:
        """Wait until what runs on this event loop have queued has been extracted."""
        for queue in list(self._queues.get(asyncio.get_running_loop(), {}).values()):
            await queue.flush()

    async def drain(self) -> None:
        """As `flush`, and stop; what other loops have queued waits in the log."""
        for queue in self._queues.pop(asyncio.get_running_loop(), {}).values():
            await queue.drain()
