"""A thread held for one run; a run inside that run is told at once that it would wait for itself."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar

from retentive.errors import Conflict
from retentive.threads import Thread, lease

_held: "ContextVar[tuple[_Hold, ...]]" = ContextVar("retentive_held_threads", default=())


class _Hold:
    """A thread that a run holds, until it ends: a task begun in the run may outlive it."""

    def __init__(self, thread: Thread) -> None:
        self.place = _place(thread)
        self.is_over = False


@asynccontextmanager
async def held(thread: Thread | None, wait_s: float) -> AsyncGenerator[None, None]:
    """Hold the thread while the block runs, as `threads.lease`; None is no thread, and nothing is held.

    Raises:
        Conflict: another run held it for `wait_s`; or, at once, this run is part of one that holds it.
        StoreError: it cannot be held.
    """
    if thread is None:
        yield
        return
    outer = _held.get()
    if any(hold.place == _place(thread) and not hold.is_over for hold in outer):
        raise Conflict(
            f"thread {thread.id!r} is held by a run that this one is part of, as its tool: it would wait for "
            "itself. Give the inner run a thread of its own, or none"
        )
    async with lease(thread, wait_s):
        hold = _Hold(thread)
        token = _held.set((*outer, hold))
        try:
            yield
        finally:
            hold.is_over = True
            _held.reset(token)


def _place(thread: Thread) -> tuple[object, str, str]:
    """Where the thread is; of stores in memory each is a place of its own."""
    url = thread.store.url
    return id(thread.store) if url.startswith("memory:") else url, thread.namespace, thread.id
