"""What memory did for one run: for the caller to read, while it goes on and afterwards."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from retentive.events import Event, Trace
from retentive.recall import Recall
from retentive.types import MemoryItem

MAX_REPORTS: Final = 256


class RunState(StrEnum):
    """How a run ended, or that it has not."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(slots=True, kw_only=True)
class RunReport:
    """What was recalled for a run, what it left behind, and what went wrong on the way.

    `remembered` are the memories written because of the run, in order: drawn from it, autosaved, or kept by
    the model's own wish. `failures` says what did not work, in words; the run went on without it, and what
    was not written is tried again at the next run.
    """

    run_id: str
    recalled: Recall
    state: RunState = RunState.RUNNING
    remembered: list[MemoryItem] = field(default_factory=list[MemoryItem])
    failures: list[str] = field(default_factory=list[str])
    trace: Trace

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of the run so far, in order; the first `events.MAX_TRACED` of them."""
        return tuple(self.trace.events)

    @property
    def recalled_ids(self) -> list[str]:
        """The ids of what was recalled, best first."""
        return [hit.id for hit in self.recalled]


class Reports:
    """The reports of the latest `MAX_REPORTS` runs, by run id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reports: OrderedDict[str, RunReport] = OrderedDict()

    def begin(self, run_id: str, conversation: str | None = None) -> RunReport:
        """A new report, kept; the oldest beyond the limit is let go of."""
        trace = Trace(run=run_id, conversation=conversation)
        report = RunReport(run_id=run_id, recalled=Recall((), query="", degraded={}), trace=trace)
        with self._lock:
            self._reports[run_id] = report
            while len(self._reports) > MAX_REPORTS:
                self._reports.popitem(last=False)
        return report

    def get(self, run_id: str | None) -> RunReport | None:
        """The report of a run; None if there is none, or it was let go of."""
        with self._lock:
            return None if run_id is None else self._reports.get(run_id)
