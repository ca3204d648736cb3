"""`append` against a bare append and fsync of the same bytes, and 64 callers against one."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.corpus import sentences
from bench.fill import NAMESPACE
from bench.measure import time_in_turn
from bench.plan import Plan
from bench.result import Figure

from retentive import Turn, open_thread
from retentive.clock import new_id
from retentive.codec import to_json, turn_to_dict

CALLERS = 64
BLOCK = 50


class BareLog:
    """A loop of append and fsync over ready-made lines, as a thread's log holds them."""

    def __init__(self, path: Path, texts: Sequence[str]) -> None:
        at = datetime.now(UTC)
        turns = [
            Turn(seq=seq, id=new_id(), role="user", content=text, at=at)
            for seq, text in enumerate(texts, start=1)
        ]
        self._lines = iter([(to_json(turn_to_dict(turn)) + "\n").encode() for turn in turns])
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def write(self, count: int) -> None:
        for _ in range(count):
            os.write(self._file, next(self._lines))
            os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


def appends(plan: Plan) -> list[Figure]:
    """One append at a time against the bare loop, then 64 callers of one thread against one, in turn."""
    return asyncio.run(_one_at_a_time(plan)) + asyncio.run(_concurrent(plan))


async def _one_at_a_time(plan: Plan) -> list[Figure]:
    blocks = plan.pick(40, 8)
    texts = sentences((blocks + 1) * BLOCK, seed=plan.seed + 50)
    bare = BareLog(plan.work / "bare.jsonl", texts)
    thread = await open_thread("alone", NAMESPACE, home=plan.work)

    async def ours(block: int) -> None:
        for text in texts[block * BLOCK : (block + 1) * BLOCK]:
            await thread.append(text)

    took, its, ratios = await time_in_turn(ours, lambda _: bare.write(BLOCK), blocks, "append, one at a time")
    bare.close()
    return [
        Figure(
            row="threads",
            name="append / bare append and fsync, rate",
            value=ratios.median,
            unit="x",
            target=0.5,
            better="more",
            note=f"{blocks} pairs of blocks of {BLOCK}",
        ),
        Figure(
            row="threads", name="append, one at a time", value=BLOCK / took.median, unit="/s", better="more"
        ),
        Figure(
            row="threads", name="bare append and fsync", value=BLOCK / its.median, unit="/s", better="more"
        ),
    ]


async def _concurrent(plan: Plan) -> list[Figure]:
    blocks, block = plan.pick(20, 5), CALLERS * 4
    texts = iter(sentences((blocks + 1) * block * 2, seed=plan.seed + 60))
    together = await open_thread("together", NAMESPACE, home=plan.work)
    alone = await open_thread("one-caller", NAMESPACE, home=plan.work)

    async def caller(share: Sequence[str]) -> None:
        for text in share:
            await together.append(text)

    async def all_at_once(_: int) -> None:
        mine = [next(texts) for _ in range(block)]
        await asyncio.gather(*(caller(mine[at::CALLERS]) for at in range(CALLERS)))

    async def one_by_one(_: int) -> None:
        for _ in range(block):
            await alone.append(next(texts))

    took, _, ratios = await time_in_turn(all_at_once, one_by_one, blocks, f"append, {CALLERS} callers")
    return [
        Figure(
            row="threads",
            name=f"{CALLERS} callers of append / one, rate",
            value=ratios.median,
            unit="x",
            target=3.0,
            better="more",
            note=f"{blocks} pairs of blocks of {block}, each side on one thread",
        ),
        Figure(
            row="threads",
            name=f"append, {CALLERS} callers",
            value=block / took.median,
            unit="/s",
            better="more",
        ),
    ]
