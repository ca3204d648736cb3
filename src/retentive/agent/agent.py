"""An agent as a class: what it is, said in attributes."""

import dataclasses
import functools
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias

import pydantic_ai
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import UserContent

from retentive import sync
from retentive.agent.capability import MemoryCapability, Mode, asynchronous
from retentive.agent.report import RunReport
from retentive.agent.results import AgentResult, AgentStream
from retentive.agent.thread_turns import thread_of
from retentive.agent.tools import ToolName
from retentive.errors import InvalidInput, StoreClosed
from retentive.extraction import Extractor
from retentive.memory import Memory
from retentive.stores.base import ThreadStore
from retentive.threads import Thread
from retentive.types import UNSET, Unset

Prompt: TypeAlias = "str | Sequence[UserContent] | None"
AnyThread: TypeAlias = "Thread | sync.Thread | str | None"

CAPABILITY_ID: Final = "memory"
_ATTRIBUTES: Final = frozenset(
    [
        *("name", "model", "instructions", "tools", "output_type", "capabilities", "options"),
        *("memory", "memory_autosave", "memory_tools", "memory_options", "extractor", "namespace", "threads"),
    ]
)
_OPTIONS: Final = frozenset(one.name for one in dataclasses.fields(MemoryCapability) if one.init) - {
    *("id", "memory", "thread", "user_id"),  # those are said elsewhere
}


