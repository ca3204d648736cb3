"""An agent with memory at the end of a wire, in every way to set it up and to run it."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import pydantic_ai
from numpy.typing import NDArray
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from retentive import Memory, MemoryItem, MemoryKind, Thread, open_thread
from retentive.agent import Agent, MemoryCapability, RunReport
from retentive.extraction import Backlog, Extraction, LLMExtractor
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.testing.openai_server import Answer, Asked, OpenAIServer
from retentive.types import Scope

USER: Final = "ada"
BEFORE, DURING, AFTER = PROMPTS = (
    "I eat plants and never meat.",
    "I love olives with every dinner.",
    "I moved to Oslo for the winter.",
)
SAID: Final = "Noted, and I will keep it in mind."

Entry: TypeAlias = Callable[..., Awaitable[None]]


async def by_run(agent: Any, prompt: str, heard: list[str], **more: Any) -> None:
    heard.append((await agent.run(prompt, **more)).output)


async def by_run_stream(agent: Any, prompt: str, heard: list[str], **more: Any) -> None:
    async with agent.run_stream(prompt, **more) as stream:
        async for piece in stream.stream_text(delta=True, debounce_by=None):
            heard.append(piece)  # noqa: PERF401 - what was heard of a stream that breaks counts


async def by_run_stream_events(agent: Any, prompt: str, heard: list[str], **more: Any) -> None:
    async with agent.run_stream_events(prompt, **more) as events:
        async for event in events:
            part: Any = getattr(event, "part", None) or getattr(event, "delta", None)
            is_text = getattr(part, "part_kind", getattr(part, "part_delta_kind", "")) == "text"
            if is_text and event.event_kind != "part_end":
                heard.append(getattr(part, "content", None) or part.content_delta)


async def by_iter(agent: Any, prompt: str, heard: list[str], **more: Any) -> None:
    async with agent.iter(prompt, **more) as run:
        async for _ in run:
            pass
    heard.append(run.result.output)


ENTRIES: Final[dict[str, Entry]] = {
    "run": by_run,
    "run_stream": by_run_stream,
    "run_stream_events": by_run_stream_events,
    "iter": by_iter,
}
STREAMS: Final = ("run_stream", "run_stream_events")


def plain(asked: Asked) -> Answer:
    """What a service answers that is well: an extractor gets each user's turn back, all others `SAID`."""
    if "<conversation>\n" not in asked.said:
        return Answer(text=SAID)
    shown = asked.said.rpartition("<conversation>\n")[2]
    turns = re.findall(r'"turn": (\d+), "who": "user", .*?"text": "(.*?)"}', shown)
    return Answer(output={"statements": [{"content": text, "turns": [int(seq)]} for seq, text in turns]})


