"""The declarative Agent: attributes, its three ways to run, its results, and what it opens and closes."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conversing import Strict, all_text, calls_then, fails, user_text
from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from retentive import InvalidInput, Memory, MemoryKind, StoreClosed, open_thread, sync
from retentive.agent import Agent
from retentive.events import EventType
from retentive.stores.in_memory_threads import InMemoryThreadStore


@pytest.fixture
def memory() -> Memory:
    return Memory(store="memory://")


async def test_a_class_says_what_the_agent_is(memory: Memory) -> None:
    strict = Strict(calls_then("order_status", "It is on its way."))

    def order_status() -> str:
        """The status of the order."""
        return "sent"

    class SupportAgent(Agent):
        name = "support_agent"
        model = strict.model
        instructions = "You are a support agent."
        tools = (order_status,)
        memory = None

    support = SupportAgent()
    result = await support.run("Where is it?")
    assert result.output == "It is on its way."
    assert support.pydantic_agent.name == "support_agent"
    assert strict.last[0].instructions == "You are a support agent."  # type: ignore[union-attr]
    assert result.usage.requests == 2
    assert result.all_messages()[-1].parts[0].content == "It is on its way."
    assert (list(result.recalled), result.remembered, result.events) == ([], [], ())
    assert not hasattr(result, "no_such_thing")
    assert "AgentResult" in repr(result)


async def test_a_memory_of_ones_own_is_recalled_and_gets_each_exchange(memory: Memory) -> None:
    await memory.remember("Ada speaks Japanese.", user_id="ada")
    strict = Strict()
    agent = Agent(model=strict.model, memory=memory)
    result = await agent.run("Which language do I speak, Japanese?", user_id="ada")
    assert [hit.content for hit in result.recalled] == ["Ada speaks Japanese."]
    (kept,) = result.remembered
    assert (kept.kind, kept.success, kept.scope.user_id) == (MemoryKind.EPISODIC, True, "ada")
    assert [event.type for event in result.events] == [EventType.MEMORY_READ, EventType.MEMORY_WRITE]
    assert {event.run for event in result.events} == {result.run_id}
    strict.answer = fails
    with pytest.raises(ConnectionError):
        await agent.run("Where do I live?", user_id="ada")
    newest = next(iter(await memory.list(user_id="ada")))
    assert newest.success is False
    silent = Agent(model=Strict().model, memory=memory, memory_autosave=False)
    assert (await silent.run("Hello.", user_id="ada")).remembered == []


async def test_two_users_at_once_share_nothing(memory: Memory) -> None:
    agent = Agent(model=Strict().model, memory=memory)
    ada, bob = await asyncio.gather(
        agent.run("I am Ada.", user_id="ada"), agent.run("I am Bob.", user_id="bob")
    )
    assert {event.scope.user_id for event in ada.events} == {"ada"}
    assert {event.scope.user_id for event in bob.events} == {"bob"}
    assert await memory.count(user_id="ada") == await memory.count(user_id="bob") == 1


async def test_a_thread_or_its_id_is_the_history(tmp_path: Path) -> None:
    strict = Strict()
    agent = Agent(model=strict.model, namespace="support", threads=InMemoryThreadStore())
    await agent.run("I am Petra.", thread="t1")
    await agent.run("Who am I?", thread="t1")
    assert "I am Petra." in user_text(strict.last)
    thread = await open_thread("t2", home=tmp_path)
    assert (await agent.run("Hello.", thread=thread)).output == "Noted."
    assert [turn.content for turn in thread.messages()] == ["Hello.", "Noted."]
    blocking = await asyncio.to_thread(sync.open_thread, "t2", home=tmp_path)
    await agent.run("Again.", thread=blocking)
    assert len(await thread.refresh()) == 4


async def test_a_stream_shows_what_steered_it(memory: Memory, tmp_path: Path) -> None:
    await memory.remember("Ada speaks Japanese.", user_id="ada")
    agent = Agent(model=Strict().model, memory=memory)
    thread = await open_thread("t", home=tmp_path)
    async with agent.run_stream("Which language, Japanese?", user_id="ada", thread=thread) as stream:
        assert stream.recalled[0].content == "Ada speaks Japanese."
        pieces = [piece async for piece in stream.stream_text(delta=True, debounce_by=None)]
    assert "".join(pieces) == thread.messages()[-1].content
    assert [item.kind for item in stream.remembered] == [MemoryKind.EPISODIC]


async def test_the_pydantic_agent_has_the_same_memory(memory: Memory, tmp_path: Path) -> None:
    await memory.remember("Ada speaks Japanese.", user_id="ada")
    strict = Strict()
    agent = Agent(model=strict.model, memory=memory)
    await agent.pydantic_agent.run("Japanese?", metadata={"user_id": "ada"})
    assert "Ada speaks" in user_text(strict.last)
    thread = await open_thread("t", home=tmp_path)
    bound = await agent.capability(user_id="ada", thread=thread)
    async with agent.pydantic_agent.iter("Japanese?", capabilities=[bound]) as run:
        async for _ in run:
            pass
    assert user_text(strict.last).count("recalled-memories>") == 2
    assert len(thread) == 2


async def test_a_structured_answer_is_json_in_the_thread(tmp_path: Path) -> None:
    class City(BaseModel):
        name: str

    def answer(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(
            parts=[TextPart("Hm."), ToolCallPart(info.output_tools[0].name, {"name": "Oslo"})]
        )

    agent = Agent(model=FunctionModel(answer), output_type=City)
    thread = await open_thread("t", home=tmp_path)
    assert (await agent.run("Which?", thread=thread)).output == City(name="Oslo")
    assert [turn.content for turn in thread.messages()] == ["Which?", '{"name":"Oslo"}']
    await agent.run("And?", thread=thread)


async def test_the_default_memory_is_opened_at_the_first_run_and_closed_with_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path))
    monkeypatch.delenv("RETENTIVE_URL", raising=False)
    strict = Strict(calls_then("search_memory", "Sven.", query="boiler"))
    async with Agent(model=strict.model, memory="llm") as agent:
        assert not (tmp_path / "memory.db").exists()
        await agent.run("Who mends the boiler?")
        assert (tmp_path / "memory.db").exists()
    with pytest.raises(StoreClosed):
        await agent.run("Again.")
    assert "Nothing is recorded" in all_text(strict.last)


async def test_auto_extracts_with_the_agents_own_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path))
    asked: list[AgentInfo] = []

    def answer(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(info)
        return ModelResponse(parts=[TextPart("not what an extractor wants")])

    async with Agent(model=FunctionModel(answer), memory="auto") as agent:
        result = await agent.run("I only speak Japanese.", user_id="ada")
    assert result.output == "not what an extractor wants"
    assert len(asked) > 1
    assert any(failure.startswith("extract:") for failure in result.report.failures)


async def test_a_memory_that_was_passed_in_stays_open(memory: Memory) -> None:
    async with Agent(model=Strict().model, memory=memory) as agent:
        await agent.run("Hello.")
    assert await memory.count() == 1


@pytest.mark.parametrize("bad", [{"memory": "always"}, {"memory": 3}, {"instruction": "typo"}])
def test_what_an_agent_has_not_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Agent(model=Strict().model, **bad)


SCRIPT = """
import asyncio, sys, threading
from pydantic_ai.models.test import TestModel
from retentive import open_thread
from retentive.agent import Agent

