"""Every read and write of memories and threads, as a value that subscribers see after it happened."""

import inspect
import logging
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from retentive.errors import InvalidInput
from retentive.types import MemoryKind, Scope

MAX_TRACED: Final = 1_000
_log = logging.getLogger(__name__)


class EventType(StrEnum):
    """What happened."""

    MEMORY_READ = "memory_read"
    MEMORY_WRITE = "memory_write"
    MEMORY_FORGET = "memory_forget"
    MEMORY_FAILED = "memory_failed"
    THREAD_READ = "thread_read"
    THREAD_WRITE = "thread_write"
    EXTRACTION_FAILED = "extraction_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One finished call. It carries no text of any memory or turn; `ids` lead to them.

    `verb` is the method that was called, `ids` what it returned, wrote or removed, in its order, `kinds` and
    `scores` in the order of `ids` (scores only for reads that rank). `restated` lists the ids of a write that
    stored nothing because the memory was there already. `degraded` is the recall's. `run` is the agent run it
    was a part of, if any. `error` says what went wrong where the type is a failure: a run went on without it.

    Of a thread, `thread` is its id and `ids` are those of turns: the new ones of a write, and of a read those
    that were not known before. A thread belongs to no user, so its scope is the namespace's shared one, and
    `memory` is the namespace.
    """

    type: EventType
    verb: str
    at: datetime
    duration_ms: float
    memory: str
    store: str
    scope: Scope
    ids: tuple[str, ...] = ()
    kinds: tuple[MemoryKind, ...] = ()
    scores: tuple[float, ...] = ()
    restated: tuple[str, ...] = ()
    degraded: Mapping[str, str] = field(default_factory=dict[str, str])
    run: str | None = None
    error: str | None = None
    thread: str | None = None


@dataclass(slots=True)
class Trace:
    """What one agent run did with memories: its events in order, the first `MAX_TRACED` of them.

    `conversation` is the id of the thread that the run speaks in, or what else its caller calls the whole.
    """

    run: str
    events: list[Event] = field(default_factory=list[Event])
    conversation: str | None = None

    def add(self, event: Event) -> None:
        """Keep the event."""
        if len(self.events) < MAX_TRACED:
            self.events.append(event)


_trace: ContextVar[Trace | None] = ContextVar("retentive_trace", default=None)


def current_trace() -> Trace | None:
    """The trace of the agent run that this code is a part of; None outside of runs."""
    return _trace.get()


@contextmanager
def traced(trace: Trace) -> Generator[None, None, None]:
    """Have every event of the block, and of tasks begun in it, added to the trace and tied to its run."""
    token = _trace.set(trace)
    try:
        yield
    finally:
        _trace.reset(token)


Subscriber: TypeAlias = Callable[[Event], None]


class Subscribers:
    """Who is told. One that raises is logged and stays subscribed; the call it watched goes on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers: dict[object, Subscriber] = {}

    def __bool__(self) -> bool:
        return bool(self._subscribers)

    def add(self, subscriber: Subscriber) -> Callable[[], None]:
        """Tell this one too, after those there already. Gives a function that ends it.

        Raises:
            InvalidInput: it cannot be called, or is asynchronous and so would have to be awaited.
        """
        if not callable(subscriber) or inspect.iscoroutinefunction(subscriber):
            raise InvalidInput("a subscriber is a plain function of one event; it is not awaited")
        mark = object()
        with self._lock:
            self._subscribers = {**self._subscribers, mark: subscriber}

        def end() -> None:
            with self._lock:
                self._subscribers = {m: other for m, other in self._subscribers.items() if m is not mark}

        return end

    def tell(self, event: Event) -> None:
        """Tell all, in the order they came."""
        for subscriber in self._subscribers.values():
            try:
                subscriber(event)
            except Exception:  # noqa: BLE001 - a subscriber is the caller's code; it must not break a read or write
                _log.exception("a subscriber to memory events failed on %s", event.type)


def told_to_nobody(subscribers: Subscribers) -> bool:
    """Whether an event would be seen by no subscriber and no run, and so need not be made."""
    return not subscribers and _trace.get() is None


def tell(event: Event, subscribers: Subscribers) -> Event:
    """The event, tied to the run it is a part of, if any, after that run and all subscribers were told."""
    trace = _trace.get()
    if trace is not None:
        event = replace(event, run=trace.run)
        trace.add(event)
    subscribers.tell(event)
    return event
