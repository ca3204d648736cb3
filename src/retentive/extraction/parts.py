"""What extraction needs of a Memory beyond its verbs."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from retentive.clock import Clock
from retentive.events import Event, EventType, tell, told_to_nobody
from retentive.memory import Memory
from retentive.types import Scope, Turn


@dataclass(frozen=True, slots=True)
class Parts:
    """A Memory as its own extraction sees it: also its clock and its subscribers."""

    memory: Memory

    @property
    def clock(self) -> Clock:
        """The Memory's clock."""
        return self.memory._clock  # pyright: ignore[reportPrivateUsage]

    def tell_failure(self, scope: Scope, why: str) -> None:
        """Tell the run, if any, and the Memory's subscribers that an extraction failed."""
        tell(
            Event(
                type=EventType.EXTRACTION_FAILED,
                verb="extract",
                at=self.clock(),
                duration_ms=0.0,
                memory=self.memory.name,
                store=self.memory._store.url,  # pyright: ignore[reportPrivateUsage]
                scope=scope,
                degraded={"extraction": why},
                error=why,
            ),
            self.memory._subscribers,  # pyright: ignore[reportPrivateUsage]
        )

    def tell_thread_read(
        self, store: str, place: tuple[str, str], started: float, turns: Sequence[Turn]
    ) -> None:
        """Tell the run, if any, and the Memory's subscribers that turns of a thread were read."""
        subscribers = self.memory._subscribers  # pyright: ignore[reportPrivateUsage]
        if told_to_nobody(subscribers):
            return
        namespace, thread = place
        tell(
            Event(
                type=EventType.THREAD_READ,
                verb="extract",
                at=self.clock(),
                duration_ms=(time.perf_counter() - started) * 1000,
                memory=namespace,
                store=store,
                scope=Scope(namespace),
                ids=tuple(turn.id for turn in turns),
                thread=thread,
            ),
            subscribers,
        )
