"""Starting: what `import retentive` costs and pulls in, and the first recall of a fresh process."""

import asyncio
import statistics
import subprocess
import sys
import time

from bench.fill import NAMESPACE, one_scope
from bench.measure import over
from bench.plan import Plan
from bench.result import Figure

HEAVY = (
    "typer", "rich", "click", "tokenizers", "apsw", "httpx", "httpx2", "pydantic", "pydantic_ai",
    "onnxruntime", "openai", "anthropic", "starlette", "mcp",
)  # fmt: skip

_SCRIPTS = {"ours": "import retentive", "base": "import numpy, asyncio", "bare": "pass"}

_FIRST_RECALL = """
import asyncio, time
from retentive import Memory

async def main() -> None:
    async with Memory({namespace!r}, store={url!r}) as memory:
        hits = await memory.recall("what did the river company do in the city?", user_id="one")
        assert len(hits) == 10

started = time.perf_counter()
asyncio.run(main())
print(time.perf_counter() - started)
"""


def import_time(plan: Plan) -> list[Figure]:
    """A process that imports the package, against one that imports nothing, and against its largest parts."""
    rounds = plan.pick(15, 7)
    took: dict[str, list[float]] = {name: [] for name in _SCRIPTS}
    for turn in over(range(rounds + 1), "import retentive"):
        for name, script in _SCRIPTS.items():
            started = time.perf_counter()
            _python(script)
            if turn:  # the first fills the caches of files
                took[name].append(time.perf_counter() - started)
    over_bare = [ours - bare for ours, bare in zip(took["ours"], took["bare"], strict=True)]
    base = [base - bare for base, bare in zip(took["base"], took["bare"], strict=True)]
    heavy = _python(f"import sys, retentive; print(*sorted(set({HEAVY!r}) & set(sys.modules)))").split()
    return [
        Figure(
            row="import",
            name="import retentive, over a bare interpreter",
            value=statistics.median(over_bare) * 1e3,
            unit="ms",
            target=150.0,
            note=f"median of {rounds} alternating processes",
        ),
        Figure(
            row="import",
            name="... of that numpy and asyncio alone",
            value=statistics.median(base) * 1e3,
            unit="ms",
        ),
        Figure(
            row="import",
            name="heavy modules that it pulls in",
            value=float(len(heavy)),
            unit="",
            target=0.0,
            note=" ".join(heavy),
        ),
    ]


def first_recall(plan: Plan) -> list[Figure]:
    """The first recall of a fresh process, opening and loading included."""
    size = 10_000
    url, _ = asyncio.run(one_scope(plan, size))
    script = _FIRST_RECALL.format(namespace=NAMESPACE, url=url)
    took = [float(_python(script)) for _ in over(range(plan.pick(9, 3)), "first recall")]
    return [
        Figure(
            row="first",
            name=f"first recall of a fresh process, {size:,} in scope",
            value=statistics.median(took) * 1e3,
            p95=max(took) * 1e3,
            unit="ms",
            target=500.0,
            note=f"after import; median and worst of {len(took)} processes",
        )
    ]


def _python(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
