"""One run at a time on a thread: in this process whatever the store can, between processes on disk."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retentive import Conflict, open_thread
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.threads import lease

HOLDER = """
import asyncio, sys
from pathlib import Path
from retentive import open_thread
from retentive.threads import lease
async def main():
    async with lease(await open_thread("t", home=Path(sys.argv[1])), 0):
        print("held", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
asyncio.run(main())
"""


class Plain:
    """A store that does what `ThreadStore` asks and no more."""

    def __init__(self) -> None:
        self._inner = InMemoryThreadStore()
        self.url = "plain://"
        for name in ("append", "turns", "threads", "namespaces", "delete", "close"):
            setattr(self, name, getattr(self._inner, name))


async def test_a_store_without_leases_is_leased_within_the_process() -> None:
    store: Any = Plain()
    thread = await open_thread("t", store=store)
    other = await open_thread("t", store=InMemoryThreadStore())
    async with lease(thread, 0), lease(other, 0):
        with pytest.raises(Conflict):
            async with lease(thread, 0.01):
                pass
    async with lease(thread, 0):
        pass


def test_a_lease_holds_between_event_loops() -> None:
    store = InMemoryThreadStore()
    thread = asyncio.run(open_thread("t", store=store))

    async def elsewhere() -> None:
        async with lease(thread, 0):
            pass

    async def here() -> None:
        async with lease(thread, 0):
            with pytest.raises(Conflict):
                await asyncio.to_thread(asyncio.run, elsewhere())

    asyncio.run(here())
    asyncio.run(elsewhere())


def test_a_lease_holds_between_processes_and_ends_with_the_holder(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdin=pipe, stdout=pipe)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == b"held"

    async def take() -> None:
        async with lease(await open_thread("t", home=tmp_path), 0):
            pass

    with pytest.raises(Conflict, match="another run holds"):
        asyncio.run(take())
    holder.kill()
    holder.communicate()
    asyncio.run(take())
