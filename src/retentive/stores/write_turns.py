"""Who writes next: one at a time for each scope or thread, in the order of the calls, in each event loop."""

import asyncio
import threading
from collections.abc import Hashable
from typing import Final
from weakref import WeakKeyDictionary

MAX_LOCKS: Final = 10_000


class WriteTurns:
    """A lock a key and event loop; between loops and processes the store decides who came first."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._of: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, asyncio.Lock]] = (
            WeakKeyDictionary()
        )

    def turn(self, key: Hashable) -> asyncio.Lock:
        """The lock to hold while writing there."""
        with self._guard:
            locks = self._of.setdefault(asyncio.get_running_loop(), {})
            if len(locks) > MAX_LOCKS:
                for other in [other for other, lock in locks.items() if not lock.locked()]:
                    del locks[other]
            return locks.setdefault(key, asyncio.Lock())
