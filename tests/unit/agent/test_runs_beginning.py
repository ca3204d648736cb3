"""How a run begins and what it is asked: nothing is lost when it is cut off, and nothing begins twice."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from conversing import Strict, all_text, calls_then, fails, says, user_text
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from retentive import Conflict, InvalidInput, Memory, Thread, open_thread
from retentive.agent import MemoryCapability, RunState
from retentive.extraction import VerbatimExtractor
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.testing.embedders import HashingEmbedder

FACT = "User prefers email over phone."
ASKED = "How will you reach me, by email or phone?"


@pytest.fixture
async def memory() -> AsyncIterator[Memory]:
    async with Memory(store="memory://", embedder=HashingEmbedder()) as memory:
        yield memory


@pytest.fixture
async def thread() -> Thread:
    return await open_thread("t", store=InMemoryThreadStore())


def said(thread: Thread) -> list[tuple[str, str, object]]:
    return [(turn.role, turn.content, turn.metadata.get("state")) for turn in thread.messages()]


async def kept(memory: Memory) -> list[tuple[str, bool | None]]:
    return [(item.content, item.success) for item in await memory.list(kinds="episodic")]


class Hanging(HashingEmbedder):
    """Never embeds; `reached` says that it was asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()
        self.hangs = True

    async def embed(self, *args: Any, **kwargs: Any) -> Any:
        self.reached.set()
        if self.hangs:
            await asyncio.Event().wait()
        return await super().embed(*args, **kwargs)


@pytest.mark.parametrize("threaded", [True, False])
async def test_a_run_cancelled_while_it_recalls_is_finished_off(threaded: bool, thread: Thread) -> None:
    embedder = Hanging()
    async with Memory(store="memory://", embedder=embedder) as memory:
        embedder.hangs = False
        await memory.remember(FACT)
        embedder.hangs = True
        embedder.reached.clear()
        capability = MemoryCapability(
            memory,
            thread=thread if threaded else None,
            autosave=True,
            extractor=VerbatimExtractor(),
            recall_ms=60_000,
        )
        model = Strict()
        task = asyncio.create_task(Agent(model.model, capabilities=[capability]).run(ASKED, run_id="r"))
        await embedder.reached.wait()
        embedder.hangs = False
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        report = capability.report("r")
        assert report is not None
        assert report.state is RunState.INTERRUPTED
        assert model.requests == []
        assert said(thread) == ([("user", ASKED, None)] if threaded else [])
        lost = f"User: {ASKED}\nAssistant: (no answer: the run was interrupted)"
        assert (lost, False) in await kept(memory)
        notes = await memory.notes("exchange/")
        assert all(b'"is_open":true' not in note.replace(b" ", b"") for note in notes.values())


async def test_a_run_that_could_not_begin_has_failed_and_keeps_nothing(
    memory: Memory, thread: Thread
) -> None:
    await thread.append("Hello.", metadata={"run": "other", "user_id": "bob"})
    capability = MemoryCapability(memory, thread=thread, user_id="ada", autosave=True)
    with pytest.raises(Conflict):
        await Agent(Strict().model, capabilities=[capability]).run(ASKED, run_id="r")
    report = capability.report("r")
    assert report is not None
    assert report.state is RunState.FAILED
    assert await memory.count(user_id="ada") == 0


async def test_a_run_inside_a_run_on_its_thread_is_told_at_once(thread: Thread) -> None:
    inner = Agent(Strict().model, capabilities=[MemoryCapability(thread=thread, thread_wait_s=1e6)])
    outer = Agent(
        Strict(calls_then("ask", "Well.")).model,
        capabilities=[MemoryCapability(thread=thread, extractor=None)],
    )

    async def ask() -> str:
        try:
            await inner.run("And inside?")
        except Conflict as error:
            return str(error)
        return "it ran"

    outer.tool_plain(ask)
    result = await outer.run("Outside.")
    assert "would wait for itself" in all_text(result.all_messages())
    assert said(thread) == [("user", "Outside.", None), ("assistant", "Well.", None)]


