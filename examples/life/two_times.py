"""When it held, and when it was known. Run it: python examples/life/two_times.py"""

import asyncio
from datetime import UTC, datetime

from retentive import Memory
from retentive.ranking.relative_dates import resolve_dates


def march(day: int) -> datetime:
    return datetime(2026, 3, day, tzinfo=UTC)


async def main() -> None:
    now = march(1)
    async with Memory(store="memory://", clock=lambda: now) as memory:
        old = await memory.remember("Ada lives in Lima.")
        now = march(20)  # told only now: she moved on the 10th
        await memory.supersede(old.id, "Ada lives in Quito.", valid_from=march(10))

        question = "Where does Ada live?"
        print([hit.content for hit in await memory.recall(question)])
        # > ['Ada lives in Quito.']
        print([hit.content for hit in await memory.recall(question, as_of=march(5))])
        # > ['Ada lives in Lima.']
        print([hit.content for hit in await memory.recall(question, known_at=march(15))])
        # > ['Ada lives in Lima.']

    (found,) = resolve_dates("We met last Friday.", march(3))  # words stay; the turn's time resolves them
    print(found.phrase, found.start.date())
    # > last Friday 2026-02-27


asyncio.run(main())
