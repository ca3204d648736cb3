"""`recall` end to end with the default embedder on SQLite: warm, over many scopes, and its memory."""

import asyncio
import subprocess
import sys

import numpy as np
from bench.corpus import questions
from bench.fill import NAMESPACE, many_scopes, one_scope
from bench.measure import time_each
from bench.plan import Plan
from bench.result import Figure

from retentive import Memory

TARGETS_MS = {1_000: 2.0, 10_000: 8.0, 100_000: 25.0}


def warm_recall(plan: Plan) -> list[Figure]:
    """Recall in one scope whose index is there already."""
    return asyncio.run(_warm_recall(plan))


async def _warm_recall(plan: Plan) -> list[Figure]:
    figures: list[Figure] = []
    for size in plan.pick((1_000, 10_000, 100_000), (1_000, 10_000)):
        url, texts = await one_scope(plan, size)
        asked = questions(texts, plan.pick(300, 100), seed=plan.seed)
        async with Memory(NAMESPACE, store=url) as memory:
            for question in asked[:20]:
                await memory.recall(question, user_id="one")
            took = await time_each(
                lambda question, memory=memory: memory.recall(question, user_id="one"),
                asked,
                f"recall, {size:,} in scope",
            )
        figures.append(
            Figure(
                row="recall",
                name=f"warm recall, {size:,} in one scope",
                value=took.median * 1e3,
                p95=took.p95 * 1e3,
                unit="ms",
                target=TARGETS_MS[size],
                note=took.busy_note,
            )
        )
    return figures


def recall_over_many_scopes(plan: Plan) -> list[Figure]:
    """Recall in scopes chosen at random from very many, most of them cold."""
    return asyncio.run(_recall_over_many_scopes(plan))


async def _recall_over_many_scopes(plan: Plan) -> list[Figure]:
    scopes, each = plan.pick(10_000, 1_000), 100
    url, texts = await many_scopes(plan, scopes, each)
    rng = np.random.default_rng(plan.seed)
    count = plan.pick(2_000, 500)
    users = rng.integers(0, scopes, size=count).tolist()
    asked: list[tuple[str, str]] = []
    for at, user in enumerate(users):
        begin = user * each % len(texts)
        asked.append((str(user), questions(texts[begin : begin + each], 1, seed=plan.seed + at)[0]))
    async with Memory(NAMESPACE, store=url) as memory:
        await memory.recall("anything at all", user_id="0")
        took = await time_each(
            lambda pair: memory.recall(pair[1], user_id=pair[0]), asked, f"recall, {scopes:,} scopes"
        )
    again = 1 - len(set(users)) / count
    return [
        Figure(
            row="scopes",
            name=f"recall, {scopes * each:,} memories over {scopes:,} scopes",
            value=took.median * 1e3,
            p95=took.p95 * 1e3,
            unit="ms",
            target=3.0,
            note=f"{took.busy_note}; random scope each time, {again:.0%} asked before",
        )
    ]


_RESIDENT = """
import asyncio, sys
from pathlib import Path
from retentive import Memory

def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * {page}

async def main() -> None:
    async with Memory({namespace!r}, store={url!r}) as memory:
        await memory.remember("Something small to warm up.", user_id="other")
        await memory.recall("something small", user_id="other")
        before = resident()
        await memory.recall("what about the city and the river?", user_id="one")
        print(resident() - before)

asyncio.run(main())
"""


def memory_held(plan: Plan) -> list[Figure]:
    """How much memory a process holds for each memory of a scope in use."""
    try:
        from resource import getpagesize  # not on Windows
    except ImportError:
        return []
    if sys.platform != "linux":
        return []
    size = plan.pick(100_000, 10_000)
    url, _ = asyncio.run(one_scope(plan, size))
    script = _RESIDENT.format(page=getpagesize(), namespace=NAMESPACE, url=url)
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return [
        Figure(
            row="resident",
            name="resident memory for each memory in scope",
            value=int(answer.stdout) / size / 1024,
            unit="KiB",
            note=f"growth of a fresh process by its first recall at {size:,}; a vector alone is 1 KiB",
        )
    ]
