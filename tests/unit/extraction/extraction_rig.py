"""A Memory, threads and an extractor that a test writes the answers of."""

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from retentive import Memory
from retentive.clock import Clock
from retentive.extraction import Excerpt, Extraction, ExtractionLimits, Extractor, Statement
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.threads import Thread

USER = "ada"


class Scripted:
    """An extractor whose answers are given, one for each call; an exception among them is raised."""

    def __init__(
        self, *answers: Sequence[Statement] | BaseException, needs_model: bool = False, then: Any = None
    ) -> None:
        self.needs_model = needs_model
        self.answers: list[Sequence[Statement] | BaseException] = list(answers)
        self.asked: list[Excerpt] = []
        self.then = then

    async def extract(self, excerpt: Excerpt) -> Sequence[Statement]:
        self.asked.append(excerpt)
        nothing: Sequence[Statement] = []
        answer = self.answers.pop(0) if self.answers else nothing
        if isinstance(answer, BaseException):
            raise answer
        if self.then is not None:
            await self.then()
        return answer


class EveryTurn:
    """An extractor that says of each turn what it says, so that holes and doubles show."""

    needs_model = False

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def extract(self, excerpt: Excerpt) -> Sequence[Statement]:
        self.seen += [turn.content for turn in excerpt.turns]
        return [Statement(content=turn.content, turns=(turn.seq,)) for turn in excerpt.turns]


class Rig:
    def __init__(self, memory: Memory, clock: Clock) -> None:
        self.memory = memory
        self.clock = clock
        self.threads = InMemoryThreadStore()

    def extraction(self, extractor: Extractor | None = None, **limits: int) -> Extraction:
        return Extraction(self.memory, extractor, threads=self.threads, limits=ExtractionLimits(**limits))

    async def thread(self, *turns: str | tuple[str, str], id: str = "t") -> Thread:
        """The thread, with these turns added: the user's, or (role, content)."""
        thread = await Thread(self.threads, "default", id, clock=self.clock).refresh()
        said = [("user", turn) if isinstance(turn, str) else turn for turn in turns]
        return await thread.append_many({"role": role, "content": content} for role, content in said)

    async def contents(self, user_id: str | None = USER) -> list[str]:
        """What is remembered, oldest first, superseded ones left out."""
        page = await self.memory.list(user_id=user_id, limit=1_000)
        return [item.content for item in page.items][::-1]

    async def watermark(self, user_id: str | None = USER) -> int:
        notes = await self.memory.notes("extract/", user_id=user_id)
        return json.loads(notes["extract/default/t"])["seq"]


def shown(messages: Sequence[ModelMessage]) -> str:
    """All that the user role says in these messages."""
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return "\n".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))


def model_that_says(
    *answers: Any, asked: list[str] | None = None, infos: list[AgentInfo] | None = None
) -> FunctionModel:
    """A model that gives these answers in turn, then the last one for ever.

    A dict or list is the arguments of the output tool, a text is text, an exception is raised, and a function
    is called with what it was shown.
    """
    left = list(answers)

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if asked is not None:
            asked.append(shown(messages))
        if infos is not None:
            infos.append(info)
        one: Any = left.pop(0) if len(left) > 1 else left[0]
        if callable(one):
            one = one(shown(messages))
            if hasattr(one, "__await__"):
                one = await one
        if isinstance(one, BaseException):
            raise one
        if isinstance(one, str):
            return ModelResponse(parts=[TextPart(one)])
        args: Any = {"statements": cast("Any", one)} if isinstance(one, list) else one
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, args)])

    return FunctionModel(answer)


def said(content: str, *turns: int, **more: Any) -> dict[str, Any]:
    """A statement as a model writes it."""
    return {"content": content, "kind": "semantic", "importance": 0.7, "turns": list(turns), **more}


Answer = Callable[[str], Any]
