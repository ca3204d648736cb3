"""What every part of a Memory stands on: its store, its clock, and telling of what happened."""

import functools
import inspect
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from retentive import checks
from retentive.audit import AuditLog
from retentive.clock import Clock, NewId, new_id, utc_now
from retentive.drafts import DEFAULT_LIFETIMES, Lifetimes
from retentive.errors import RetentiveError, StoreClosed
from retentive.events import Event, EventType, Subscriber, Subscribers, tell, told_to_nobody
from retentive.guards import guards_of
from retentive.home import home
from retentive.memory.audited import AuditedStore
from retentive.memory.watching import Call, Watcher
from retentive.ranking.profiles import Profiles
from retentive.redaction.base import Redactor, check_redactor
from retentive.stores.base import MemoryStore
from retentive.stores.urls import open_store
from retentive.types import MemoryKind, Scope
from retentive.uses import UseNotes, UseTracker

if TYPE_CHECKING:
    from retentive.embedders.base import Embedder
    from retentive.encryption import EncryptionOption
    from retentive.integrity import IntegrityOption

_Verb: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]
_log = logging.getLogger(__name__)


class Told(Protocol):
    """What an event says of a memory."""

    @property
    def id(self) -> str:
        """The memory's id."""
        ...

    @property
    def kind(self) -> MemoryKind:
        """What sort of thing it is."""
        ...


class MemoryBase:
    """An open store of one namespace, without verbs."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Have the watchers of a Memory told of every call of the verbs that a class adds."""
        super().__init_subclass__(**more)
        for name, verb in list(vars(cls).items()):
            if inspect.iscoroutinefunction(verb) and not name.startswith("_"):
                setattr(cls, name, MemoryBase._watched(verb))

    def __init__(  # noqa: PLR0913 - one keyword for each part that can be replaced
        self,
        namespace: str = "default",
        *,
        store: str | MemoryStore | None = None,
        embedder: "str | Embedder | None" = None,
        name: str | None = None,
        lifetimes: Lifetimes = DEFAULT_LIFETIMES,
        profiles: Profiles | None = None,
        integrity: "IntegrityOption" = None,
        encryption: "EncryptionOption" = None,
        redactor: Redactor | None = None,
        audit: AuditLog | None = None,
        track_use: bool = False,
        clock: Clock = utc_now,
        new_id: NewId = new_id,
    ) -> None:
        from retentive.engine import assemble, default_profiles

        self.namespace = Scope(namespace).namespace
        self.name = name or self.namespace
        self._owns_store = store is None or isinstance(store, str)
        self.guards = guards_of(integrity, encryption)
        self._store = self.guards.memories(open_store(store, home=home()))
        self._audit = audit
        if audit is not None and audit.strict:
            self._store = AuditedStore(self._store, audit)
        self._lifetimes = lifetimes
        checks.check_time("the time of clock()", clock())
        self._clock = clock
        self._new_id = new_id
        self._subscribers = Subscribers()
        self._uses = UseTracker(UseNotes(self._store)) if track_use else None
        if self._uses is not None:
            self._subscribers.add(self._uses.saw)
        self._watchers: tuple[Watcher, ...] = ()
        self._closed = False
        self._owns_embedder = isinstance(embedder, str)
        self.redactor = check_redactor(redactor)
        self._engine = assemble(self._store, embedder, clock, self.redactor)
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
        if self._uses is not None and not self._closed:
            await self._uses.flush()
        self._closed = True
        if self._owns_embedder:
            await self._engine.close_embedder()
        if self._owns_store:
            await self._store.close()

    async def _ready(self) -> None:
        if self._closed:
            raise StoreClosed(f"this Memory of {self.namespace!r} was closed; make a new one")
        await self._store.open()

    async def _follow_backlog(self, scope: Scope, *, is_late: bool) -> None:
        """Embed some of what was kept while the embedder was down; what fails waits for the next write.

        `is_late` says that what was just written waits, too: the embedder is still down.
        """
        if is_late:
            self._engine.reembedding.expect(scope)
            return
        try:
            await self._engine.reembedding.follow(scope)
        except RetentiveError:
            _log.warning("memories still wait for their vectors", exc_info=True)

    def __repr__(self) -> str:
        return (
            f"Memory({self.namespace!r}, store={self._store.url!r}, embedder={self._engine.embedder.name!r})"
        )

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Have every read and write of this Memory told to `subscriber(event)`, once it has happened.

        Gives a function that ends it. What a subscriber raises is logged and goes no further.
        """
        return self._subscribers.add(subscriber)

    @staticmethod
    def _watched(verb: _Verb) -> _Verb:
        """The verb, with each call inside what the watchers of its Memory open; the first one outermost."""

        @functools.wraps(verb)
        async def call(self: MemoryBase, *args: Any, **kwargs: Any) -> Any:
            watchers = self._watchers
            if not watchers:
                return await verb(self, *args, **kwargs)
            _, *passed = inspect.signature(verb).bind(self, *args, **kwargs).arguments.items()
            made = self._called(verb.__name__, dict(passed))
            with ExitStack() as stack:
                done = [stack.enter_context(watcher(made)) for watcher in watchers]
                result = await verb(self, *args, **kwargs)
                for tell_result in done:
                    tell_result(result)
                return result

        return call

    def _watch(self, watcher: Watcher) -> Callable[[], None]:
        """Have every call of a verb run inside what `watcher(call)` opens. Gives a function that ends it."""
        self._watchers = (*self._watchers, watcher)

        def end() -> None:
            self._watchers = tuple(one for one in self._watchers if one is not watcher)

        return end

    def _called(self, verb: str, arguments: Mapping[str, Any]) -> Call:
        return Call(verb=verb, memory=self.name, store=self._store.url, arguments=arguments)

    def _tell(  # noqa: PLR0913 - the fields of an event
        self,
        type: EventType,
        verb: str,
        scope: Scope,
        started: float,
        found: Sequence[Told],
        *,
        scores: tuple[float, ...] = (),
        restated: tuple[str, ...] = (),
        degraded: Mapping[str, str] | None = None,
        error: str | None = None,
    ) -> None:
        if self._audit is None and told_to_nobody(self._subscribers):
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
            error=error,
        )
        event = tell(event, self._subscribers)
        if self._audit is not None:
            self._audit.record(event)
