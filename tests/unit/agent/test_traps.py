"""What we lean on in pydantic-ai and it does not promise: an upgrade that changes it fails here first."""

import asyncio
import contextvars
import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from conversing import Strict, calls_then
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import ModelMessage, ModelResponse

MARK: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="outside")


@dataclass
class Watching(AbstractCapability[Any]):
    """Keeps what the hooks see."""

    name: str = "agent's"

    def __post_init__(self) -> None:
        self.seen: dict[str, Any] = {"runs": [], "marks": []}
        self.live: list[ModelMessage] = []

    async def for_run(self, ctx: Any) -> "Watching":
        return copy.copy(self)

    async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
        self.seen["runs"].append(self.name)
        self.seen["run_id"] = ctx.run_id
        MARK.set("inside")
        try:
            return await handler()
        except BaseException as error:
            self.seen["error"] = error
            self.seen["cancelled"] = RunCancelled.from_cancellation(error)  # type: ignore[arg-type]  # pyright: ignore
            raise
        finally:
            self.seen["start"] = list(ctx.messages)
            self.seen["live"] = [message for message in self.live if message.run_id == ctx.run_id]

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        self.live = ctx.messages
        self.seen["marks"].append(MARK.get())
        return request_context


async def hanging_stream(watching: Watching, model: Strict) -> None:
    model.hangs = True

    async def read() -> None:
        async with Agent(model.model, capabilities=[watching]).run_stream("Hello.") as stream:
            async for _ in stream.stream_text(delta=True, debounce_by=None):
                pass

    task = asyncio.create_task(read())
    await model.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_wrap_runs_messages_are_those_of_the_start_and_the_hooks_are_the_live_ones() -> None:
    watching = Watching()
    await Agent(Strict().model, capabilities=[watching]).run("Hello.")
    assert watching.seen["start"] == []
    assert [message.kind for message in watching.seen["live"]] == ["request", "response"]


async def test_a_message_history_is_in_wrap_runs_messages() -> None:
    watching = Watching()
    agent = Agent(Strict().model, capabilities=[watching])
    first = await agent.run("Hello.")
    await agent.run("Again.", message_history=first.all_messages())
    assert len(watching.seen["start"]) == 2
    assert len(watching.seen["live"]) == 2


async def test_a_cancelled_stream_arrives_as_cancelled_error_with_the_partial_text_in_the_live_list() -> None:
    watching = Watching()
    await hanging_stream(watching, Strict())
    assert isinstance(watching.seen["error"], asyncio.CancelledError)
    assert watching.seen["cancelled"] is None
    response = watching.seen["live"][-1]
    assert isinstance(response, ModelResponse)
    assert (response.state, response.text) == ("interrupted", "part0 part1 part2 ")


async def test_leaving_a_stream_arrives_as_cancelled_error() -> None:
    watching = Watching()
    async with Agent(Strict().model, capabilities=[watching]).run_stream("Hello.") as stream:
        async for _ in stream.stream_text(delta=True, debounce_by=None):
            break
    assert isinstance(watching.seen["error"], asyncio.CancelledError)


async def test_what_wrap_run_raises_before_its_handler_ends_the_run_before_a_model_is_asked() -> None:
    class Refusing(Watching):
        async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
            raise LookupError("no")

    model = Strict()
    agent = Agent(model.model, capabilities=[Refusing()])
    with pytest.raises(LookupError):
        await agent.run("Hello.")
    with pytest.raises(LookupError):
        async with agent.run_stream("Hello."):
            pass
    assert model.requests == []


async def test_a_context_variable_set_in_wrap_run_holds_in_the_run_and_not_after_it() -> None:
    watching = Watching()
    agent = Agent(Strict().model, capabilities=[watching])
    tool_sees: list[str] = []

    def look() -> str:
        tool_sees.append(MARK.get())
        return "seen"

    agent.tool_plain(look)
    await agent.run("Hello.", model=Strict(calls_then("look", "Done.")).model)
    async with agent.run_stream("Hello.") as stream:
        await stream.get_output()
    assert watching.seen["marks"] == ["inside"] * 3
    assert tool_sees == ["inside"]
    assert MARK.get() == "outside"


async def test_a_capability_of_a_run_takes_the_place_of_the_agents_with_its_id() -> None:
    agents, runs = Watching("agent's", id="memory"), Watching("run's", id="memory")
    await Agent(Strict().model, capabilities=[agents]).run("Hello.", capabilities=[runs])
    assert agents.seen["runs"] == []
    assert runs.seen["runs"] == ["run's"]


async def test_results_and_streams_have_the_id_of_their_run() -> None:
    watching = Watching()
    agent = Agent(Strict().model, capabilities=[watching])
    assert (await agent.run("Hello.")).run_id == watching.seen["run_id"]
    async with agent.run_stream("Hello.") as stream:
        assert stream.run_id == watching.seen["run_id"]
        await stream.get_output()


async def test_a_rewritten_request_is_not_kept() -> None:
    class Rewriting(Watching):
        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            request_context.messages = request_context.messages * 1
            first = copy.copy(request_context.messages[0])
            first.parts = [copy.copy(part) for part in first.parts]
            first.parts[-1].content = "secret " + first.parts[-1].content
            request_context.messages[0] = first
            return request_context

    model = Strict()
    result = await Agent(model.model, capabilities=[Rewriting()]).run("Hello.")
    assert "secret" in str(model.last)
    assert "secret" not in str(result.all_messages())


async def test_a_stream_is_wrapped_also_for_who_says_it_wraps_none_and_a_plain_run_is_not_streamed() -> None:
    class Listening(Watching):
        @property
        def has_wrap_run_event_stream(self) -> bool:
            return False

        async def wrap_run_event_stream(self, ctx: Any, *, stream: Any) -> AsyncIterator[Any]:
            async for event in stream:
                self.seen.setdefault("events", []).append(event.event_kind)
                yield event

    watching = Listening()
    agent = Agent(Strict().model, capabilities=[watching])
    await agent.run("Hello.")
    assert "events" not in watching.seen
    async with agent.run_stream("Hello.") as stream:
        await stream.get_output()
    assert {"part_start", "part_delta"} <= set(watching.seen["events"])


@pytest.mark.parametrize("is_listed_first", [True, False])
async def test_the_innermost_by_get_ordering_sees_a_request_last(is_listed_first: bool) -> None:
    order: list[str] = []

    class Outer(Watching):
        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            order.append("outer")
            return request_context

    class Inner(Watching):
        def get_ordering(self) -> CapabilityOrdering:
            return CapabilityOrdering(wrapped_by=[Outer])

        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            order.append("inner")
            return request_context

    both = [Inner(), Outer()] if is_listed_first else [Outer(), Inner()]
    await Agent(Strict().model, capabilities=both).run("Hello.")
    assert order == ["outer", "inner"]
