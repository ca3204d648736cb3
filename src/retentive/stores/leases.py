"""A thread for one run at a time: waiting for what one holder has, by asking again."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import TypeAlias

from retentive.errors import Conflict

Release: TypeAlias = Callable[[], None]

_FIRST_WAIT_S = 0.001
_LONGEST_WAIT_S = 0.02


class HeldKeys:
    """Which keys are held in this process; each by one holder."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[Hashable] = set()

    def take(self, key: Hashable) -> Release | None:
        """What gives the key back, if it was free; None if somebody holds it."""
        with self._lock:
            if key in self._held:
                return None
            self._held.add(key)

        def release() -> None:
            with self._lock:
                self._held.discard(key)

        return release


@asynccontextmanager
async def held(
    take: Callable[[], Release | None], thread: str, timeout_s: float
) -> AsyncGenerator[None, None]:
    """Hold what `take` gives while the block runs, asking until it is free.

    Waiting is by asking again, so that holders may be on other event loops and in other processes. Those who
    wait get it in no particular order.

    Raises:
        Conflict: not free within `timeout_s`; `thread` is what the message calls it.
    """
    deadline = time.monotonic() + timeout_s
    wait_s = _FIRST_WAIT_S
    while (release := take()) is None:
        if time.monotonic() >= deadline:
            raise Conflict(
                f"another run holds thread {thread!r}, and did not end within {timeout_s:g} s. Nothing was "
                "written; wait for it or end it, then run again, or use another thread"
            )
        await asyncio.sleep(wait_s)
        wait_s = min(wait_s * 2, _LONGEST_WAIT_S)
    try:
        yield
    finally:
        release()
