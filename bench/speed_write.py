"""`remember` against the bare engine: one at a time, many callers at once, in bulk, and into large scopes."""

import asyncio
from collections.abc import Iterator, Sequence

import apsw
from bench.corpus import sentences
from bench.fill import NAMESPACE, memories, one_scope
from bench.measure import time_each, time_in_turn
from bench.plan import Plan
from bench.result import Figure

from retentive import Memory, Scope
from retentive.stores.base import Changes
from retentive.stores.sqlite.changes import Row, place, prepare
from retentive.stores.sqlite.connection import PAGE_SIZE
from retentive.stores.sqlite.queries import load_migrations, load_queries

CALLERS = 64
BLOCK = 50


class BareEngine:
    """A loop over the engine alone: the same table, pragmas and rows, one durable commit each."""

    def __init__(self, path: str, rows: Sequence[Row]) -> None:
        self._rows: Iterator[Row] = iter(rows)
        self._position = 0
        self._insert = load_queries()["add_memory"]
        self._connection = apsw.Connection(path)
        for pragma in (f"page_size = {PAGE_SIZE}", "journal_mode = WAL", "synchronous = FULL"):
            self._connection.execute(f"PRAGMA {pragma}")
        for script in load_migrations():
            self._connection.execute(script)

    async def write(self, count: int) -> None:
        for _ in range(count):
            self._position += 1
            self._connection.execute(self._insert, (place(1, self._position), 1, *next(self._rows)))


def durable_writes(plan: Plan) -> list[Figure]:
    """One `remember` at a time against the bare loop, in turn."""
    return asyncio.run(_durable_writes(plan))


async def _durable_writes(plan: Plan) -> list[Figure]:
    blocks = plan.pick(40, 8)
    scope = Scope(NAMESPACE, "writer")
    texts = sentences((blocks + 1) * BLOCK, seed=plan.seed + 10)
    rows = prepare(Changes(scope=scope, inserts=await memories(texts, scope, "make rows for the bare loop")))
    bare = BareEngine(str(plan.work / "bare.db"), rows.inserts)
    async with Memory(NAMESPACE, store=f"sqlite:///{(plan.work / 'ours.db').as_posix()}") as memory:

        async def ours(block: int) -> None:
            for text in texts[block * BLOCK : (block + 1) * BLOCK]:
                await memory.remember(text, user_id="writer")

        took, its, ratios = await time_in_turn(
            ours, lambda _: bare.write(BLOCK), blocks, "remember, one at a time"
        )
    note = f"{blocks} pairs of blocks of {BLOCK}, in a scope that grows from 0 to {len(texts):,}"
    return [
        Figure(
            row="write",
            name="remember / bare engine loop, rate",
            value=ratios.median,
            unit="x",
            target=0.5,
            better="more",
            note=note,
        ),
        Figure(
            row="write", name="remember, one at a time", value=BLOCK / took.median, unit="/s", better="more"
        ),
        Figure(row="write", name="bare engine loop", value=BLOCK / its.median, unit="/s", better="more"),
    ]


def concurrent_writes(plan: Plan) -> list[Figure]:
    """64 callers at once against one after the other, in turn."""
    return asyncio.run(_concurrent_writes(plan))


async def _concurrent_writes(plan: Plan) -> list[Figure]:
    blocks, block = plan.pick(10, 4), CALLERS * 4
    texts = iter(sentences((blocks + 1) * block * 2, seed=plan.seed + 20))
    async with Memory(NAMESPACE, store=f"sqlite:///{(plan.work / 'concurrent.db').as_posix()}") as memory:

        async def caller(share: Sequence[str], user: str) -> None:
            for text in share:
                await memory.remember(text, user_id=user)

        async def together(_: int) -> None:
            mine = [next(texts) for _ in range(block)]
            await asyncio.gather(*(caller(mine[at::CALLERS], "together") for at in range(CALLERS)))

        async def alone(_: int) -> None:
            await caller([next(texts) for _ in range(block)], "alone")

        took, _, ratios = await time_in_turn(together, alone, blocks, f"remember, {CALLERS} callers")
    return [
        Figure(
            row="concurrent",
            name=f"{CALLERS} callers of remember / one, rate",
            value=ratios.median,
            unit="x",
            target=3.0,
            better="more",
            note=f"{blocks} pairs of blocks of {block}, each side into one scope",
        ),
        Figure(
            row="concurrent",
            name=f"remember, {CALLERS} callers",
            value=block / took.median,
            unit="/s",
            better="more",
        ),
    ]


def bulk_writes(plan: Plan) -> list[Figure]:
    """`remember_many` into a new scope."""
    return asyncio.run(_bulk_writes(plan))


async def _bulk_writes(plan: Plan) -> list[Figure]:
    count = plan.pick(10_000, 2_000)
    texts = sentences(count, seed=plan.seed + 30)
    async with Memory(NAMESPACE, store=f"sqlite:///{(plan.work / 'bulk.db').as_posix()}") as memory:
        took = await time_each(
            lambda user: memory.remember_many(texts, user_id=user), ["a", "b", "c"], "remember_many"
        )
    note = f"median of 3 calls with {count:,} texts, each into a new scope"
    return [
        Figure(
            row="bulk", name="remember_many", value=count / took.median, unit="/s", better="more", note=note
        )
    ]


def writes_into_large_scopes(plan: Plan) -> list[Figure]:
    """One `remember` into scopes that hold much: each is compared with all that is there."""
    return asyncio.run(_writes_into_large_scopes(plan))


async def _writes_into_large_scopes(plan: Plan) -> list[Figure]:
    figures: list[Figure] = []
    for size in plan.pick((1_000, 10_000, 100_000), (1_000, 10_000)):
        url, _ = await one_scope(plan, size)
        texts = sentences(plan.pick(200, 50), seed=plan.seed + 40)
        async with Memory(NAMESPACE, store=url) as memory:
            await memory.remember("The first of many after these.", user_id="one")
            took = await time_each(
                lambda text, memory=memory: memory.remember(text, user_id="one"),
                texts,
                f"remember at {size:,}",
            )
        figures.append(
            Figure(
                row="large",
                name=f"remember, {size:,} in scope",
                value=took.median * 1e3,
                p95=took.p95 * 1e3,
                unit="ms",
                note=took.busy_note,
            )
        )
    return figures
