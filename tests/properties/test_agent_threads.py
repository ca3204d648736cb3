"""Whatever runs, failures and cancellations a thread saw: it has every user turn once, and is valid."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent, CancellationToken
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from retentive import Memory, Thread, open_thread
from retentive.agent import MemoryCapability
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.testing.embedders import HashingEmbedder
from retentive.testing.strict_requests import check_strictly

HOW = st.sampled_from(["run", "stream", "events", "iter"])
END = st.sampled_from(["well", "model fails", "tool fails", "cancelled", "token", "left", "deleted by hand"])
RUNS = st.lists(st.tuples(HOW, END, st.integers(0, 4)), min_size=1, max_size=8)


@dataclass
class Provider:
    """Answers by what the run is to see; refuses what no strict provider would take."""

    end: str = "well"
    pieces: int = 0
    asked: list[str] = field(default_factory=list[str])
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def whole(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        check_strictly(messages)
        if self.end == "tool fails":
            return ModelResponse(parts=[TextPart("Let me see."), ToolCallPart("broken", {})])
        await self.wait()
        return ModelResponse(parts=[TextPart("answer")])

    async def stream(self, messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str]:
        check_strictly(messages)
        for number in range(5):
            if number == self.pieces:
                await self.wait()
            yield f"{number} "

    async def wait(self) -> None:
        self.reached.set()
        if self.end == "model fails":
            raise ConnectionError("down")
        if self.end in {"cancelled", "token"}:
            await asyncio.Event().wait()
        await asyncio.sleep(0)


async def by(how: str, agent: Agent[Any, Any], prompt: str, *, leave: bool, **more: Any) -> None:
    if how == "run":
        await agent.run(prompt, **more)
    elif how == "stream":
        async with agent.run_stream(prompt, **more) as stream:
            async for _ in stream.stream_text(delta=True, debounce_by=None):
                if leave:
                    break
    elif how == "events":
        async with agent.run_stream_events(prompt, **more) as events:
            async for _ in events:
                if leave:
                    break
    else:
        async with agent.iter(prompt, **more) as run:
            async for _ in run:
                if leave:
                    break


async def one_run(
    agent: Agent[Any, Any], provider: Provider, how: str, end: str, pieces: int, prompt: str
) -> None:
    provider.end, provider.pieces, provider.reached = end, pieces, asyncio.Event()
    token = CancellationToken()
    task = asyncio.create_task(by(how, agent, prompt, leave=end == "left", cancellation_token=token))
    if end in {"cancelled", "token"}:
        await provider.reached.wait()
        _ = task.cancel() if end == "cancelled" else token.cancel()
    with contextlib.suppress(ConnectionError, ValueError, RuntimeError, asyncio.CancelledError):
        await task


def check(thread: Thread, prompts: list[str]) -> None:
    turns = list(thread.messages())
    assert [turn.content for turn in turns if turn.role == "user"] == prompts
    assert {turn.role for turn in turns} <= {"user", "assistant"}
    runs = [turn.metadata["run"] for turn in turns]
    assert [run for n, run in enumerate(runs) if n == 0 or run != runs[n - 1]] == list(dict.fromkeys(runs))
    for turn, after in itertools.pairwise(turns):
        assert not (turn.role == after.role == "assistant")


async def story(runs: list[tuple[str, str, int]]) -> None:
    thread = await open_thread("t", store=InMemoryThreadStore())
    provider = Provider()
    async with Memory(store="memory://", embedder=HashingEmbedder()) as memory:
        capability = MemoryCapability(memory, thread=thread, autosave=True, extractor=None)
        model = FunctionModel(provider.whole, stream_function=provider.stream)
        agent = Agent(model, capabilities=[capability], system_prompt="Be kind.")

        def broken() -> str:
            raise ValueError("the tool broke")

        agent.tool_plain(broken)
        prompts: list[str] = []
        for number, (how, end, pieces) in enumerate(runs):
            if end == "deleted by hand":
                await thread.store.delete("default", "t")
                await thread.refresh()
                prompts.clear()
                continue
            prompts.append(f"prompt {number}")
            await one_run(agent, provider, how, end, pieces, prompts[-1])
            check(thread, prompts)
        provider.end = "well"
        await agent.run("the last")
        check(thread, [*prompts, "the last"])
        assert await memory.count() == sum(end != "deleted by hand" for _, end, _ in runs) + 1


@settings(max_examples=60, deadline=None)
@given(RUNS)
def test_after_any_runs_the_thread_has_every_user_turn_once_and_can_be_sent(
    runs: list[tuple[str, str, int]],
) -> None:
    asyncio.run(story(runs))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(["well", "model fails", "left"]), min_size=2, max_size=6))
def test_runs_at_once_never_mix(ends: list[str]) -> None:
    async def together() -> None:
        thread = await open_thread("t", store=InMemoryThreadStore())

        async def run(number: int, end: str) -> None:
            provider = Provider(end=end)
            model = FunctionModel(provider.whole, stream_function=provider.stream)
            agent = Agent(model, capabilities=[MemoryCapability(thread=thread)])
            with contextlib.suppress(ConnectionError):
                await by("stream", agent, f"prompt {number}", leave=end == "left")

        await asyncio.gather(*(run(number, end) for number, end in enumerate(ends)))
        turns = list(thread.messages())
        prompts = [turn.content for turn in turns if turn.role == "user"]
        assert sorted(prompts) == sorted(f"prompt {number}" for number in range(len(ends)))
        check(thread, prompts)

    asyncio.run(together())
