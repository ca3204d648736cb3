"""Every way to run an agent and every way for a run to end: the thread holds what was said, once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from conversing import Strict, calls_then, fails
from pydantic_ai import Agent, CancellationToken
from pydantic_ai.exceptions import RunCancelled, RunTimedOut, UnexpectedModelBehavior

from retentive import Memory, MemoryKind, StoreUnavailable, Thread, open_thread
from retentive.agent import MemoryCapability, RunState
from retentive.events import Event, EventType
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.threads import lease

Entry = Callable[..., Awaitable[None]]


async def by_run(agent: Agent[Any, Any], prompt: str, **more: Any) -> None:
    await agent.run(prompt, **more)


async def by_run_stream(agent: Agent[Any, Any], prompt: str, **more: Any) -> None:
    async with agent.run_stream(prompt, **more) as stream:
        async for _ in stream.stream_text(delta=True, debounce_by=None):
            pass


async def by_run_stream_events(agent: Agent[Any, Any], prompt: str, **more: Any) -> None:
    async with agent.run_stream_events(prompt, **more) as events:
        async for _ in events:
            pass


async def by_iter(agent: Agent[Any, Any], prompt: str, **more: Any) -> None:
    async with agent.iter(prompt, **more) as run:
        async for _ in run:
            pass


ENTRIES = [by_run, by_run_stream, by_run_stream_events, by_iter]
STREAMS = {by_run_stream, by_run_stream_events}
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__[3:])


class FailingThreads(InMemoryThreadStore):
    """A store of threads whose disk fills up after so many appends."""

    def __init__(self) -> None:
        super().__init__()
        self.appends_left = 1 << 30
        self.holds: asyncio.Event | None = None
        self.held = asyncio.Event()

    async def append(self, *args: Any, **kwargs: Any) -> Any:
        if self.holds is not None:
            self.held.set()
            await self.holds.wait()
        if self.appends_left == 0:
            raise StoreUnavailable("no space left; nothing was changed")
        self.appends_left -= 1
        return await super().append(*args, **kwargs)


class Scene:
    """A thread, a memory, a strict model and an agent that has them."""

    def __init__(self, thread: Thread, memory: Memory, store: FailingThreads) -> None:
        self.thread = thread
        self.memory = memory
        self.store = store
        self.model = Strict()
        self.events: list[Event] = []
        memory.subscribe(self.events.append)
        self.capability = MemoryCapability(
            memory, thread=thread, user_id="ada", autosave=True, extractor=None, thread_wait_s=5
        )
        self.agent = Agent(self.model.model, capabilities=[self.capability], system_prompt="Be kind.")

    def said(self) -> list[tuple[str, str, object]]:
        return [(turn.role, turn.content, turn.metadata.get("state")) for turn in self.thread.messages()]

    async def episodes(self) -> list[tuple[bool | None, str]]:
        page = await self.memory.list(user_id="ada", kinds=MemoryKind.EPISODIC)
        return [(item.success, item.content) for item in page]


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    store = FailingThreads()
    thread = await open_thread("t", store=store)
    async with Memory(store="memory://") as memory:
        yield Scene(thread, memory, store)


def answer_of(entry: Entry) -> str:
    return "".join(f"part{n} " for n in range(6)) if entry in STREAMS else "Noted."


def partial_of(entry: Entry) -> list[tuple[str, str, object]]:
    """What was there when a stream hung after its third piece."""
    return [("assistant", "part0 part1 part2 ", "interrupted")] if entry in STREAMS else []


async def next_run_is_taken(scene: Scene) -> None:
    scene.model.hangs = False
    scene.model.answer = Strict().answer
    scene.model.breaks_after = None
    before = len(scene.thread)
    await scene.agent.run("And now?")
    assert scene.said()[before:] == [("user", "And now?", None), ("assistant", "Noted.", None)]


@every_entry
async def test_a_run_that_ends_well_leaves_both_turns_and_one_episode(scene: Scene, entry: Entry) -> None:
    await entry(scene.agent, "Hello.")
    answer = answer_of(entry)
    assert scene.said() == [("user", "Hello.", None), ("assistant", answer, None)]
    assert await scene.episodes() == [(True, f"User: Hello.\nAssistant: {answer}")]
    await next_run_is_taken(scene)


@every_entry
async def test_the_users_turn_is_durable_before_the_model_is_asked(scene: Scene, entry: Entry) -> None:
    scene.model.hangs = True
    task = asyncio.ensure_future(entry(scene.agent, "Hello."))
    await scene.model.reached.wait()
    there = await scene.store.turns("default", "t")
    assert [turn.content for turn in there.turns] == ["Hello."]
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@every_entry
async def test_a_failing_model_leaves_the_users_turn_and_what_had_come(scene: Scene, entry: Entry) -> None:
    scene.model.answer = fails
    scene.model.breaks_after = 2
    with pytest.raises(ConnectionError):
        await entry(scene.agent, "Hello.")
    half = [("assistant", "part0 part1 ", "failed")] if entry in STREAMS else []
    assert scene.said() == [("user", "Hello.", None), *half]
    assert [success for success, _ in await scene.episodes()] == [False]
    await next_run_is_taken(scene)


@pytest.mark.parametrize("entry", [by_run, by_iter], ids=lambda entry: entry.__name__[3:])
async def test_a_failing_tool_leaves_no_tool_traffic(scene: Scene, entry: Entry) -> None:
    def look() -> str:
        raise ValueError("the tool broke")

    scene.agent.tool_plain(look)
    scene.model.answer = calls_then("look", "Done.")
    with pytest.raises(ValueError, match="the tool broke"):
        await entry(scene.agent, "Hello.")
    assert scene.said() == [("user", "Hello.", None), ("assistant", "Let me see.", "failed")]
    await next_run_is_taken(scene)


@pytest.mark.parametrize("entry", [by_run, by_iter], ids=lambda entry: entry.__name__[3:])
async def test_a_run_with_tools_leaves_the_answer_alone(scene: Scene, entry: Entry) -> None:
    def look() -> str:
        return "found it"

    scene.agent.tool_plain(look)
    scene.model.answer = calls_then("look", "Done.")
    await entry(scene.agent, "Hello.")
    assert scene.said() == [("user", "Hello.", None), ("assistant", "Done.", None)]
    await next_run_is_taken(scene)


@every_entry
async def test_a_cancelled_task_leaves_what_had_come(scene: Scene, entry: Entry) -> None:
    scene.model.hangs = True
    task = asyncio.ensure_future(entry(scene.agent, "Hello."))
    await scene.model.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scene.said() == [("user", "Hello.", None), *partial_of(entry)]
    assert [success for success, _ in await scene.episodes()] == [False]
    await next_run_is_taken(scene)


@every_entry
async def test_a_second_cancellation_while_the_answer_is_written_does_not_lose_it(
    scene: Scene, entry: Entry
) -> None:
    scene.model.hangs = True
    task = asyncio.ensure_future(entry(scene.agent, "Hello."))
    await scene.model.reached.wait()
    scene.store.holds = asyncio.Event()
    task.cancel()
    if entry in STREAMS:
        await scene.store.held.wait()
    for _ in range(20):
        await asyncio.sleep(0)
        task.cancel()
    scene.store.holds.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with lease(scene.thread, 5):  # run_stream_events leaves the run's own task behind
        assert scene.said() == [("user", "Hello.", None), *partial_of(entry)]
    await next_run_is_taken(scene)


@every_entry
async def test_a_storm_of_cancellations_leaves_nothing_by_halves(scene: Scene, entry: Entry) -> None:
    for times in range(1, 12):
        scene.model.hangs = True
        scene.model.reached.clear()
        before = len(scene.thread)
        task = asyncio.ensure_future(entry(scene.agent, "Hello."))
        await scene.model.reached.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        async with lease(scene.thread, 5):
            user, *partial = scene.said()[before:]
            assert user == ("user", "Hello.", None)
            assert partial in ([], partial_of(entry))  # pydantic-ai itself may be cut off in keeping it
    await next_run_is_taken(scene)


@every_entry
async def test_a_token_ends_a_run_as_a_cancelled_task_does(scene: Scene, entry: Entry) -> None:
    scene.model.hangs = True
    token = CancellationToken()
    task = asyncio.ensure_future(entry(scene.agent, "Hello.", cancellation_token=token))
    await scene.model.reached.wait()
    token.cancel()
    with pytest.raises(RunCancelled):
        await task
    assert scene.said() == [("user", "Hello.", None), *partial_of(entry)]
    await next_run_is_taken(scene)


@every_entry
async def test_a_run_that_times_out_leaves_what_had_come(scene: Scene, entry: Entry) -> None:
    scene.model.hangs = True
    with pytest.raises(RunTimedOut):
        await entry(scene.agent, "Hello.", timeout=0.3)
    assert scene.said() == [("user", "Hello.", None), *partial_of(entry)]
    await next_run_is_taken(scene)


@every_entry
async def test_asyncio_timeout_is_a_cancellation_too(scene: Scene, entry: Entry) -> None:
    scene.model.hangs = True
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await entry(scene.agent, "Hello.")
    assert scene.said() == [("user", "Hello.", None), *partial_of(entry)]
    await next_run_is_taken(scene)


async def test_a_stream_that_is_left_in_the_middle_is_marked(scene: Scene) -> None:
    async with scene.agent.run_stream("Hello.") as stream:
        async for _ in stream.stream_text(delta=True, debounce_by=None):
            break
    (user, assistant) = scene.said()
    assert user == ("user", "Hello.", None)
    assert assistant[0] == "assistant"
    assert assistant[1].startswith("part0 ")
    assert assistant[2] == "interrupted"
    await next_run_is_taken(scene)


async def test_a_stream_that_is_never_read_leaves_the_users_turn(scene: Scene) -> None:
    async with scene.agent.run_stream("Hello."):
        pass
    assert scene.said()[0] == ("user", "Hello.", None)
    assert all(state == "interrupted" for _, _, state in scene.said()[1:])
    await next_run_is_taken(scene)


async def test_events_and_nodes_that_are_left_are_marked(scene: Scene) -> None:
    async with scene.agent.run_stream_events("Hello.") as events:
        async for event in events:
            if type(event).__name__ == "PartDeltaEvent":
                break
    assert scene.said()[-1][2] == "interrupted"
    async with scene.agent.iter("Hello again.") as run:
        async for node in run:
            if type(node).__name__ == "CallToolsNode":
                break
    assert scene.said()[-1] == ("assistant", "Noted.", "interrupted")
    await next_run_is_taken(scene)


async def test_an_error_in_the_readers_own_code_fails_the_run(scene: Scene) -> None:
    async def read() -> None:
        async with scene.agent.run_stream("Hello.") as stream:
            async for _ in stream.stream_text(delta=True, debounce_by=None):
                raise KeyError("mine")

    with pytest.raises(KeyError):
        await read()
    assert scene.said()[-1][2] == "failed"
    await next_run_is_taken(scene)


async def test_a_run_recovered_by_another_capability_is_complete(scene: Scene) -> None:
    result = await scene.agent.run("Hello.")
    report = scene.capability.report(result.run_id)
    assert report is not None
    assert report.state is RunState.COMPLETE
    assert scene.capability.report("unknown") is None


@every_entry
async def test_an_answer_that_cannot_be_written_does_not_break_the_run_and_is_written_before_the_next(
    scene: Scene, entry: Entry
) -> None:
    scene.store.appends_left = 1
    await entry(scene.agent, "Hello.")
    assert scene.said() == [("user", "Hello.", None)]
    failed = [event for event in scene.events if event.type is EventType.MEMORY_FAILED]
    assert [event.verb for event in failed] == ["append"]
    assert failed[0].run
    assert "no space left" in str(failed[0].error)
    scene.store.appends_left = 1 << 30
    await scene.agent.run("And now?")
    assert [content for _, content, _ in scene.said()] == ["Hello.", answer_of(entry), "And now?", "Noted."]


@every_entry
async def test_without_a_durable_user_turn_no_model_is_asked(scene: Scene, entry: Entry) -> None:
    scene.store.appends_left = 0
    with pytest.raises(StoreUnavailable):
        await entry(scene.agent, "Hello.")
    assert scene.model.requests == []
    scene.store.appends_left = 1 << 30
    await next_run_is_taken(scene)


class FailingStore(InMemoryStore):
    """A store of memories that can be told to fail."""

    fails = False

    async def write(self, *args: Any, **kwargs: Any) -> Any:
        if self.fails:
            raise StoreUnavailable("no space left; nothing was changed")
        return await super().write(*args, **kwargs)

    async def scan(self, *args: Any, **kwargs: Any) -> Any:
        if self.fails:
            raise StoreUnavailable("gone")
        return await super().scan(*args, **kwargs)


async def test_memories_that_cannot_be_read_or_written_do_not_break_a_run_and_are_saved_later() -> None:
    store = FailingStore()
    memory = Memory(store=store)
    capability = MemoryCapability(memory, autosave=True, extractor=None)
    agent = Agent(Strict().model, capabilities=[capability])
    store.fails = True
    result = await agent.run("Hello.")
    report = capability.report(result.run_id)
    assert report is not None
    assert "gone" in report.recalled.degraded["recall"]
    assert [failure.split(":")[0] for failure in report.failures] == ["recall", "remember"]
    assert [event.verb for event in report.events if event.error] == ["recall", "remember"]
    store.fails = False
    await agent.run("And now?")
    kept = [item.content for item in await memory.list()]
    assert kept == ["User: And now?\nAssistant: Noted.", "User: Hello.\nAssistant: Noted."]


async def test_a_memory_that_cannot_be_opened_ends_the_run_before_a_model_is_asked() -> None:
    memory = Memory(store="memory://")
    await memory.close()
    model = Strict()
    with pytest.raises(Exception, match="was closed"):
        await Agent(model.model, capabilities=[MemoryCapability(memory)]).run("Hello.")
    assert model.requests == []


async def test_a_model_that_breaks_the_rules_is_a_failed_run(scene: Scene) -> None:
    scene.model.answer = calls_then("no_such_tool", "never")
    with contextlib.suppress(UnexpectedModelBehavior):
        await scene.agent.run("Hello.")
    assert scene.said()[0] == ("user", "Hello.", None)
    await next_run_is_taken(scene)
