"""A retry with the same key is harmless. Run it: python examples/life/retries.py"""

import asyncio

from retentive import Memory, open_thread
from retentive.stores.in_memory_threads import InMemoryThreadStore


async def main() -> None:
    thread = await open_thread("ticket-981", store=InMemoryThreadStore())
    await thread.append("My invoice is wrong.", key="message-17")
    await thread.append("My invoice is wrong.", key="message-17")  # the network hid the first answer
    print(len(thread))
    # > 1

    async with Memory(store="memory://") as memory:
        first = await memory.remember("Invoice 17 is wrong.", key="981/1")
        again = await memory.remember("Invoice 17 is wrong.", key="981/1")
        moved = await memory.supersede(first.id, "Invoice 17 was corrected.", key="981/2")
        retry = await memory.supersede(first.id, "Invoice 17 was corrected.", key="981/2")
        print(again.id == first.id, retry.id == moved.id, await memory.count())
        # > True True 1


asyncio.run(main())
