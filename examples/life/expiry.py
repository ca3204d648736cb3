"""What has expired is not returned; a policy prunes. Run it: python examples/life/expiry.py"""

import asyncio
from datetime import UTC, datetime, timedelta

from retentive import Memory, MemoryKind, RetentionPolicy, RetentionRule


async def main() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    lifetimes = {MemoryKind.EPISODIC: timedelta(days=365)}
    async with Memory(store="memory://", clock=lambda: now, lifetimes=lifetimes) as memory:
        await memory.remember("The guest wifi is called fjord.", ttl=timedelta(days=3))
        await memory.remember("Lunch was soup.", kind="episodic")
        await memory.remember("Boil, then steep.", kind="procedural")

        now += timedelta(days=3)  # the very moment at which it expires; nothing swept meanwhile
        print(list(await memory.recall("guest wifi", kinds="semantic")), await memory.count())
        # > [] 2

        now += timedelta(days=97)
        policy = RetentionPolicy(
            max_age=timedelta(days=90),
            kinds={MemoryKind.PROCEDURAL: RetentionRule()},  # keep all of these
        )
        print((await memory.prune(policy, everyone=True)).removed)  # a dry run
        # > {'expired': 1, 'age': 1}
        print((await memory.prune(policy, everyone=True, dry_run=False)).total)
        # > 2
        print([item.content for item in await memory.list()])
        # > ['Boil, then steep.']


asyncio.run(main())
