"""Who said it, for ever; and no secret is written. Run it: python examples/life/trust.py"""

import asyncio

from retentive import Memory, NotTrusted, Source
from retentive.redaction import Secrets


async def main() -> None:
    async with Memory(store="memory://", redactor=Secrets()) as memory:
        said = await memory.remember("The gate code is 1234.", source=Source(thread="t-1", turns=(3,)))
        page = Source(document="handbook.pdf", place="page 4")
        await memory.remember("The gate code has 6 digits.", origin="document", source=page)
        try:
            await memory.supersede(said.id, "The gate code is 9999.", origin="tool")
        except NotTrusted as error:
            print(type(error).__name__)
        # > NotTrusted

        for hit in await memory.recall("gate code"):
            where = hit.item.source or Source()
            print(hit.content, "|", hit.item.origin, "|", where.thread or where.place)
        # > The gate code is 1234. | user | t-1
        # > The gate code has 6 digits. | document | page 4
        print([hit.content for hit in await memory.recall("gate code", min_trust="user")])
        # > ['The gate code is 1234.']

        item = await memory.remember("The key is AKIAIOSFODNN7EXAMPLE for the bucket.")
        print(item.content, item.metadata)
        # > The key is [...] for the bucket. {'redacted': {...: 1}}


asyncio.run(main())
