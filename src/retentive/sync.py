"""The blocking facade: the same verbs, one event loop in a thread of its own, one line a method.

Works in scripts, in notebooks and inside a running event loop (which it blocks meanwhile).

Example:
    >>> from retentive.sync import Memory
    >>> with Memory(store="memory://") as memory:
    ...     _ = memory.remember("The boiler man is called Sven.")
    ...     memory.recall("who mends the boiler?")[0].content
    'The boiler man is called Sven.'
"""

import atexit
import functools
import os
import threading
import weakref
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from retentive import memory as async_memory
from retentive import threads as async_threads
from retentive.conversation import Conversation
from retentive.errors import Conflict
from retentive.events import Subscriber
from retentive.memory.working import WorkingMemory as AsyncWorkingMemory
from retentive.redaction.base import Redactor
from retentive.stores.base import Damage, ThreadStore

if TYPE_CHECKING:
    from retentive.encryption import EncryptionOption
    from retentive.integrity import IntegrityOption

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")


_THREAD_NAME = "retentive-sync"


class _Portal:
    """The one event loop that blocking calls run on; started at the first call, and anew after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._pid = 0
        self._of_parent: list[ExitStack] = []

    def call(self, make: Callable[[], Awaitable[_R]]) -> _R:
        if threading.current_thread().name == _THREAD_NAME:
            raise Conflict(
                "a subscriber cannot make blocking calls: it runs in the thread that would answer them. "
                "Hand the event to another thread (for example with a queue.Queue) and call from there"
            )
        return self._running().call(make)

    def run(self, make: Callable[[], Awaitable[_R]]) -> _R:
        """As `call`, but what interrupts the caller (Ctrl-C) cancels the work too."""
        if threading.current_thread().name == _THREAD_NAME:
            raise Conflict(
                "a blocking run cannot be started from the facade's own thread; await the asynchronous one"
            )
        future = self._running().start_task_soon(make)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _running(self) -> BlockingPortal:
        with self._lock:
            if self._portal is None or self._pid != os.getpid():
                # After a fork: to close the parent's would wait for a thread that is not here.
                self._of_parent.append(self._stack)
                self._stack = ExitStack()
                self._portal = self._stack.enter_context(start_blocking_portal(name=_THREAD_NAME))
                self._pid = os.getpid()
                atexit.register(self._stop, self._pid)
            return self._portal

    def _stop(self, pid: int) -> None:
        if pid == os.getpid():
            self._stack.close()
            self._portal = None


_portal = _Portal()


def run_blocking(make: Callable[[], Awaitable[_R]]) -> _R:
    """What the coroutine gives that `make` makes, run on the facade's own loop.

    Works where `retentive.sync` does: in scripts, in notebooks, inside a running loop. Ctrl-C cancels the
    work as well, which then ends in its own time.

    Raises:
        Conflict: called from the facade's own thread, which would wait for itself.
    """
    return _portal.run(make)


class _Holds(Generic[_S]):
    """What a blocking object holds: its asynchronous self."""

    def __init__(self, inner: _S) -> None:
        self.asynchronous = inner

    def __repr__(self) -> str:
        return f"<blocking {self.asynchronous!r}>"


def _takes(
    make: Callable[_P, object],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, _P], None]]:
    """Give an `__init__` the signature with which `make` is called."""

    def with_signature(init: Callable[..., None]) -> Callable[Concatenate[Any, _P], None]:
        return functools.update_wrapper(init, make.__init__)

    return with_signature


def _blocking(
    method: Callable[Concatenate[_S, _P], Awaitable[_R]],
) -> Callable[Concatenate[_Holds[_S], _P], _R]:
    @functools.wraps(method)
    def call(self: _Holds[_S], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return _portal.call(functools.partial(method, self.asynchronous, *args, **kwargs))

    return call


class Memory(_Holds[async_memory.Memory]):
    """`retentive.Memory`, blocking: the same arguments, results and errors. Use it in a `with` block."""

    @_takes(async_memory.Memory)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(async_memory.Memory(*args, **kwargs))

    def __enter__(self) -> Self:
        _portal.call(self.asynchronous.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def namespace(self) -> str:
        """The tenant it is for."""
        return self.asynchronous.namespace

    @property
    def name(self) -> str:
        """What events call it."""
        return self.asynchronous.name

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """As `retentive.Memory.subscribe`; the subscriber runs in the facade's own thread."""
        return self.asynchronous.subscribe(subscriber)

    remember = _blocking(async_memory.Memory.remember)
    remember_many = _blocking(async_memory.Memory.remember_many)
    recall = _blocking(async_memory.Memory.recall)
    search = _blocking(async_memory.Memory.search)
    get = _blocking(async_memory.Memory.get)
    list = _blocking(async_memory.Memory.list)
    count = _blocking(async_memory.Memory.count)
    scopes = _blocking(async_memory.Memory.scopes)
    update = _blocking(async_memory.Memory.update)
    context = _blocking(async_memory.Memory.context)
    record_episode = _blocking(async_memory.Memory.record_episode)
    similar_episodes = _blocking(async_memory.Memory.similar_episodes)
    remember_fact = _blocking(async_memory.Memory.remember_fact)
    facts_about = _blocking(async_memory.Memory.facts_about)
    remember_procedure = _blocking(async_memory.Memory.remember_procedure)
    procedures_for = _blocking(async_memory.Memory.procedures_for)

    def working(
        self, run_id: str, *, user_id: str | None = None, ttl: timedelta | None = None
    ) -> "WorkingMemory":
        """As `retentive.Memory.working`, for a `with` block."""
        return WorkingMemory(self.asynchronous.working(run_id, user_id=user_id, ttl=ttl))

    supersede = _blocking(async_memory.Memory.supersede)
    apply = _blocking(async_memory.Memory.apply)
    notes = _blocking(async_memory.Memory.notes)
    history = _blocking(async_memory.Memory.history)
    conflicts = _blocking(async_memory.Memory.conflicts)
    forget = _blocking(async_memory.Memory.forget)
    forget_thread = _blocking(async_memory.Memory.forget_thread)
    forget_user = _blocking(async_memory.Memory.forget_user)
    clear = _blocking(async_memory.Memory.clear)
    verify_forgotten = _blocking(async_memory.Memory.verify_forgotten)
    export = _blocking(async_memory.Memory.export)
    import_ = _blocking(async_memory.Memory.import_)
    reembed = _blocking(async_memory.Memory.reembed)
    prune = _blocking(async_memory.Memory.prune)
    consolidate = _blocking(async_memory.Memory.consolidate)
    unmerge = _blocking(async_memory.Memory.unmerge)
    close = _blocking(async_memory.Memory.close)


