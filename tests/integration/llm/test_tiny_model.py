"""Runs against a real model over loopback: what is kept and in which order, never what it says."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel, Field
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import NativeOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel
from tiny_model import CONTEXT, KEY, NAME, TinyModel

from retentive import Memory, Thread, open_thread
from retentive.agent import Agent, MemoryCapability
from retentive.conversation import Conversation
from retentive.ranking.render import OPENING
from retentive.stores.in_memory_threads import InMemoryThreadStore

FIRST, SECOND = "My parcel is late.", "And where is it now?"

ONE_RUN = """
import asyncio, json, sys
from pathlib import Path
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from retentive import open_thread
from retentive.agent import Agent

home, url, key, name, prompt = sys.argv[1:]

async def main():
    async with AsyncOpenAI(base_url=url, api_key=key, max_retries=0) as client:
        model = OpenAIChatModel(
            name, provider=OpenAIProvider(openai_client=client), settings={"max_tokens": 24}
        )
        thread = await open_thread("t", home=Path(home))
        result = await Agent(model=model).run(prompt, thread=thread, user_id="ada")
        print(json.dumps([result.output, result.usage.input_tokens]))

asyncio.run(main())
"""


def said(conversation: Conversation) -> list[tuple[str, object]]:
    return [(turn.role, turn.metadata.get("state")) for turn in conversation]


def asked(conversation: Conversation) -> list[str]:
    return [turn.content for turn in conversation if turn.role == "user"]


async def test_a_thread_goes_on_in_another_process_where_the_first_left_it(
    tiny: TinyModel, tmp_path: Path
) -> None:
    def run(prompt: str) -> tuple[str, int]:
        command = [sys.executable, "-c", ONE_RUN, str(tmp_path), tiny.base_url, KEY, NAME, prompt]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=True)
        output, tokens = json.loads(done.stdout)
        return output, tokens

    first, tokens = await asyncio.to_thread(run, FIRST)
    second, more_tokens = await asyncio.to_thread(run, SECOND)
    turns = (await open_thread("t", home=tmp_path)).messages()
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", FIRST),
        ("assistant", first),
        ("user", SECOND),
        ("assistant", second),
    ]
    assert first.strip()
    assert more_tokens > tokens  # the first two turns were sent along


async def test_the_pieces_of_a_stream_are_the_answer_that_is_kept(
    model: OpenAIChatModel, thread: Thread
) -> None:
    async with Agent(model=model).run_stream(FIRST, thread=thread) as stream:
        pieces = [piece async for piece in stream.stream_text(delta=True, debounce_by=None)]
    assert len(pieces) > 1
    assert [turn.content for turn in thread.messages()] == [FIRST, "".join(pieces)]


async def test_a_stream_that_is_cancelled_keeps_what_had_come_and_frees_the_models_slot(
    tiny: TinyModel, thread: Thread
) -> None:
    limit, got, begun = 3_000, list[str](), asyncio.Event()
    before = tiny.tokens_written()
    async with tiny.model(max_tokens=limit, extra_body={"ignore_eos": True}) as endless:

        async def speak() -> None:
            async with Agent(model=endless).run_stream(FIRST, thread=thread) as stream:
                async for piece in stream.stream_text(delta=True, debounce_by=None):
                    got.append(piece)
                    begun.set()

        task = asyncio.create_task(speak())
        await begun.wait()
        assert tiny.busy() == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with asyncio.timeout(60):
        while await asyncio.to_thread(tiny.busy):
            pass
    assert tiny.tokens_written() - before < limit
    assert said(thread.messages()) == [("user", None), ("assistant", "interrupted")]
    kept = thread.messages()[-1].content
    assert "".join(got).startswith(kept) or kept.startswith("".join(got))
    async with tiny.model() as model:
        await Agent(model=model).run(SECOND, thread=thread)
    assert asked(thread.messages()) == [FIRST, SECOND]
    assert said(thread.messages())[2:] == [("user", None), ("assistant", None)]


async def test_an_answer_of_a_fixed_form_is_kept_as_that_form(model: OpenAIChatModel, thread: Thread) -> None:
    class Person(BaseModel):
        name: str = Field(max_length=20)
        age: int = Field(ge=0, le=150)

    agent = Agent(model=model, output_type=NativeOutput(Person))
    result = await agent.run("John turned 34 on Tuesday.", thread=thread)
    assert isinstance(result.output, Person)
    assert Person.model_validate_json(thread.messages()[-1].content) == result.output


async def test_a_wrong_key_costs_no_turn(tiny: TinyModel, thread: Thread) -> None:
    async with tiny.model(key="wrong") as shut:
        with pytest.raises(ModelHTTPError) as raised:
            await Agent(model=shut).run(FIRST, thread=thread)
    assert raised.value.status_code == 401
    assert said(thread.messages()) == [("user", None)]
    async with tiny.model() as model:
        await Agent(model=model).run(SECOND, thread=thread)
    assert asked(thread.messages()) == [FIRST, SECOND]
    assert said(thread.messages())[-1] == ("assistant", None)


async def test_a_turn_too_long_for_the_model_is_kept_and_the_thread_goes_on_without_sending_it(
    model: OpenAIChatModel, thread: Thread
) -> None:
    long = "word " * CONTEXT
    capability = MemoryCapability(thread=thread, history_tokens=CONTEXT // 4)
    agent = PydanticAgent(model, capabilities=[capability])
    with pytest.raises(ModelHTTPError) as raised:
        await agent.run(long)
    assert raised.value.status_code == 400
    await agent.run(SECOND)
    assert asked(thread.messages()) == [long, SECOND]
    assert said(thread.messages())[-1] == ("assistant", None)


async def test_more_runs_than_the_model_has_slots_keep_their_users_and_threads_apart(
    model: OpenAIChatModel,
) -> None:
    store, users = InMemoryThreadStore(), ["ada", "bob", "cyd", "dan"]
    async with Memory(store="memory://") as memory:
        for user in users:
            await memory.remember(f"The parcel of {user} is at the depot.", user_id=user)
        agent = Agent(model=model, memory=memory, threads=store)
        results = await asyncio.gather(
            *(agent.run(f"Where is my parcel? ({user})", user_id=user, thread=user) for user in users)
        )
        for user, result in zip(users, results, strict=True):
            assert [hit.content for hit in result.recalled] == [f"The parcel of {user} is at the depot."]
            turns = (await open_thread(user, store=store)).messages()
            assert [turn.content for turn in turns] == [f"Where is my parcel? ({user})", result.output]
            assert await memory.count(user_id=user) == 2  # and the exchange


async def test_runs_on_one_thread_at_once_come_one_after_another(
    model: OpenAIChatModel, thread: Thread
) -> None:
    agent = Agent(model=model)
    results = await asyncio.gather(*(agent.run(text, thread=thread) for text in (FIRST, SECOND)))
    turns = thread.messages()
    pairs = {(turns[at].content, turns[at + 1].content) for at in (0, 2)}
    assert pairs == {(FIRST, results[0].output), (SECOND, results[1].output)}
    assert [turn.role for turn in turns] == ["user", "assistant"] * 2


async def test_what_is_recalled_reaches_the_model_and_not_the_thread(
    model: OpenAIChatModel, thread: Thread
) -> None:
    async with Memory(store="memory://") as memory:
        agent = Agent(model=model, memory=memory, memory_autosave=False)
        bare = await agent.run(FIRST, user_id="ada")
        await memory.remember("The parcel is late because of the storm.", user_id="ada")
        result = await agent.run(FIRST, user_id="ada", thread=thread)
    assert [hit.content for hit in result.recalled] == ["The parcel is late because of the storm."]
    assert result.usage.input_tokens > bare.usage.input_tokens
    assert not any(OPENING in turn.content for turn in thread.messages().filter(role="user"))
    assert OPENING not in result.all_messages_json().decode()
