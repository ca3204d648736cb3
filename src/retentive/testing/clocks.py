"""A clock that stands still until it is told to move, and ids that count."""

from datetime import UTC, datetime, timedelta
from itertools import count

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class FakeClock:
    """The time as the test sets it.

    Example:
        >>> clock = FakeClock()
        >>> clock.move(seconds=60)
        >>> clock().isoformat()
        '2026-01-01T12:01:00+00:00'
    """

    def __init__(self, start: datetime = START) -> None:
        self.now = start

    def __call__(self) -> datetime:
        """The time."""
        return self.now

    def move(self, **by: float) -> None:
        """Move it by the arguments of a timedelta: `move(days=1, seconds=-5)`."""
        self.now += timedelta(**by)


class CountingIds:
    """Ids `m00000001`, `m00000002`, ...: they sort in the order they were made."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def __call__(self) -> str:
        """The next id."""
        return f"m{next(self._numbers):08}"