def _chaining(
    method: Callable[Concatenate[async_threads.Thread, _P], Awaitable[async_threads.Thread]],
) -> "Callable[Concatenate[Thread, _P], Thread]":
    @functools.wraps(method)
    def call(self: "Thread", *args: _P.args, **kwargs: _P.kwargs) -> "Thread":
        _portal.call(functools.partial(method, self.asynchronous, *args, **kwargs))
        return self

    return call


class WorkingMemory(_Holds[AsyncWorkingMemory]):
    """What one run keeps for itself, blocking; `Memory.working` gives one. Use it in a `with` block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _portal.call(functools.partial(self.asynchronous.__aexit__, kind, error, trace))

    remember = _blocking(AsyncWorkingMemory.remember)
    recall = _blocking(AsyncWorkingMemory.recall)
    items = _blocking(AsyncWorkingMemory.items)
    end = _blocking(AsyncWorkingMemory.end)


class Thread(_Holds[async_threads.Thread]):
    """`retentive.Thread`, blocking: the same arguments, results and errors. `open_thread` gives one."""

    @property
    def id(self) -> str:
        """Its name."""
        return self.asynchronous.id

    @property
    def namespace(self) -> str:
        """The tenant it is of."""
        return self.asynchronous.namespace

    @property
    def read_only(self) -> bool:
        """Whether it refuses appends."""
        return self.asynchronous.read_only

    @property
    def store(self) -> ThreadStore:
        """What keeps it; its verbs are asynchronous."""
        return self.asynchronous.store

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        return self.asynchronous.url

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What could not be read of the log so far, by line; empty when all is well."""
        return self.asynchronous.damage

    def messages(self, limit: int | None = None) -> Conversation:
        """As `retentive.Thread.messages`: the turns known here, or the latest `limit` of them, in order."""
        return self.asynchronous.messages(limit)

    def __len__(self) -> int:
        return len(self.asynchronous)

    def __bool__(self) -> bool:
        return True

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """As `retentive.Thread.subscribe`; the subscriber runs in the facade's own thread."""
        return self.asynchronous.subscribe(subscriber)

    append = _chaining(async_threads.Thread.append)
    append_many = _chaining(async_threads.Thread.append_many)
    refresh = _chaining(async_threads.Thread.refresh)


def open_thread(  # noqa: PLR0913 - as the asynchronous one
    id: str,
    namespace: str = "default",
    *,
    read_only: bool = False,
    home: Path | None = None,
    store: ThreadStore | None = None,
    integrity: "IntegrityOption" = None,
    encryption: "EncryptionOption" = None,
    redactor: Redactor | None = None,
) -> Thread:
    """As `retentive.open_thread`: while it is in use, the same name gives the same object."""
    opening = functools.partial(
        async_threads.open_thread,
        id,
        namespace,
        read_only=read_only,
        home=home,
        store=store,
        integrity=integrity,
        encryption=encryption,
        redactor=redactor,
    )
    inner = _portal.call(opening)
    with _live_lock:
        thread = _live.get(inner)
        if thread is None or (live := thread()) is None:
            live = Thread(inner)
            _live[inner] = weakref.ref(live)
        return live


_live: "weakref.WeakKeyDictionary[async_threads.Thread, weakref.ref[Thread]]" = weakref.WeakKeyDictionary()
_live_lock = threading.Lock()