class Support(Agent):
    model = TestModel(custom_output_text="Noted.")
    memory = "llm"

support = Support()
support.pydantic_agent.model.call_tools = []
loop = asyncio.new_event_loop(); asyncio.set_event_loop(loop); loop.close()
support.run_sync("a", user_id="ada", thread="t")
asyncio.run(support.run("b", user_id="ada", thread="t"))
asyncio.run(support.run("c", user_id="ada", thread="t"))
said_by_ada = {"user_id": "ada", "thread": "t"}
workers = [threading.Thread(target=support.run_sync, args=("d",), kwargs=said_by_ada) for _ in range(3)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
async def inside():
    return support.run_sync("e", user_id="ada", thread="t").output
print(asyncio.run(inside()))
support.run_sync("f", user_id="ada", thread="t")
async def said():
    return [turn.content for turn in (await open_thread("t")).messages() if turn.role == "user"]
print("".join(asyncio.run(said())))
"""


def test_run_sync_works_after_closed_loops_between_loops_and_from_threads(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("Noted.\nabcdddef\n", "", 0)


def test_a_blocking_memory_is_taken_too() -> None:
    with sync.Memory(store="memory://") as memory:
        memory.remember("Ada speaks Japanese.")
        result = Agent(model=Strict().model, memory=memory).run_sync("Japanese?")
        assert result.recalled[0].content == "Ada speaks Japanese."
        assert memory.count() == 2


async def test_a_block_of_an_agent_ends_the_connections_of_its_model_also_when_it_fails() -> None:
    class Connected(FunctionModel):
        open = 0

        async def __aenter__(self) -> "Connected":
            self.open += 1
            return self

        async def __aexit__(self, *_: object) -> None:
            self.open -= 1

    model = Connected(lambda _, __: ModelResponse(parts=[TextPart("Noted.")]))

    async def fail() -> None:
        async with Agent(model=model) as agent:
            await agent.run("Hello.")
            assert model.open == 1
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert model.open == 0
