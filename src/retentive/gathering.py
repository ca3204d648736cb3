"""Calls that wait at the same moment: done as one, or one after the other with room in between."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from typing import Generic, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")
_Place: TypeAlias = tuple[asyncio.AbstractEventLoop, Hashable]


class Gathering(Generic[_Asked, _Answer]):
    """Passes what is asked under a key to `work`, one call at a time; what comes meanwhile is the next call.

    `work` takes a list and answers in its order. Who asks alone is answered without delay. If `work` fails
    for several, each is tried alone, so that an error reaches only the one it belongs to. May be used from
    several event loops at once; each gathers for itself.
    """

    def __init__(
        self, work: Callable[[Hashable, Sequence[_Asked]], Awaitable[Sequence[_Answer]]], *, most: int
    ) -> None:
        """Pass at most `most` at a time."""
        self._work = work
        self._most = most
        self._waiting: dict[_Place, list[tuple[_Asked, asyncio.Future[_Answer]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, key: Hashable, asked: _Asked) -> _Answer:
        """The answer of `work`. A caller who is cancelled may have been too late to stop it."""
        place = (asyncio.get_running_loop(), key)
        waiting = self._waiting.get(place)
        if waiting is not None:
            answer: asyncio.Future[_Answer] = place[0].create_future()
            waiting.append((asked, answer))
            return await answer
        self._waiting[place] = []
        try:
            return (await self._work(key, [asked]))[0]
        finally:
            self._go_on(place)

    def _go_on(self, place: _Place) -> None:
        if not self._waiting[place]:
            del self._waiting[place]
            return
        task = place[0].create_task(self._answer_next(place))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_next(self, place: _Place) -> None:
        waiting = self._waiting[place]
        now, waiting[:] = waiting[: self._most], waiting[self._most :]
        try:
            await self._answer(place[1], [one for one in now if not one[1].done()])
        finally:
            for _, answer in now:
                answer.cancel()  # only those without an answer: this task itself was cancelled
            self._go_on(place)

    async def _answer(self, key: Hashable, asked: Sequence[tuple[_Asked, asyncio.Future[_Answer]]]) -> None:
        try:
            answers = await self._work(key, [one for one, _ in asked]) if asked else ()
        except Exception as error:  # noqa: BLE001 - it belongs to a caller
            if len(asked) == 1:
                _set(asked[0][1], error)
                return
            for one in asked:
                await self._answer(key, [one])
        else:
            for (_, future), answer in zip(asked, answers, strict=True):
                _set(future, answer)


def _set(future: "asyncio.Future[_Answer]", outcome: _Answer | Exception) -> None:
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


class Turns:
    """Lets one task of an event loop work at a time, and the loop's other tasks in between.

    A hundred tasks that each work for a millisecond without waiting would else hold up all others for a
    tenth of a second.
    """

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None, None]:
        """Hold the turn while the block runs; tasks get it in the order they asked."""
        loop = asyncio.get_running_loop()
        lock = self._locks.setdefault(loop, asyncio.Lock())
        async with lock:
            yield
            await asyncio.sleep(0)
        if not lock.locked():
            self._locks.pop(loop, None)  # a lock that was waited for holds on to its loop
