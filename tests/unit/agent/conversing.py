"""What the tests of agents share: models that are scripted, and one that is as strict as a provider."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeAlias

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from retentive.testing.strict_requests import check_strictly

Answer: TypeAlias = Callable[[list[ModelMessage], AgentInfo], ModelResponse]

CHUNKS = [f"part{n} " for n in range(6)]


class Strict:
    """A model that checks each request as a strict provider does, keeps it, and answers by script.

    `answers` gives the response for a request; `delay` yields so many times before each piece of a stream.
    """

    def __init__(
        self,
        answer: Answer | None = None,
        *,
        pause: int = 1,
    ) -> None:
        self.requests: list[list[ModelMessage]] = []
        self.reached = asyncio.Event()
        self.answer: Answer = answer or says("Noted.")
        self.hangs = False
        self.breaks_after: int | None = None
        self.pause = pause
        self.model = FunctionModel(self._whole, stream_function=self._pieces)

    async def _whole(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self._take(messages)
        await self._wait()
        return self.answer(messages, info)

    async def _pieces(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        self._take(messages)
        for number, chunk in enumerate(CHUNKS):
            if number == self.breaks_after:
                raise ConnectionError("the stream was cut")
            yield chunk
            for _ in range(self.pause):
                await asyncio.sleep(0)
            if number == 2:
                await self._wait()

    def _take(self, messages: list[ModelMessage]) -> None:
        check_strictly(messages)
        self.requests.append(list(messages))

    async def _wait(self) -> None:
        self.reached.set()
        if self.hangs:
            await asyncio.Event().wait()

    @property
    def last(self) -> list[ModelMessage]:
        return self.requests[-1]


def user_text(messages: Sequence[ModelMessage]) -> str:
    """All that the user is said to say in a request."""
    parts = (part for message in messages if isinstance(message, ModelRequest) for part in message.parts)
    return "\n".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))


def all_text(messages: Sequence[ModelMessage]) -> str:
    """All texts of a request."""
    return "\n".join(str(getattr(part, "content", "")) for message in messages for part in message.parts)


def says(text: str) -> Answer:
    """An answer that is always the same."""
    return lambda _, __: ModelResponse(parts=[TextPart(text)])


def fails(_: Any, __: Any) -> ModelResponse:
    """A model that is down."""
    raise ConnectionError("the model is down")


def calls_then(tool: str, then: str, **args: Any) -> Answer:
    """Call the tool first; when it has answered, say so."""

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if any(part.part_kind in {"tool-return", "retry-prompt"} for part in messages[-1].parts):
            return ModelResponse(parts=[TextPart(then)])
        return ModelResponse(parts=[TextPart("Let me see."), ToolCallPart(tool, args)])

    return answer
