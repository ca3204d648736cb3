"""Taking times: medians of many calls, and two rivals in turn so that both meet the same machine."""

import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from rich.progress import track

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Times:
    """Durations in seconds, one a call or one a block of calls; of calls also the processor time of each."""

    each: Sequence[float]
    busy: Sequence[float] = ()

    @property
    def median(self) -> float:
        return statistics.median(self.each)

    @property
    def busy_note(self) -> str:
        """The processor time of a call: what is left of its duration on a machine without other work."""
        return f"{statistics.median(self.busy) * 1e3:.2g} ms of processor time"

    @property
    def p95(self) -> float:
        return float(np.percentile(self.each, 95))


def over(values: Iterable[T], what: str) -> Iterable[T]:
    """The values, with a progress bar that is gone at the end."""
    return track(list(values), description=f"{what:<44}", transient=True)


async def time_each(call: Callable[[T], Awaitable[object]], values: Sequence[T], what: str) -> Times:
    """How long each call takes."""
    took: list[float] = []
    busy: list[float] = []
    for value in over(values, what):
        started, busy_before = time.perf_counter(), time.process_time()
        await call(value)
        took.append(time.perf_counter() - started)
        busy.append(time.process_time() - busy_before)
    return Times(took, busy)


async def time_in_turn(
    ours: Callable[[int], Awaitable[object]], bare: Callable[[int], Awaitable[object]], blocks: int, what: str
) -> tuple[Times, Times, Times]:
    """Seconds of a block of ours, of a block of the bare rival, and bare / ours for each pair of blocks.

    Which of the two goes first alternates; the first pair is a rehearsal and does not count.
    """
    pairs: list[tuple[float, float]] = []
    for block in over(range(blocks + 1), what):
        took = [0.0, 0.0]
        for which in (0, 1) if block % 2 else (1, 0):
            started = time.perf_counter()
            await (ours, bare)[which](block)
            took[which] = time.perf_counter() - started
        pairs.append((took[0], took[1]))
    del pairs[0]
    return (
        Times([our for our, _ in pairs]),
        Times([its for _, its in pairs]),
        Times([its / our for our, its in pairs]),
    )
