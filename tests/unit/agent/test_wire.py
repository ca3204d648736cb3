"""The whole loop over HTTP, through pydantic-ai's own OpenAI client, also when the service goes wrong."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import openai
import pytest
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from retentive import Memory, Thread, open_thread
from retentive.agent import MemoryCapability
from retentive.ranking.render import parse
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.testing.openai_server import Answer, Gate, OpenAIServer

FAULTS = {
    "429": Answer(status=429),
    "500": Answer(status=500),
    "nonsense": Answer(body=b"{not json"),
    "reset": Answer(reset=True),
    "cut": Answer(text="It is on its way to you.", cut_after=3),
}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(otherwise="Noted.") as server:
        yield server


@pytest.fixture
async def model(server: OpenAIServer) -> AsyncIterator[OpenAIChatModel]:
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client:
        yield OpenAIChatModel("small", provider=OpenAIProvider(openai_client=client))


@pytest.fixture
async def thread() -> Thread:
    return await open_thread("t", store=InMemoryThreadStore())


async def go(agent: Agent[Any, Any], how: str, prompt: str) -> None:
    if how == "run":
        await agent.run(prompt)
        return
    async with agent.run_stream(prompt) as stream:
        async for _ in stream.stream_text(delta=True, debounce_by=None):
            pass


def said(thread: Thread) -> list[tuple[str, object]]:
    return [(turn.role, turn.metadata.get("state")) for turn in thread.messages()]


@pytest.mark.parametrize("how", ["run", "stream"])
async def test_the_wire_carries_the_turns_and_the_block_as_the_users(
    server: OpenAIServer, model: OpenAIChatModel, thread: Thread, how: str
) -> None:
    memory = Memory(store="memory://")
    await memory.remember("The boiler man is called Sven.")
    capability = MemoryCapability(memory, thread=thread, extractor=None)
    agent = Agent(model, capabilities=[capability], instructions="Be kind.")
    await go(agent, how, "Hello.")
    await go(agent, how, "Who is the boiler man?")
    sent = server.chats[-1].messages
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert [message["content"] for message in sent[:3]] == ["Be kind.", "Hello.", "Noted."]
    assert parse(str(sent[3]["content"])) == ["The boiler man is called Sven."]
    assert said(thread) == [("user", None), ("assistant", None)] * 2


@pytest.mark.parametrize("how", ["run", "stream"])
@pytest.mark.parametrize("fault", list(FAULTS))
async def test_a_service_that_goes_wrong_costs_no_turn_and_the_next_run_is_taken(
    server: OpenAIServer, model: OpenAIChatModel, thread: Thread, fault: str, how: str
) -> None:
    agent = Agent(model, capabilities=[MemoryCapability(thread=thread)])
    server.chat(FAULTS[fault])
    failed = False
    try:
        await go(agent, how, "Where is it?")
    except Exception:  # noqa: BLE001 - whatever the client makes of it
        failed = True
    first, *rest = said(thread)
    assert first == ("user", None)
    if failed:
        assert rest in ([], [("assistant", "failed")])
    await go(agent, how, "And now?")
    assert thread.messages()[-1].content == "Noted."
    roles = [message["role"] for message in server.chats[-1].messages]
    assert all(a != b for a, b in itertools.pairwise(roles))


async def test_a_slow_answer_that_is_cancelled_leaves_what_had_come(
    server: OpenAIServer, model: OpenAIChatModel, thread: Thread
) -> None:
    gate = Gate()
    server.chat(Answer(text="It is on its way to you.", gate=gate, gate_at=4))
    agent = Agent(model, capabilities=[MemoryCapability(thread=thread)])
    task = asyncio.create_task(go(agent, "stream", "Where is it?"))
    await asyncio.to_thread(gate.reached.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.open()
    assert said(thread)[0] == ("user", None)
    assert all(state == "interrupted" for _, state in said(thread)[1:])
    assert len(thread) <= 2
    await go(agent, "run", "And now?")


async def test_an_extraction_that_fails_does_not_fail_the_run_and_is_caught_up_by_the_next(
    server: OpenAIServer, model: OpenAIChatModel, thread: Thread
) -> None:
    memory = Memory(store="memory://")
    capability = MemoryCapability(memory, thread=thread, user_id="ada")
    agent = Agent(model, capabilities=[capability])
    server.chat("Noted.", Answer(status=500))
    result = await agent.run("I only eat plants, never meat.")
    assert result.output == "Noted."
    report = capability.report(result.run_id)
    assert report is not None
    assert report.failures
    assert await memory.count(user_id="ada") == 0
    statement = {
        "content": "Ada eats only plants.",
        "kind": "semantic",
        "importance": 0.9,
        "turns": [1],
        "decision": "new",
    }
    server.chat("Noted too.", Answer(output={"statements": [statement]}))
    second = capability.report((await agent.run("I also love olives a lot.")).run_id)
    assert second is not None
    assert second.failures == []
    assert [item.content for item in second.remembered] == ["Ada eats only plants."]
    assert second.remembered[0].source is not None
    assert second.remembered[0].source.turns == (1,)
