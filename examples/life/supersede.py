"""What holds now is the answer, and its story is kept. Run it: python examples/life/supersede.py"""

import asyncio

from retentive import Memory


async def main() -> None:
    async with Memory(store="memory://") as memory:
        old = await memory.remember("The office is in Oslo.", user_id="ann")
        await memory.supersede(old.id, "The office is in Bergen.", user_id="ann")
        print([hit.content for hit in await memory.recall("Where is the office?", user_id="ann")])
        # > ['The office is in Bergen.']
        for item in await memory.history(old.id, user_id="ann"):
            print(item.content, "superseded" if item.superseded_by else "holds")
        # > The office is in Oslo. superseded
        # > The office is in Bergen. holds

        await memory.remember("The team has 4 members in Bergen.", user_id="ann")
        await memory.remember("The team has 5 members in Bergen.", user_id="ann")
        for pair in await memory.conflicts(user_id="ann"):
            print(pair.older.content, "|", pair.newer.content, "|", pair.why)
        # > The team has 4 members in Bergen. | The team has 5 members in Bergen. | numbers differ: 4 / 5


asyncio.run(main())
