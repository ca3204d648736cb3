"""Every read and write of memory, as a value that subscribers see after it happened."""

import inspect
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from retentive.errors import InvalidInput
from retentive.types import MemoryKind, Scope

_log = logging.getLogger(__name__)


class EventType(StrEnum):
    """What happened."""

    MEMORY_READ = "memory_read"
    MEMORY_WRITE = "memory_write"
    MEMORY_FORGET = "memory_forget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One finished call. It carries no text of any memory; `ids` lead to them.

    `verb` is the method that was called, `ids` what it returned, wrote or removed, in its order, `kinds` and
    `scores` in the order of `ids` (scores only for reads that rank). `restated` lists the ids of a write that
    stored nothing because the memory was there already. `degraded` is the recall's.
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
