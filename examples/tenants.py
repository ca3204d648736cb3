"""Two tenants and their users in one store: nothing crosses. Run it: python examples/tenants.py"""

import asyncio

from retentive import Memory
from retentive.stores.in_memory import InMemoryStore


async def main() -> None:
    store = InMemoryStore()
    acme, other = Memory("tenant-acme", store=store), Memory("tenant-other", store=store)

    await acme.remember("Deliveries go to gate 4.")
    await acme.remember("Ada wants deliveries at gate 7.", user_id="ada")

    question = "which gate for deliveries?"
    print([hit.content for hit in await acme.recall(question)])
    # > ['Deliveries go to gate 4.']
    print([hit.content for hit in await acme.recall(question, user_id="ada")])
    # > ['Ada wants deliveries at gate 7.']
    print([hit.content for hit in await other.recall(question)])
    # > []

    print([scope.user_id for scope in await acme.scopes()], list(await other.scopes()))
    # > [None, 'ada'] []

    await acme.clear(user_id="ada")
    print(await acme.count(), await acme.count(user_id="ada"))
    # > 1 0

    await store.close()


asyncio.run(main())
