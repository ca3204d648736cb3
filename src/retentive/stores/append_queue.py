"""Appends that wait for the same log are done together, off the event loop, in the order they came."""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, ParamSpec, TypeVar

from retentive.errors import RetentiveError, StoreClosed

_Key = TypeVar("_Key", bound=Hashable)
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Params = ParamSpec("_Params")
_Answer = TypeVar("_Answer")

WORKERS = 4


class AppendQueue(Generic[_Key, _Item, _Result]):
    """Hands `work` all items that wait for one key at once; never two batches of one key at a time.

    `work` gives one result for each item, in order; a result that is an error is raised to that item's
    caller. What `work` raises is raised to every caller of the batch. Serves any number of event loops.
    """

    def __init__(self, work: Callable[[_Key, Sequence[_Item]], Sequence[_Result | RetentiveError]]) -> None:
        self._work = work
        self._closed = False
        self._reset()
        _queues.add(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[_Key, list[tuple[_Item, Future[_Result]]]] = {}
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="retentive-threads")

    async def put(self, key: _Key, item: _Item) -> _Result:
        """The result of the item. A caller that is cancelled before its batch begins leaves no trace.

        Raises:
            StoreClosed: after `close`.
        """
        future: Future[_Result] = Future()
        with self._lock:
            self._check_open()
            begin = key not in self._waiting
            self._waiting.setdefault(key, []).append((item, future))
            if begin:
                self._pool.submit(self._drain, key)
        return await asyncio.wrap_future(future)

    async def run(
        self, function: Callable[_Params, _Answer], *args: _Params.args, **kwargs: _Params.kwargs
    ) -> _Answer:
        """What the function gives, off the event loop.

        Raises:
            StoreClosed: after `close`.
        """
        with self._lock:
            self._check_open()
            future = self._pool.submit(function, *args, **kwargs)
        return await asyncio.wrap_future(future)

    async def close(self) -> None:
        """Finish what waits and end the worker threads; harmless when closed."""
        with self._lock:
            self._closed = True
        await asyncio.to_thread(self._pool.shutdown)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the thread store was closed; open a new one")

    def _drain(self, key: _Key) -> None:
        while True:
            with self._lock:
                waiting = self._waiting[key]
                if not waiting:
                    del self._waiting[key]
                    return
                self._waiting[key] = []
            self._do(
                [(item, future) for item, future in waiting if future.set_running_or_notify_cancel()], key
            )

    def _do(self, batch: Sequence[tuple[_Item, "Future[_Result]"]], key: _Key) -> None:
        if not batch:
            return
        try:
            results = self._work(key, [item for item, _ in batch])
        except BaseException as error:  # noqa: BLE001  (not swallowed: every caller gets it)
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if isinstance(result, RetentiveError):
                future.set_exception(result)
            else:
                future.set_result(result)


_queues: "weakref.WeakSet[AppendQueue[Any, Any, Any]]" = weakref.WeakSet()


def _start_anew_after_fork() -> None:
    """A forked child has none of its parent's threads, and may have copied a lock while it was held."""
    for queue in _queues:
        queue._reset()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_after_fork)
