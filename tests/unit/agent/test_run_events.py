"""Every read and write in a run is an event of it, however the run is made and whoever reads or writes."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from conversing import Strict
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo

from retentive import Event, EventType, Memory, open_thread
from retentive.agent import MemoryCapability
from retentive.extraction import VerbatimExtractor
from retentive.stores.in_memory_threads import InMemoryThreadStore


async def by_run(agent: Agent[Any, Any]) -> Any:
    return (await agent.run("Who comes?")).run_id


async def by_iter(agent: Agent[Any, Any]) -> Any:
    async with agent.iter("Who comes?") as run:
        async for _ in run:
            pass
    assert run.result is not None
    return run.result.run_id


async def by_next(agent: Agent[Any, Any]) -> Any:
    """Node by node, as a program does that looks at each."""
    from pydantic_graph import End

    async with agent.iter("Who comes?") as run:
        node = run.next_node
        while not isinstance(node, End):
            node = await run.next(node)
    assert run.result is not None
    return run.result.run_id


every_entry = pytest.mark.parametrize("entry", [by_run, by_iter, by_next])


@every_entry
async def test_what_tools_read_and_write_is_tied_to_the_run(
    entry: Callable[[Agent[Any, Any]], Awaitable[str]],
) -> None:
    async with Memory(store="memory://") as memory:
        sven = await memory.remember("The boiler man is called Sven.", user_id="ada")
        told: list[Event] = []
        memory.subscribe(told.append)
        calls = [
            ToolCallPart("search_memory", {"query": "boiler man"}),
            ToolCallPart("remember", {"content": "Sven comes on Friday."}),
            ToolCallPart("own", {}),
            ToolCallPart("forget", {"memory_id": sven.id}),
        ]

        def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            return ModelResponse(parts=[calls.pop(0) if calls else TextPart("Sven comes.")])

        model = Strict(answer)
        capability = MemoryCapability(memory, mode="llm", user_id="ada", tools=["remember", "forget"])
        agent = Agent(model.model, capabilities=[capability])

        @agent.tool_plain
        async def own() -> str:
            return (await memory.remember("Of a tool of one's own.", user_id="ada")).id

        run_id = await entry(agent)
        report = capability.report(run_id)
        assert report is not None
        assert {event.run for event in told} == {run_id}
        assert list(report.events) == told
        assert {event.verb for event in told} >= {"remember", "forget"}
        assert EventType.MEMORY_READ in {event.type for event in told}
        assert len([event for event in told if event.type is EventType.MEMORY_WRITE]) == 2


async def test_recall_thread_extraction_and_autosave_are_events_of_the_run() -> None:
    async with Memory(store="memory://") as memory:
        await memory.remember("The boiler man is called Sven.", user_id="ada")
        thread = await open_thread("t", store=InMemoryThreadStore())
        capability = MemoryCapability(
            memory, thread=thread, user_id="ada", autosave=True, extractor=VerbatimExtractor()
        )
        result = await Agent(Strict().model, capabilities=[capability]).run("The boiler needs Sven.")
        report = capability.report(result.run_id)
        assert report is not None
        assert {event.run for event in report.events} == {result.run_id}
        told = [(event.type.value, event.verb) for event in report.events]
        asked, answered = thread.messages()
        wrote = [event.ids for event in report.events if event.type is EventType.THREAD_WRITE]
        assert wrote == [(asked.id,), (answered.id,)]
        assert told.index(("thread_read", "refresh")) < told.index(("thread_write", "append"))
        for one in (
            ("memory_read", "recall"),
            ("memory_write", "remember_many"),
            ("memory_read", "notes"),
            ("thread_read", "extract"),
            ("memory_write", "apply"),
        ):
            assert one in told


async def test_extraction_behind_the_run_is_told_to_that_run() -> None:
    async with Memory(store="memory://") as memory:
        store = InMemoryThreadStore()
        capability = MemoryCapability(
            memory, threads=store, user_id="ada", extractor=VerbatimExtractor(), background=True
        )
        agent = Agent(Strict().model, capabilities=[capability])
        runs = {
            name: (await agent.run(f"I am {name}, and I eat plants.", conversation_id=name)).run_id
            for name in ("ann", "bob")
        }
        await capability.drain()
        for name, run_id in runs.items():
            report = capability.report(run_id)
            assert report is not None
            assert {event.run for event in report.events} == {run_id}
            extracted = [event for event in report.events if event.verb == "extract"]
            assert {event.thread for event in extracted} == {name}
            assert report.trace.conversation == name
