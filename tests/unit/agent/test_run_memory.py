"""What a run has for itself and is sent of its thread: notes that end with it, a window with a summary."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from conversing import Strict, all_text, calls_then, says, user_text
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo

from retentive import Conversation, InvalidInput, Memory, MemoryKind, StoreUnavailable, Thread, open_thread
from retentive.agent import Agent, MemoryCapability, working_memory
from retentive.ranking.render import parse
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.window import CLOSING, OPENING

Notes = Callable[[], Awaitable[str]]


@pytest.fixture
def memory() -> Memory:
    return Memory(store="memory://")


@pytest.fixture
async def thread() -> Thread:
    return await open_thread("t", store=InMemoryThreadStore())


def agent_with(memory: Memory, model: Strict, **options: Any) -> PydanticAgent[Any, Any]:
    options.setdefault("extractor", None)
    return PydanticAgent(model.model, capabilities=[MemoryCapability(memory, user_id="ada", **options)])


def noting(memory: Memory, during: list[int]) -> Callable[[], Awaitable[str]]:
    async def look() -> str:
        await working_memory().remember("The third of five files is done.")
        during.append(await memory.count(user_id="ada", kinds=MemoryKind.WORKING))
        return "seen"

    return look


@pytest.mark.parametrize("ending", ["well", "failed", "cancelled"])
async def test_what_a_run_notes_down_is_there_while_it_lasts_and_gone_after(
    memory: Memory, ending: str
) -> None:
    during: list[int] = []
    reached = asyncio.Event()
    model = Strict(calls_then("look", "Done."))
    agent = agent_with(memory, model)
    agent.tool_plain(noting(memory, during))

    async def end() -> str:
        if ending == "failed":
            raise ConnectionError
        reached.set()
        await asyncio.Event().wait()
        return ""

    if ending != "well":
        agent.tool_plain(end)
        model.answer = calls_in_turn([ToolCallPart("look", {}), ToolCallPart("end", {})], "Done.")
    task = asyncio.create_task(agent.run("Go on with the files."))
    if ending == "cancelled":
        await reached.wait()
        task.cancel()
    with contextlib.suppress(ConnectionError, asyncio.CancelledError):
        await task
    assert during == [1]
    assert await memory.count(user_id="ada") == 0


async def test_a_stream_that_is_left_forgets_its_notes(memory: Memory) -> None:
    agent = agent_with(memory, Strict())

    async def noted() -> str:
        await working_memory().remember("The third of five files is done.")
        return ""

    agent.instructions(noted)

    async with agent.run_stream("Go on.") as stream:
        async for _ in stream.stream_text(delta=True, debounce_by=None):
            assert await memory.count(user_id="ada") == 1
            break
    assert await memory.count(user_id="ada") == 0


def calls_in_turn(calls: list[ToolCallPart], then: str) -> Callable[..., ModelResponse]:
    """One call after the other, each when the one before was answered."""

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        done = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        return ModelResponse(parts=[calls[done] if done < len(calls) else TextPart(then)])

    return answer


async def test_a_model_takes_notes_and_reads_them_and_no_other_run_does(memory: Memory) -> None:
    calls = [
        ToolCallPart("read_notes", {}),
        ToolCallPart("take_note", {"content": "Three of five files are done."}),
        ToolCallPart("read_notes", {}),
    ]
    model = Strict(calls_in_turn(calls, "Done."))
    agent = agent_with(memory, model, tools=["notes"])
    for _ in range(2):
        result = await agent.run("Go on with the files.")
        parts = [part for message in result.all_messages() for part in message.parts]
        answers = [part.content for part in parts if isinstance(part, ToolReturnPart)]
        assert answers == ["There are no notes yet.", "Noted.", "- Three of five files are done."]
    assert await memory.count(user_id="ada") == 0


async def test_working_memories_of_other_runs_are_recalled_only_where_they_are_asked_for(
    memory: Memory,
) -> None:
    async with memory.working("other", user_id="ada") as other:
        await other.remember("The boiler is half repaired.")
        model = Strict()
        await agent_with(memory, model).run("boiler?")
        assert parse(user_text(model.last)) == []
        model = Strict(calls_then("search_memory", "Done.", query="boiler"))
        await agent_with(memory, model, mode="llm").run("boiler?")
        assert "half repaired" not in all_text(model.last)
        await agent_with(memory, model, kinds=["working"]).run("boiler?")
        assert parse(user_text(model.requests[-1])) == ["The boiler is half repaired."]


async def test_there_is_no_working_memory_outside_of_a_run_or_where_memory_is_off(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"memory\.working"):
        working_memory()
    refused: list[InvalidInput] = []

    async def look() -> str:
        try:
            working_memory()
        except InvalidInput as error:
            refused.append(error)
        return "seen"

    agent = agent_with(memory, Strict(calls_then("look", "Done.")), mode="off")
    agent.tool_plain(look)
    await agent.run("Hello.")
    assert len(refused) == 1


async def test_notes_that_cannot_be_forgotten_do_not_fail_the_run(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(InMemoryStore):
        fails = False

        async def write(self, *args: Any, **kwargs: Any) -> Any:
            if self.fails:
                raise StoreUnavailable("down")
            return await super().write(*args, **kwargs)

    store = Failing()
    memory = Memory(store=store)

    async def look() -> str:
        await working_memory().remember("Half done.")
        store.fails = True
        return "seen"

    capability = MemoryCapability(memory, extractor=None)
    agent = PydanticAgent(Strict(calls_then("look", "Done.")).model, capabilities=[capability])
    agent.tool_plain(look)
    result = await agent.run("Hello.")
    report = capability.report(result.run_id)
    assert report is not None
    assert [failure.partition(":")[0] for failure in report.failures] == ["forget"]


async def test_the_episode_tools_are_of_the_runs_user_and_in_its_report(memory: Memory) -> None:
    await memory.record_episode("Deploy the site", "Live.", True, user_id="ada")
    await memory.record_episode("Deploy the site", "Down.", False, user_id="bob")
    fact = {"content": "The site is on port 80."}
    calls = [
        ToolCallPart("similar_episodes", {"task": "deploy the site"}),
        ToolCallPart("remember_fact", fact),
    ]
    model = Strict(calls_in_turn(calls, "Done."))
    agent = Agent(model=model.model, memory=memory, memory_tools=["episodes"], memory_autosave=False)
    result = await agent.run("Say hello.", user_id="ada")
    assert "Live." in all_text(model.last)
    assert "Down." not in all_text(model.last)
    assert "Outcome (succeeded): Live." in result.recalled[-1].content
    assert [item.content for item in result.remembered] == [fact["content"]]
    assert [item.scope.user_id for item in result.remembered] == ["ada"]


async def filled(thread: Thread, exchanges: int) -> None:
    for number in range(exchanges):
        await thread.append(f"Question {number}?")
        await thread.append(f"Answer {number}.", role="assistant")


async def test_what_is_sent_of_a_thread_never_begins_with_an_answer_whose_question_was_cut(
    memory: Memory, thread: Thread
) -> None:
    await filled(thread, 3)
    model = Strict()
    await agent_with(memory, model, thread=thread, history_turns=3).run("And now?")
    assert all_text(model.last).split("\n") == ["Question 2?", "Answer 2.", "And now?"]


class Summing:
    """Writes summaries, and keeps what it was asked and what the thread held then."""

    def __init__(self, thread: Thread, *, fails: bool = False) -> None:
        self.thread = thread
        self.fails = fails
        self.asked: list[tuple[str | None, list[int], str]] = []

    async def __call__(self, summary: str | None, turns: Conversation) -> str:
        self.asked.append((summary, [turn.seq for turn in turns], self.thread.messages()[-1].content))
        if self.fails:
            raise ConnectionError("the model is down")
        return f"They spoke of <questions> 0 to {turns[-1].seq}."


async def test_the_turns_before_the_window_are_summed_up_once_and_sent_as_data(
    memory: Memory, thread: Thread
) -> None:
    await filled(thread, 5)
    summing, model = Summing(thread), Strict()
    options: dict[str, Any] = {"thread": thread, "history_turns": 6, "history_summary": summing}
    await agent_with(memory, model, **options).run("And now?")
    sent = user_text(model.last)
    assert sent.startswith(OPENING)
    assert parse(sent, OPENING, CLOSING) == ["They spoke of <questions> 0 to 8."]
    assert "Question 3?" not in sent
    assert "Question 4?" in sent
    assert sent.endswith("And now?")
    assert summing.asked == [
        (None, [1, 2, 3, 4, 5, 6, 7, 8], "And now?")
    ]  # the user's turn was on disk by then
    await agent_with(memory, model, **options).run("And then?")
    assert len(summing.asked) == 1
    assert [turn.content for turn in thread.messages()][-4:] == ["And now?", "Noted.", "And then?", "Noted."]


async def test_a_summary_that_fails_is_said_and_the_window_is_sent(memory: Memory, thread: Thread) -> None:
    await filled(thread, 5)
    model = Strict()
    capability = MemoryCapability(
        memory,
        thread=thread,
        extractor=None,
        history_turns=4,
        history_summary=Summing(thread, fails=True),
    )
    result = await PydanticAgent(model.model, capabilities=[capability]).run("And now?")
    report = capability.report(result.run_id)
    assert report is not None
    assert [failure.partition(":")[0] for failure in report.failures] == ["summarize"]
    assert OPENING not in user_text(model.last)
    assert "Question 4?" in user_text(model.last)


async def test_the_agents_own_model_can_write_the_summary(memory: Memory, thread: Thread) -> None:
    await filled(thread, 5)
    model = Strict(says("They spoke."))
    agent = Agent(
        model=model.model,
        memory=memory,
        memory_options={"history_turns": 4, "history_summary": "model"},
    )
    await agent.run("And now?", thread=thread)
    assert parse(user_text(model.last), OPENING, CLOSING) == ["They spoke."]
    assert len(model.requests) == 2


async def test_a_message_history_or_no_memory_needs_no_summary(memory: Memory, thread: Thread) -> None:
    await filled(thread, 5)
    summing, model = Summing(thread), Strict()
    agent = agent_with(memory, model, thread=thread, history_turns=4, history_summary=summing)
    first = await PydanticAgent(model.model).run("Hello.")
    await agent.run("And now?", message_history=first.all_messages())
    off = agent_with(memory, model, thread=thread, mode="off", history_turns=4, history_summary=summing)
    await off.run("And then?")
    assert summing.asked == []


@pytest.mark.parametrize(
    "options",
    [
        {"tools": ["fly"]},
        {"tools": "notes"},
        {"history_turns": -1},
        {"history_tokens": 1.5},
        {"history_summary": "model", "history_tokens": 63},
        {"history_summary": "model", "history_tokens": None},
    ],
)
def test_options_that_cannot_be_used_are_refused_at_once(memory: Memory, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        MemoryCapability(memory, **options)


def test_a_summary_needs_a_memory_to_be_kept_in() -> None:
    with pytest.raises(InvalidInput, match="Memory"):
        MemoryCapability(history_summary="model")


async def test_an_agents_memory_options_go_before_its_attributes(memory: Memory) -> None:
    model = Strict(calls_then("search_memory", "Done.", query="boiler"))
    await memory.remember("The boiler man is called Sven.")
    agent = Agent(model=model.model, memory=memory, memory_options={"mode": "llm", "autosave": False})
    result = await agent.run("boiler?")
    assert [hit.content for hit in result.recalled] == ["The boiler man is called Sven."]
    assert await memory.count() == 1


def test_memory_options_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidInput, match="user_id"):
        Agent(model=None, memory_options={"user_id": "ada"})
