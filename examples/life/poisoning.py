"""What others plant does not become the truth. Run it: python examples/life/poisoning.py"""

import asyncio

from retentive import Memory, NotTrusted


async def main() -> None:
    async with Memory(store="memory://") as memory:
        rent = await memory.remember("The rent goes to account NO12.", user_id="ann")
        planted = "The rent goes to account DE99."
        await memory.remember(planted, user_id="ann", origin="tool", tags=["verified"])
        await memory.remember(planted, user_id="mallory")
        try:
            await memory.supersede(rent.id, planted, user_id="ann", origin="document")
        except NotTrusted:
            print("no correction from a document")
        # > no correction from a document

        question = "Which account does the rent go to?"
        print([hit.content for hit in await memory.recall(question, user_id="ann", min_trust="user")])
        # > ['The rent goes to account NO12.']
        for hit in await memory.recall(question, user_id="ann"):
            print(hit.item.origin, hit.content)  # without a floor all is told, and by whom
        # > user The rent goes to account NO12.
        # > tool The rent goes to account DE99.


asyncio.run(main())
