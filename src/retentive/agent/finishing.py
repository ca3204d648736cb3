"""Work that must end although the task around it is being cancelled."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


async def finished(work: Coroutine[Any, Any, _T], within_s: float) -> _T:
    """What the work gives. It goes on while this task is cancelled, however often, and is then waited for.

    The cancellation is passed on once the work has ended; so this may take `within_s` longer than asked.

    Raises:
        TimeoutError: the work took longer than `within_s` and was cancelled.
        asyncio.CancelledError: this task was cancelled meanwhile; the work has ended.
    """
    task = asyncio.ensure_future(asyncio.wait_for(work, within_s))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        _ = task.cancelled() or task.exception()  # seen, so that nobody warns of it
        raise cancelled
    return task.result()
