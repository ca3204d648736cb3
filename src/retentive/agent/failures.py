"""Saying loudly what memory could not do in a run that went on without it."""

import logging
import time
from dataclasses import dataclass

from retentive.agent.report import RunReport
from retentive.clock import utc_now
from retentive.events import Event, EventType
from retentive.memory import Memory
from retentive.threads import Thread
from retentive.types import Scope

_log = logging.getLogger("retentive.agent")


@dataclass(frozen=True, slots=True)
class Failure:
    """What was tried, why it failed, and for whom."""

    verb: str
    why: str
    user_id: str | None


def tell_failure(report: RunReport, memory: Memory | None, thread: Thread | None, failure: Failure) -> None:
    """Log it, and make it an event of the run: the Memory's, or where there is none, the thread's."""
    _log.error("run %s: %s failed: %s", report.run_id, failure.verb, failure.why)
    if memory is not None:
        scope = Scope(memory.namespace, failure.user_id)
        tell = memory._tell  # pyright: ignore[reportPrivateUsage]
        tell(EventType.MEMORY_FAILED, failure.verb, scope, time.perf_counter(), [], error=failure.why)
        return
    namespace = thread.namespace if thread is not None else "default"
    report.trace.add(
        Event(
            type=EventType.MEMORY_FAILED,
            verb=failure.verb,
            at=utc_now(),
            duration_ms=0.0,
            memory=namespace,
            store=thread.url if thread is not None else "",
            scope=Scope(namespace, failure.user_id),
            run=report.run_id,
            error=failure.why,
        )
    )
