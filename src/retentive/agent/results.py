"""What a run gives: pydantic-ai's result, and what memory did for it."""

from typing import Any

from retentive.agent.report import RunReport
from retentive.events import Event
from retentive.recall import Recall
from retentive.types import MemoryItem


class WithReport:
    """Reads through to what it wraps; what memory did is beside it."""

    def __init__(self, inner: Any, report: RunReport) -> None:
        self.inner = inner
        self.report = report

    @property
    def recalled(self) -> Recall:
        """What was recalled for the run and shown to the model, best first; `degraded` says what failed."""
        return self.report.recalled

    @property
    def remembered(self) -> list[MemoryItem]:
        """The memories that were written because of the run, in order. Complete when the run has ended."""
        return list(self.report.remembered)

    @property
    def events(self) -> tuple[Event, ...]:
        """The run's reads and writes of memory, in order, and what failed."""
        return self.report.events

    def __getattr__(self, name: str) -> Any:
        if name in {"inner", "report"}:  # not there yet, as when it is being copied
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.inner!r}, {len(self.recalled)} recalled>"


class AgentResult(WithReport):
    """The result of a run: `output`, `usage`, `all_messages()` and the rest are pydantic-ai's."""

    @property
    def output(self) -> Any:
        """What the agent answered."""
        return self.inner.output


class AgentStream(WithReport):
    """A run that is being streamed: `stream_text()`, `get_output()` and the rest are pydantic-ai's."""
