"""What states the same becomes one, and comes apart. Run it: python examples/life/consolidation.py"""

import asyncio

from retentive import Memory


async def main() -> None:
    async with Memory(store="memory://") as memory:
        await memory.remember("Tea is at five.", origin="tool")
        await memory.remember("Tea is at five.", tags=["routine"])

        report = await memory.consolidate(user_id=None)  # a dry run
        print(report.total, await memory.count())
        # > 1 2
        await memory.consolidate(user_id=None, dry_run=False)
        (one,) = await memory.list()
        print(one.content, one.origin, one.tags, len(one.merged_from))
        # > Tea is at five. user ('routine',) 2

        later = await memory.supersede(one.id, "Tea is at six.")
        apart = await memory.unmerge(one.id)  # also now
        print([(item.origin.value, item.superseded_by == later.id) for item in apart])
        # > [('tool', True), ('user', True)]


asyncio.run(main())