@dataclass(kw_only=True)
class Scene:
    """One agent with its memory and thread, and what was heard of it. `setup` is one of `SETUPS`."""

    setup: str
    server: OpenAIServer
    model: OpenAIChatModel
    store: InMemoryStore
    memory: Memory
    thread: Thread
    extractor: LLMExtractor = field(default_factory=LLMExtractor)
    capability: MemoryCapability | None = None
    heard: list[str] = field(default_factory=list[str])
    _agent: Any = None

    @property
    def uses_thread(self) -> bool:
        return self.setup not in ("no memory", "auto, no thread")

    @property
    def extracts(self) -> bool:
        return self.setup in ("auto", "auto, no thread")

    @property
    def keeps_exchanges(self) -> bool:
        return self.setup == "a Memory attached"

    async def say(self, entry: str, prompt: str, **more: Any) -> str:
        """How the run ended for the caller: "ends well", or the name of the error it raised.

        Raises:
            asyncio.CancelledError: it was cancelled.
        """
        self.heard = []
        agent, bound = await self._bound()
        try:
            await ENTRIES[entry](agent, prompt, self.heard, **bound, **more)
        except Exception as error:  # noqa: BLE001 - the matrix says what it was
            return type(error).__name__
        return "ends well"

    @property
    def report(self) -> RunReport | None:
        """What memory did in the latest run."""
        if self.capability is None:
            return None
        reports = self.capability._reports._reports  # pyright: ignore[reportPrivateUsage]
        return next(reversed(reports.values()), None)

    def said(self) -> list[str]:
        """The thread in short: whose turn, and how it ended where it did not end well."""
        return [
            turn.role + (f" ({turn.metadata['state']})" if "state" in turn.metadata else "")
            for turn in self.thread.messages()
        ]

    async def remembered(self, *kinds: MemoryKind) -> list[MemoryItem]:
        """What the user's memory holds, oldest first."""
        page = await self.memory.list(user_id=USER, kinds=kinds or None, limit=100)
        return list(page.items)[::-1]

    async def vectors(self) -> list[tuple[MemoryItem, NDArray[np.float32]]]:
        """Each memory of the user's, and its vector as it is stored."""
        ids = [item.id for item in await self.remembered()]
        stored = await self.store.get(Scope(self.memory.namespace, USER), ids)
        return [(one.item, np.frombuffer(one.vector or b"", np.float32)) for one in stored if one is not None]

    async def waiting(self) -> list[Backlog]:
        """What waits to be extracted."""
        return await Extraction(self.memory, self.extractor, threads=self.thread.store).backlogs(USER)

    async def _bound(self) -> tuple[Any, dict[str, Any]]:
        if self.setup == "a Memory attached":
            self._agent = self._agent or Agent(model=self.model, memory=self.memory)
            self.capability = await self._agent.capability(user_id=USER, thread=self.thread)
            return self._agent.pydantic_agent, {"capabilities": [self.capability]}
        if self._agent is None:
            self.capability = SETUPS[self.setup](self)
            given = [] if self.capability is None else [self.capability]
            self._agent = pydantic_ai.Agent(self.model, capabilities=given)
        return self._agent, {}


SETUPS: Final[dict[str, Callable[[Scene], MemoryCapability | None]]] = {
    "no memory": lambda _: None,
    "a thread": lambda at: MemoryCapability(thread=at.thread, user_id=USER),
    "auto": lambda at: MemoryCapability(at.memory, thread=at.thread, user_id=USER, extractor=at.extractor),
    "auto, no thread": lambda at: MemoryCapability(at.memory, user_id=USER, extractor=at.extractor),
    "llm": lambda at: MemoryCapability(at.memory, mode="llm", thread=at.thread, user_id=USER),
    "a Memory attached": lambda _: None,  # the declarative Agent makes its own
}


@asynccontextmanager
async def scene(
    server: OpenAIServer, setup: str, *, embedder: Any = None, tries: int = 0, **extractor: Any
) -> AsyncGenerator[Scene]:
    """A scene in which the service is well; the client asks `tries` times again by itself."""
    server.script_chat(plain)
    store = InMemoryStore()
    async with (
        AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=tries) as client,
        Memory(store=store, embedder=embedder) as memory,
    ):
        yield Scene(
            setup=setup,
            server=server,
            model=OpenAIChatModel("gpt-x", provider=OpenAIProvider(openai_client=client)),
            store=store,
            memory=memory,
            thread=await open_thread("t", store=InMemoryThreadStore()),
            extractor=LLMExtractor(**extractor),
        )


async def cancelled(run: Awaitable[str], when: Callable[[], bool]) -> str:
    """How a run ended that is cancelled then."""
    task = asyncio.ensure_future(run)
    await _until(when)
    task.cancel()
    try:
        return await task
    except asyncio.CancelledError:
        return "CancelledError"


async def timed_out(run: Awaitable[str], when: Callable[[], bool]) -> str:
    """How a run ended whose time is over then."""

    async def limited() -> str:
        async with asyncio.timeout(None) as limit:
            limits.append(limit)
            return await run

    limits: list[asyncio.Timeout] = []
    task = asyncio.ensure_future(limited())
    await _until(when)
    limits[0].reschedule(asyncio.get_running_loop().time())
    try:
        return await task
    except TimeoutError:
        return "TimeoutError"


async def _until(when: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not when():  # noqa: ASYNC110 - the service has threads of its own, and no event of this loop
            await asyncio.sleep(0.001)
