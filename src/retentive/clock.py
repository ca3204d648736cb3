"""Where time and ids come from; both are passed in, so tests can hold them still."""

import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
NewId: TypeAlias = Callable[[], str]

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]


def utc_now() -> datetime:
    """The time, aware and in UTC."""
    return datetime.now(UTC)


class TimeOrderedIds:
    """Ids of 26 characters that sort by when they were made, strictly so within a process.

    48 bits of milliseconds and 80 random bits in Crockford's base 32, as ULID does
    (https://github.com/ulid/spec); within a millisecond the last id is counted up.
    """

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> str:
        """The next id, greater than all before it."""
        if self._process != os.getpid():  # a fork would count on from where its parent does
            self._start()
        now_ms = time.time_ns() // 1_000_000
        with self._lock:
            if now_ms > self._last >> 80:
                self._last = now_ms << 80 | int.from_bytes(os.urandom(10), "big")
            else:
                self._last += 1
            number = self._last
        pairs: list[str] = []
        for _ in range(13):
            number, pair = divmod(number, 1_024)
            pairs.append(_PAIRS[pair])
        return "".join(reversed(pairs))


new_id: NewId = TimeOrderedIds()