class Agent:
    """An agent that remembers. Make a subclass that says what it is, or pass the same names here.

    Its runs are those of a pydantic-ai Agent, `pydantic_agent`, which it holds; everything that one can do is
    there. One instance may run many times at once, and on several event loops.

    Attributes:
        name: what it is called; the class's name unless given.
        model: any model or model name that pydantic-ai takes.
        instructions: what it is told in every request.
        tools: functions, or pydantic-ai tools.
        output_type: what it answers with.
        memory: "auto" recalls before a run and extracts after it, "llm" lets the model look things up; both
            in the default Memory (RETENTIVE_URL, else `./.retentive`), opened at the first run. A Memory of
            your own is recalled from and keeps each exchange; you close it. None: no memory.
        memory_autosave: with a Memory of your own, whether each exchange is kept as an episodic memory.
        memory_tools: what the model may do by itself: "remember", "forget", "notes", "episodes".
        memory_options: further arguments for `MemoryCapability`, such as recall_hits, history_turns or
            history_summary; they go before the attributes.
        extractor: what finds memories in a conversation; unless given, the agent's own model for "auto", none
            otherwise.
        namespace: the tenant of the default Memory, and of threads named by id.
        threads: where threads named by id are kept; None is the default place.
        capabilities: further capabilities of pydantic-ai.
        options: further arguments for pydantic-ai's Agent.

    Raises:
        InvalidInput: there is no such attribute, or `memory` is none of these.

    Example:
        >>> from pydantic_ai.models.test import TestModel
        >>> from retentive import sync
        >>> from retentive.agent import Agent
        >>> class SupportAgent(Agent):
        ...     model = TestModel(custom_output_text="By email, then.")
        ...     instructions = "You are a support agent."
        >>> with sync.Memory(store="memory://") as memory:
        ...     _ = memory.remember("User prefers email over phone.", user_id="ada")
        ...     support = SupportAgent(memory=memory)
        ...     result = support.run_sync("How will you contact me, by email or phone?", user_id="ada")
        ...     result.output, result.recalled[0].content
        ('By email, then.', 'User prefers email over phone.')
    """

    name: str | None = None
    model: Any = None
    instructions: Any = None
    tools: Sequence[Any] = ()
    output_type: Any = str
    memory: "Literal['auto', 'llm'] | Memory | sync.Memory | None" = None
    memory_autosave: bool = True
    memory_tools: Sequence[ToolName] = ()
    memory_options: Mapping[str, Any] = {}
    extractor: "Extractor | Literal['model'] | Unset | None" = UNSET
    namespace: str = "default"
    threads: ThreadStore | None = None
    capabilities: "Sequence[AbstractCapability[Any]]" = ()
    options: Mapping[str, Any] = {}

    def __init__(self, **attributes: Any) -> None:
        for attribute, value in attributes.items():
            if attribute not in _ATTRIBUTES:
                raise InvalidInput(
                    f"an Agent has no {attribute!r}; it has {', '.join(sorted(_ATTRIBUTES))}. Further "
                    "arguments of pydantic-ai's Agent go into options={...}"
                )
            setattr(self, attribute, value)
        if unknown := set(self.memory_options) - _OPTIONS:
            raise InvalidInput(
                f"memory_options has no {min(unknown)!r}; it may have {', '.join(sorted(_OPTIONS))}"
            )
        named = self.memory is None or self.memory in ("auto", "llm")
        if not named and not isinstance(self.memory, Memory | sync.Memory):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"memory must be 'auto', 'llm', a Memory or None, not {self.memory!r}")
        self._closed = False

    @functools.cached_property
    def pydantic_agent(self) -> "pydantic_ai.Agent[Any, Any]":
        """The pydantic-ai Agent; made at the first use. Its own runs have the memory, too."""
        return pydantic_ai.Agent(
            self.model,
            name=self.name or type(self).__name__,
            instructions=self.instructions,
            tools=list(self.tools),
            output_type=self.output_type,
            capabilities=[self._capability, *self.capabilities],
            **self.options,
        )

    @functools.cached_property
    def _own_memory(self) -> Memory | None:
        return Memory(self.namespace) if isinstance(self.memory, str) else None

    @functools.cached_property
    def _capability(self) -> MemoryCapability:
        memory = self._own_memory or asynchronous(None if isinstance(self.memory, str) else self.memory)
        mode: Mode = "llm" if self.memory == "llm" else "auto"
        extractor = self.extractor
        if isinstance(extractor, Unset):
            extractor = "model" if self.memory == "auto" else None
        options: dict[str, Any] = {
            "mode": mode,
            "autosave": self.memory_autosave and memory is not None and self._own_memory is None,
            "extractor": extractor,
            "tools": self.memory_tools,
        }
        return MemoryCapability(memory, id=CAPABILITY_ID, **{**options, **self.memory_options})

    async def run(
        self, prompt: Prompt = None, *, user_id: str | None = None, thread: AnyThread = None, **more: Any
    ) -> AgentResult:
        """The answer, and what memory did for it.

        Args:
            prompt: what the user says.
            user_id: whose memories; None is the namespace's own shared scope.
            thread: the conversation, or its id; its turns are sent ahead, and the new ones written to it.
            **more: further arguments of pydantic-ai's `Agent.run`.

        Raises:
            Conflict: the thread is another user's, or another run on it did not end in time.
            InvalidInput, StoreError: memory or thread cannot be used at all; no model was asked.
            Exception: what pydantic-ai's `run` raises.
        """
        bound = await self._bound(user_id, thread)
        result = await self.pydantic_agent.run(prompt, **_with(bound, more))
        return AgentResult(result, _report(bound, result.run_id))

    def run_sync(
        self, prompt: Prompt = None, *, user_id: str | None = None, thread: AnyThread = None, **more: Any
    ) -> AgentResult:
        """As `run`, blocking: for scripts, notebooks, and inside a running loop (which waits meanwhile).

        Ctrl-C cancels the run; what it had produced is written all the same.
        """
        return sync.run_blocking(functools.partial(self.run, prompt, user_id=user_id, thread=thread, **more))

    @asynccontextmanager
    async def run_stream(
        self, prompt: Prompt = None, *, user_id: str | None = None, thread: AnyThread = None, **more: Any
    ) -> AsyncGenerator[AgentStream, None]:
        """The answer as it comes, in an `async with` block; arguments and errors as `run`.

        When the block ends early the rest is not awaited. What had come is written to the thread, and marked
        as interrupted.
        """
        bound = await self._bound(user_id, thread)
        async with self.pydantic_agent.run_stream(prompt, **_with(bound, more)) as stream:
            yield AgentStream(stream, _report(bound, stream.run_id))

    async def capability(self, *, user_id: str | None = None, thread: AnyThread = None) -> MemoryCapability:
        """The memory for one run of `pydantic_agent`: for the `capabilities=[...]` of its `iter` and others.

        Raises:
            InvalidInput, StoreError: the thread cannot be opened.
        """
        return await self._bound(user_id, thread)

    async def flush(self) -> None:
        """Wait until what is to be extracted in the background now is done."""
        await self._capability.flush()

    async def close(self) -> None:
        """Finish what is queued and let go of the default Memory, if this agent opened it.

        It cannot run again. A Memory that was passed in stays open.
        """
        self._closed = True
        await self._capability.drain()
        if self._own_memory is not None:
            await self._own_memory.close()

    async def __aenter__(self) -> Self:
        await self.pydantic_agent.__aenter__()  # its model's connections end with the block
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.close()
        finally:
            await self.pydantic_agent.__aexit__(kind, error, trace)

    async def _bound(self, user_id: str | None, thread: AnyThread) -> MemoryCapability:
        if self._closed:
            raise StoreClosed(f"agent {self.name or type(self).__name__!r} was closed; make a new one")
        if thread is not None:
            memory = asynchronous(None if isinstance(self.memory, str) else self.memory)
            thread = await thread_of(
                thread,
                memory.namespace if memory else self.namespace,
                self.threads,
                memory,
            )
        return self._capability.bound(user_id=user_id, thread=thread)


def _with(bound: MemoryCapability, more: Mapping[str, Any]) -> dict[str, Any]:
    return {**more, "capabilities": [bound, *(more.get("capabilities") or ())]}


def _report(bound: MemoryCapability, run_id: str) -> RunReport:
    report = bound.report(run_id)
    assert report is not None
    return report
