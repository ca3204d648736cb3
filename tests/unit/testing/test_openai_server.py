"""The local OpenAI server says what it was told to, through the official client and pydantic-ai's."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import openai
import pytest
import pytest_asyncio
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from retentive.testing.openai_server import Answer, Gate, OpenAIServer


class Sum(BaseModel):
    value: int


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest_asyncio.fixture
async def client(server: OpenAIServer) -> AsyncIterator[AsyncOpenAI]:
    client = AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=1)
    yield client
    await client.close()


@pytest.fixture
def model(client: AsyncOpenAI) -> OpenAIChatModel:
    return OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))


async def stream(client: AsyncOpenAI) -> list[str]:
    said: list[str] = []
    try:
        answer = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        async for chunk in answer:
            said += [choice.delta.content for choice in chunk.choices if choice.delta.content]
    except openai.APIError:
        said.append("<broken>")
    return said


async def test_tools_are_called_and_every_request_is_kept(
    server: OpenAIServer, model: OpenAIChatModel
) -> None:
    agent = Agent(model)

    @agent.tool_plain
    def add(a: int, b: int) -> int:  # pyright: ignore[reportUnusedFunction]
        return a + b

    server.chat(Answer(calls=[("add", {"a": 1, "b": 2})]), "three")
    result = await agent.run("what is 1 + 2?")
    assert result.output == "three"
    assert result.usage.requests == len(server.chats) == 2
    assert result.usage.input_tokens
    assert server.chats[1].said.splitlines()[0] == "what is 1 + 2?"
    assert server.chats[1].messages[-1]["content"] == "3"


@pytest.mark.parametrize("output", [Sum, NativeOutput(Sum)])
async def test_structured_output_comes_as_it_is_asked_for(
    server: OpenAIServer, model: OpenAIChatModel, output: type[Sum]
) -> None:
    server.chat(Answer(output={"value": 3}))
    assert (await Agent(model, output_type=output).run("sum")).output == Sum(value=3)


async def test_a_stream_comes_word_by_word_or_is_cut(server: OpenAIServer, client: AsyncOpenAI) -> None:
    server.chat("a b c", Answer(text="a b c", cut_after=3))
    assert await stream(client) == ["a", " b", " c"]
    assert await stream(client) == ["a", " b", "<broken>"]


async def test_a_stream_is_held_and_the_client_may_leave(server: OpenAIServer, client: AsyncOpenAI) -> None:
    gate = Gate()
    server.chat(Answer(text="a b c " * 200, gate=gate, gate_at=2))
    task = asyncio.create_task(stream(client))
    assert await asyncio.to_thread(gate.reached.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.open()
    assert await asyncio.to_thread(server.chats[0].gone.wait, 10)


async def test_a_retry_is_a_request_and_takes_the_next_answer(
    server: OpenAIServer, model: OpenAIChatModel
) -> None:
    server.chat(Answer(status=429, retry_after_s=0.001), "at last")
    assert (await Agent(model).run("hi")).output == "at last"
    assert len(server.chats) == 2


async def test_a_script_decides_by_the_request(server: OpenAIServer, model: OpenAIChatModel) -> None:
    server.script_chat(lambda asked: Answer(text=asked.said.upper()))
    assert (await Agent(model).run("hello")).output == "HELLO"
    server.script_chat(None)
    assert (await Agent(model).run("hello")).output == "ok"


@pytest.mark.parametrize("format", ["float", "base64"])
async def test_embeddings_come_as_numbers_or_packed(server: OpenAIServer, format: str) -> None:
    with openai.OpenAI(base_url=server.base_url, api_key="k") as client:
        answer = client.with_raw_response.embeddings.create(
            model="m",
            input=["a", "b"],
            encoding_format=format,  # pyright: ignore[reportArgumentType]
        )
        row = answer.http_response.json()["data"][1]
    assert row["index"] == 1
    assert isinstance(row["embedding"], str if format == "base64" else list)


async def test_only_the_key_is_let_in() -> None:
    with (
        OpenAIServer(key="right") as server,
        openai.OpenAI(base_url=server.base_url, api_key="wrong") as wrong,
    ):
        with pytest.raises(openai.AuthenticationError):
            wrong.embeddings.create(model="m", input="a")
        with pytest.raises(openai.NotFoundError):
            wrong.models.list()
    assert server.asked == []


async def test_closing_ends_answers_that_are_held() -> None:
    gate = Gate()
    with OpenAIServer() as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=0)
        server.embed(Answer(gate=gate))
        task = asyncio.create_task(client.embeddings.create(model="m", input="a"))
        assert await asyncio.to_thread(gate.reached.wait, 10)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await client.close()
