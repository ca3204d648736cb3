"""What every part of a Memory stands on: its store, its clock, and telling of what happened."""

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from retentive.clock import Clock, NewId, new_id, utc_now
from retentive.drafts import DEFAULT_LIFETIMES, Lifetimes
from retentive.encryption import EncryptionOption
from retentive.errors import StoreClosed
from retentive.events import Event, EventType, Subscriber, Subscribers, current_trace
from retentive.home import home
from retentive.integrity import IntegrityOption
from retentive.memory.guarding import guarded
from retentive.ranking.profiles import Profiles
from retentive.stores.base import MemoryStore
from retentive.stores.urls import open_store
from retentive.types import MemoryItem, Scope

if TYPE_CHECKING:
    from retentive.embedders.base import Embedder


class MemoryBase:
    """An open store of one namespace, without verbs."""

    def __init__(  # noqa: PLR0913 - one keyword for each part that can be replaced
        self,
        namespace: str = "default",
        *,
        store: str | MemoryStore | None = None,
        embedder: "str | Embedder | None" = None,
        name: str | None = None,
        lifetimes: Lifetimes = DEFAULT_LIFETIMES,
        profiles: Profiles | None = None,
        integrity: IntegrityOption = None,
        encryption: EncryptionOption = None,
        clock: Clock = utc_now,
        new_id: NewId = new_id,
    ) -> None:
        from retentive.engine import assemble, default_profiles

        self.namespace = Scope(namespace).namespace
        self.name = name or self.namespace
        self._owns_store = store is None or isinstance(store, str)
        self._store = guarded(open_store(store, home=home()), integrity, encryption)
        self._lifetimes = lifetimes
        self._clock = clock
        self._new_id = new_id
        self._subscribers = Subscribers()
        self._closed = False
        self._owns_embedder = isinstance(embedder, str)
        self._engine = assemble(self._store, embedder, clock)
        self._profiles = profiles or default_profiles(self._engine.embedder)

    async def __aenter__(self) -> Self:
        """Open the store now, so that a store that cannot open fails here.

        Raises:
            StoreUnavailable, StoreCorrupt, SchemaTooNew: the store cannot be used.
        """
        await self._ready()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the store's files, unless the store was passed in. Later calls raise StoreClosed."""
        self._closed = True
        if self._owns_embedder:
            await self._engine.close_embedder()
        if self._owns_store:
            await self._store.close()

    async def _ready(self) -> None:
        if self._closed:
            raise StoreClosed(f"this Memory of {self.namespace!r} was closed; make a new one")
        await self._store.open()

    def __repr__(self) -> str:
        return (
            f"Memory({self.namespace!r}, store={self._store.url!r}, embedder={self._engine.embedder.name!r})"
        )

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Have every read and write of this Memory told to `subscriber(event)`, once it has happened.

        Gives a function that ends it. What a subscriber raises is logged and goes no further.
        """
        return self._subscribers.add(subscriber)

    def _tell(  # noqa: PLR0913 - the fields of an event
        self,
        type: EventType,
        verb: str,
        scope: Scope,
        started: float,
        found: Sequence[MemoryItem],
        *,
        scores: tuple[float, ...] = (),
        restated: tuple[str, ...] = (),
        degraded: Mapping[str, str] | None = None,
        error: str | None = None,
    ) -> None:
        trace = current_trace()
        if not self._subscribers and trace is None:
            return
        event = Event(
            type=type,
            verb=verb,
            at=self._clock(),
            duration_ms=(time.perf_counter() - started) * 1000,
            memory=self.name,
            store=self._store.url,
            scope=scope,
            ids=tuple(item.id for item in found),
            kinds=tuple(item.kind for item in found),
            scores=scores,
            restated=restated,
            degraded=degraded or {},
            run=trace.run if trace is not None else None,
            error=error,
        )
        if trace is not None:
            trace.add(event)
        self._subscribers.tell(event)