async def test_a_task_that_outlives_the_run_it_was_begun_in_may_run_on_the_thread(thread: Thread) -> None:
    agent = Agent(Strict().model, capabilities=[MemoryCapability(thread=thread)])
    outer = Agent(Strict(calls_then("later", "Well.")).model, capabilities=[MemoryCapability(thread=thread)])
    over = asyncio.Event()
    tasks: list[asyncio.Task[Any]] = []

    async def afterwards() -> None:
        await over.wait()
        await agent.run("Afterwards.")

    async def later() -> str:
        tasks.append(asyncio.create_task(afterwards()))
        return "begun"

    outer.tool_plain(later)
    await outer.run("First.")
    over.set()
    await tasks[0]
    assert [turn.content for turn in thread.messages()] == ["First.", "Well.", "Afterwards.", "Noted."]


async def test_a_thread_of_the_same_name_elsewhere_is_another(thread: Thread) -> None:
    other = await open_thread("t", store=InMemoryThreadStore())
    inner = Agent(Strict().model, capabilities=[MemoryCapability(thread=other)])
    outer = Agent(Strict(calls_then("ask", "Well.")).model, capabilities=[MemoryCapability(thread=thread)])

    async def ask() -> str:
        return (await inner.run("And inside?")).output

    outer.tool_plain(ask)
    await outer.run("Outside.")
    assert len(other) == len(thread) == 2


@pytest.mark.parametrize("bad", ["a\x00b", "a\ud800", "x" * 1_000_001])
@pytest.mark.parametrize("mode", ["auto", "llm", "off"])
@pytest.mark.parametrize("threaded", [True, False])
async def test_what_no_store_can_keep_is_refused_in_every_mode_before_anything(
    memory: Memory, thread: Thread, mode: Any, threaded: bool, bad: str
) -> None:
    model = Strict()
    capability = MemoryCapability(memory, mode=mode, thread=thread if threaded else None, autosave=True)
    with pytest.raises(InvalidInput, match="prompt"):
        await Agent(model.model, capabilities=[capability]).run(bad)
    assert model.requests == []
    assert len(thread) == await memory.count() == len(await memory.notes()) == 0


@pytest.mark.parametrize("threaded", [True, False])
async def test_a_user_that_is_none_is_refused_with_and_without_a_memory(
    threaded: bool, memory: Memory, thread: Thread
) -> None:
    capability = MemoryCapability(None if threaded else memory, thread=thread if threaded else None)
    with pytest.raises(InvalidInput, match="user_id"):
        await Agent(Strict().model, capabilities=[capability]).run(ASKED, metadata={"user_id": 5})
    assert len(thread) == 0


def asks(text: str) -> list[ModelMessage]:
    return [ModelRequest(parts=[UserPromptPart(text)])]


async def test_words_of_the_user_at_the_end_of_a_message_history_are_what_is_asked(
    memory: Memory, thread: Thread
) -> None:
    await memory.remember(FACT)
    await thread.append_many(["Hello.", {"content": "Hi.", "role": "assistant"}])
    model = Strict(says("By email."))
    capability = MemoryCapability(memory, thread=thread, autosave=True, extractor=VerbatimExtractor())
    result = await Agent(model.model, capabilities=[capability]).run(message_history=asks(ASKED))
    report = capability.report(result.run_id)
    assert report is not None
    assert [hit.content for hit in report.recalled] == [FACT]
    assert said(thread)[2:] == [("user", ASKED, None), ("assistant", "By email.", None)]
    assert (f"User: {ASKED}\nAssistant: By email.", True) in await kept(memory)
    assert user_text(model.last).startswith("Hello.")  # the thread was sent ahead: there was no history
    assert FACT in user_text(model.last)


