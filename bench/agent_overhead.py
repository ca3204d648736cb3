"""What memory adds to an agent's run: with a model that answers at once, the same run with and without."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from pathlib import Path

from bench.corpus import questions
from bench.fill import NAMESPACE, one_scope
from bench.measure import over
from bench.plan import Plan
from bench.result import Figure
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from retentive import Memory
from retentive.agent import MemoryCapability
from retentive.stores.jsonl_threads import JsonlThreadStore

SIZE = 10_000
TARGET_MS = 10.0
RUNS_A_THREAD = 10
REHEARSALS = 20


def agent_overhead(plan: Plan) -> list[Figure]:
    """The difference of the medians: a run with memory and thread, less one without."""
    return asyncio.run(_agent_overhead(plan))


async def _agent_overhead(plan: Plan) -> list[Figure]:
    url, texts = await one_scope(plan, SIZE)
    asked = questions(texts, REHEARSALS + plan.pick(300, 100), seed=plan.seed)
    async with Memory(NAMESPACE, store=url) as memory:
        runs = _runs(memory, plan.work / "threads")
        took: dict[str, list[float]] = {name: [] for name in runs}
        for number, question in enumerate(over(asked, "runs of an agent, with and without memory")):
            for name in [*runs] if number % 2 else [*runs][::-1]:
                started = time.perf_counter()
                await runs[name](question)
                took[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(times[REHEARSALS:]) * 1e3 for name, times in took.items()}
    return [_figure(name, medians) for name in runs]


def _runs(memory: Memory, threads: Path) -> Mapping[str, Callable[[str], Awaitable[object]]]:
    """What is measured, by name; the first is the run without memory."""
    agent = Agent(FunctionModel(_answer))
    store = JsonlThreadStore(threads)
    number = count()
    recalls = MemoryCapability(memory, user_id="one", extractor=None)
    speaks = MemoryCapability(memory, user_id="one", extractor=None, threads=store)
    saves = MemoryCapability(memory, user_id="one", extractor=None, threads=store, autosave=True)

    async def in_thread(capability: MemoryCapability, question: str) -> None:
        name = f"thread-{next(number) // (2 * RUNS_A_THREAD)}-{capability.autosave}"
        await agent.run(question, conversation_id=name, capabilities=[capability])

    return {
        "agent run without memory": lambda question: agent.run(question),
        "mode auto": lambda question: agent.run(question, capabilities=[recalls]),
        "mode auto and a thread": lambda question: in_thread(speaks, question),
        "mode auto, a thread and autosave": lambda question: in_thread(saves, question),
    }


def _figure(name: str, medians: Mapping[str, float]) -> Figure:
    plain, *_ = medians
    if name == plain:
        return Figure(row="agent", name=f"{name}, zero-latency model", value=medians[name], unit="ms")
    return Figure(
        row="agent",
        name=f"{name} add to a run, {SIZE:,} in scope",
        value=medians[name] - medians[plain],
        unit="ms",
        target=TARGET_MS,
        note=f"medians of runs in turn: {medians[name]:.2f} ms with, {medians[plain]:.2f} ms without",
    )


def _answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001 - the model's own
    return ModelResponse(parts=[TextPart("Noted.")])
