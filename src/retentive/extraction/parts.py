"""What extraction needs of a Memory beyond its verbs."""

from dataclasses import dataclass

from retentive.clock import Clock
from retentive.events import Event, EventType
from retentive.memory import Memory
from retentive.types import Scope


@dataclass(frozen=True, slots=True)
class Parts:
    """A Memory as its own extraction sees it: also its clock and its subscribers."""

    memory: Memory

    @property
    def clock(self) -> Clock:
        """The Memory's clock."""
        return self.memory._clock  # pyright: ignore[reportPrivateUsage]

    def tell_failure(self, scope: Scope, why: str) -> None:
        """Tell the Memory's subscribers that an extraction failed."""
        self.memory._subscribers.tell(  # pyright: ignore[reportPrivateUsage]
            Event(
                type=EventType.EXTRACTION_FAILED,
                verb="extract",
                at=self.clock(),
                duration_ms=0.0,
                memory=self.memory.name,
                store=self.memory._store.url,  # pyright: ignore[reportPrivateUsage]
                scope=scope,
                degraded={"extraction": why},
            )
        )