async def test_a_run_that_goes_on_where_another_failed_asks_once(thread: Thread) -> None:
    model = Strict(fails)
    agent = Agent(model.model, capabilities=[MemoryCapability(thread=thread)])
    with pytest.raises(ConnectionError):
        await agent.run(ASKED)
    unanswered = [one for one in model.last if isinstance(one, ModelRequest)]
    model.answer = says("By email.")
    await agent.run(message_history=unanswered)
    assert said(thread) == [("user", ASKED, None), ("assistant", "By email.", None)]
    assert user_text(model.last) == ASKED
    await agent.run("And now?")
    assert [turn.content for turn in thread.messages()][2:] == ["And now?", "By email."]


def last_two(messages: list[ModelMessage]) -> list[ModelMessage]:
    return messages[-2:]


def rewritten(messages: list[ModelMessage]) -> list[ModelMessage]:
    tail = messages[1:] if len(messages) > 1 else []
    return [ModelRequest(parts=[UserPromptPart("Summed up.")]), *tail]


def look() -> str:
    return "found"


@pytest.mark.parametrize("processor", [last_two, rewritten])
@pytest.mark.parametrize("first", [True, False])
async def test_what_rewrites_the_history_does_not_take_away_what_memory_adds(
    memory: Memory, thread: Thread, processor: Any, first: bool
) -> None:
    await memory.remember(FACT)
    await thread.append_many(["Hello.", {"content": "Hi.", "role": "assistant"}])
    model = Strict(calls_then("look", "By email."))
    capability = MemoryCapability(memory, thread=thread, extractor=None)
    others = [ProcessHistory(processor)]
    agent = Agent(model.model, capabilities=[capability, *others] if first else [*others, capability])
    agent.tool_plain(look)
    result = await agent.run(ASKED)
    assert len(model.requests) == 2
    for request in model.requests:
        assert all_text(request).count(FACT) == 1
        assert all_text(request).startswith("Hello.\nHi.\n")
    assert FACT not in all_text(result.all_messages())


class Plan(BaseModel):
    plan: str
    days: int


def structured(*pieces: str) -> FunctionModel:
    async def stream(_: list[ModelMessage], info: AgentInfo) -> AsyncIterator[dict[int, DeltaToolCall]]:
        yield {0: DeltaToolCall(info.output_tools[0].name, "")}
        for piece in pieces:
            yield {0: DeltaToolCall(None, piece)}
        await asyncio.Event().wait()

    return FunctionModel(stream_function=stream)


@pytest.mark.parametrize("cancels", [1, 2, 3, 5, 10])
async def test_what_came_of_a_structured_answer_is_kept_when_it_is_interrupted(
    thread: Thread, cancels: int
) -> None:
    model = structured('{"plan":"buy milk', ' and bread","days":1')
    agent = Agent(model, output_type=Plan, capabilities=[MemoryCapability(thread=thread)])
    seen = asyncio.Event()

    async def read() -> None:
        async with agent.run_stream("Plan!") as stream:
            async for partial in stream.stream_output(debounce_by=None):
                assert partial.days == 1
                seen.set()

    task = asyncio.create_task(read())
    async with asyncio.timeout(10):
        await seen.wait()
    for _ in range(cancels):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert said(thread)[0] == ("user", "Plan!", None)
    role, content, state = said(thread)[1]
    assert (role, state) == ("assistant", "interrupted")
    assert content.startswith('{"plan":"buy milk and bread"')


@pytest.mark.parametrize("cancels", [1, 2, 3, 5])
@pytest.mark.parametrize("entry", ["run_stream", "run_stream_events"])
async def test_text_that_had_come_survives_cancels_in_quick_succession(
    thread: Thread, cancels: int, entry: str
) -> None:
    model = Strict()
    model.hangs = True
    agent = Agent(model.model, capabilities=[MemoryCapability(thread=thread)])

    async def read() -> None:
        if entry == "run_stream":
            async with agent.run_stream("Hello.") as stream:
                async for _ in stream.stream_text(delta=True, debounce_by=None):
                    pass
        else:
            async with agent.run_stream_events("Hello.") as events:
                async for _ in events:
                    pass

    task = asyncio.create_task(read())
    await model.reached.wait()
    for _ in range(cancels):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert said(thread) == [("user", "Hello.", None), ("assistant", "part0 part1 part2 ", "interrupted")]
