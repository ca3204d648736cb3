"""Memory for any pydantic-ai agent: `Agent(..., capabilities=[MemoryCapability(memory)])`."""

import copy
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, Literal, TypeAlias

from pydantic_ai import RunContext
from pydantic_ai.agent import AgentRunResult
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, ProcessHistory
from pydantic_ai.capabilities.abstract import WrapRunHandler
from pydantic_ai.messages import AgentStreamEvent
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.toolsets import AbstractToolset

from retentive import checks, drafts, sync
from retentive.agent.asked import asked_of
from retentive.agent.earlier import HistoryBounds, check_bounds
from retentive.agent.leftovers import Leftovers
from retentive.agent.recalling import RecallBudget
from retentive.agent.report import Reports, RunReport
from retentive.agent.run import MemoryRun, RunPlan
from retentive.agent.thread_turns import thread_of
from retentive.agent.tools import OPTIONAL, MemoryTools, ToolName
from retentive.clock import new_id
from retentive.errors import InvalidInput
from retentive.extraction import Extraction, Extractor, LLMExtractor
from retentive.memory import Memory
from retentive.memory.assembling import CONTEXT_KINDS
from retentive.short_term import LLMSummarizer, Summarizer
from retentive.stores.base import ThreadStore
from retentive.threads import Thread
from retentive.types import MemoryKind, Origin

Mode: TypeAlias = Literal["auto", "llm", "off"]

USER_KEY: Final = "user_id"
"""The key of a run's `metadata` that says whose run it is, where the capability does not."""

_MODES: Final = ("auto", "llm", "off")


@dataclass
class MemoryCapability(AbstractCapability[Any]):
    """Gives an agent a memory, a thread, or both.

    It works under run, run_sync, run_stream, run_stream_events and iter, for the agent or for one run.

    What is recalled is put before the user's words in the requests of that run, as delimited data. It is in
    no system message, in no stored history and in no `all_messages()`. A thread's turns are sent ahead of the
    run's own messages in the same way; where the caller passes a `message_history`, that is sent instead. The
    user's turn is on disk before the model is asked; what the assistant said is appended when the run ends,
    and marked where the run failed, was cancelled or was left. What goes wrong with memory on the way is in
    the run's report, in the log and told as an event of type MEMORY_FAILED; it does not end the run.

    Args:
        memory: where to recall from and to write to; None for a thread alone.
        mode: "auto" recalls before the run and extracts after it; "llm" gives the model `search_memory` and
            writes nothing by itself; "off" leaves the memory alone.
        thread: the conversation, or its id.
        threads: where threads named by id are kept; None is the default place. Where it is given, a run
            without `thread` speaks in the thread named by its `conversation_id`.
        user_id: whose memories; None is the `user_id` in the run's `metadata`, else the namespace's shared
            scope.
        autosave: keep each exchange as an episodic memory, also of runs that failed.
        extractor: what finds the memories in a conversation, in mode "auto"; "model" asks the agent's own
            model once more after the run, None extracts nothing.
        background: extract behind the run; `flush()` waits for it.
        tools: what the model may do besides: "remember", "forget"; "notes" for the run's working memory;
            "episodes" for episodes, facts and procedures.
        kinds: recall only these; None is all but working memories, which belong to their run.
        min_trust: recall only what this origin or a more trusted one said, as in `Memory.recall`; also what
            the model looks up itself. None is all.
        recall_hits: how many memories at most.
        recall_tokens: about how many tokens the recalled block may have.
        recall_ms: how long a recall may take. A slow embedder leaves it to the words; where even they take
            too long, the run goes on without memories.
        history_turns: how many of the thread's latest turns are sent; None is no limit.
        history_tokens: about how many tokens of them are sent.
        history_summary: who sums up the turns before those, "model" asks the agent's own; the summary is
            kept in the memory and sent ahead as data. None leaves them out.
        thread_wait_s: how long to wait for another run on the same thread.

    Raises:
        InvalidInput: an option cannot be used.
    """

    memory: Memory | sync.Memory | None = None
    _: KW_ONLY
    mode: Mode = "auto"
    thread: Thread | sync.Thread | str | None = None
    threads: ThreadStore | None = None
    user_id: str | None = None
    autosave: bool = False
    extractor: Extractor | Literal["model"] | None = "model"
    background: bool = False
    tools: Sequence[ToolName] = ()
    kinds: Sequence[MemoryKind | str] | None = None
    min_trust: Origin | str | None = None
    recall_hits: int = 8
    recall_tokens: int = 1_000
    recall_ms: float = 1_000
    history_turns: int | None = None
    history_tokens: int | None = 32_000
    history_summary: Summarizer | Literal["model"] | None = None
    thread_wait_s: float = 60
    _reports: Reports = field(default_factory=Reports, init=False, repr=False, compare=False)
    _run: MemoryRun | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the options."""
        if self.mode not in _MODES:
            raise InvalidInput(f"mode must be one of {', '.join(_MODES)}, not {self.mode!r}")
        unknown = set(self.tools) - set(OPTIONAL)
        if unknown or isinstance(self.tools, str):
            raise InvalidInput(f"tools takes a list of {', '.join(map(repr, OPTIONAL))}")
        sums_up = self.history_summary is not None
        if self.memory is None and (self.autosave or self.tools or sums_up or self.mode == "llm"):
            raise InvalidInput("pass a Memory: autosave, tools, history_summary and mode='llm' need one")
        check_bounds(self.history_turns, self.history_tokens, sums_up=sums_up)
        drafts.check_filters(kinds=self.kinds, min_trust=self.min_trust)
        checks.check_limit("recall_hits", self.recall_hits)
        checks.check_limit("recall_tokens", self.recall_tokens, maximum=1_000_000)
        for name in ("recall_ms", "thread_wait_s"):
            seconds = checks.check_score(name, getattr(self, name))
            if seconds is None or seconds < 0:
                raise InvalidInput(f"{name} must be a number from 0")
        self._leftovers = Leftovers(background=self.background)

    def report(self, run_id: str | None) -> RunReport | None:
        """What memory did for a run: recalled, remembered, events, failures.

        None for a run of elsewhere, or of long ago: the latest 256 are kept. A pydantic-ai result has its
        `run_id`.
        """
        return self._reports.get(run_id)

    async def flush(self) -> None:
        """Wait until what is queued for extraction now is done."""
        await self._leftovers.flush()

    async def drain(self) -> None:
        """Wait until all extraction that is queued is done; then stop."""
        await self._leftovers.drain()

    def bound(self, *, user_id: str | None, thread: Thread | sync.Thread | str | None) -> "MemoryCapability":
        """This capability for one run: for this user and this thread, where they are given."""
        one = copy.copy(self)
        one.user_id = self.user_id if user_id is None else user_id
        one.thread = self.thread if thread is None else thread
        return one

    async def for_run(self, ctx: RunContext[Any]) -> "MemoryCapability":  # noqa: ARG002 - the hook's own
        """A copy for the state of one run."""
        one = copy.copy(self)
        one._run = None
        return one

    async def _begun(self, ctx: RunContext[Any]) -> MemoryRun:
        memory = asynchronous(self.memory)
        user_id = self.user_id if self.user_id is not None else (ctx.metadata or {}).get(USER_KEY)
        asked = asked_of(ctx.prompt, ctx.messages)
        thread = await self._thread(ctx, memory)
        return MemoryRun(
            plan=self._plan(memory, user_id, thread, ctx.model),
            report=self._reports.begin(ctx.run_id or new_id(), thread.id if thread else ctx.conversation_id),
            leftovers=self._leftovers,
            asked=asked,
            thread=thread,
        )

    async def _thread(self, ctx: RunContext[Any], memory: Memory | None) -> Thread | None:
        given = self.thread
        if given is None and self.threads is not None:
            given = ctx.conversation_id
        if given is None:
            return None
        return await thread_of(
            given,
            memory.namespace if memory else "default",
            self.threads,
            memory,
        )

    def _plan(self, memory: Memory | None, user_id: str | None, thread: Thread | None, model: Any) -> RunPlan:
        extracts = self.mode == "auto" and self.extractor is not None and memory is not None
        return RunPlan(
            memory=memory,
            user_id=user_id,
            recalls=self.mode == "auto",
            notes=self.mode != "off",
            autosaves=self.autosave and self.mode != "off",
            extraction=self._extraction_of(memory, thread) if extracts and memory is not None else None,
            budget=RecallBudget(
                hits=self.recall_hits,
                tokens=self.recall_tokens,
                ms=self.recall_ms,
                kinds=CONTEXT_KINDS if self.kinds is None else tuple(map(MemoryKind, self.kinds)),
                min_trust=None if self.min_trust is None else Origin(self.min_trust),
            ),
            history=HistoryBounds(
                turns=self.history_turns, tokens=self.history_tokens, summarize=self._summarizer(model)
            ),
            thread_wait_s=self.thread_wait_s,
        )

    def _summarizer(self, model: Any) -> Summarizer | None:
        if self.mode == "off":
            return None
        return LLMSummarizer(model) if self.history_summary == "model" else self.history_summary

    def _extraction_of(self, memory: Memory, thread: Thread | None) -> Extraction:
        extractor = LLMExtractor() if self.extractor == "model" else self.extractor
        if thread is None:
            return self._leftovers.extraction(lambda: Extraction(memory, extractor))
        return Extraction(memory, extractor, threads=thread.store)

    def get_toolset(self) -> AbstractToolset[Any] | None:
        """The model's own tools, where the mode or `tools` ask for them."""
        memory = asynchronous(self.memory)
        if memory is None or self.mode == "off":
            return None
        looks_up = self.mode == "llm" or "forget" in self.tools  # forget wants ids
        asked: list[ToolName] = [name for name in OPTIONAL if name in self.tools]
        names: Sequence[ToolName] = ["search_memory", *asked] if looks_up else asked
        return MemoryTools(memory, self._current).toolset(names) if names else None

    def _current(self) -> MemoryRun:
        if self._run is None:
            raise InvalidInput("the tools of a MemoryCapability work inside a run of an agent that has it")
        return self._run

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """The run, with what comes before and after it."""
        self._run = run = await self._begun(ctx)
        async with run.around():
            result = await handler()
            await run.complete(result.output)
        await run.extract(ctx.model)  # the thread is free again: the next run need not wait for this
        return result

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The request, with the thread's turns and what was recalled."""
        if self._run is not None:
            tools = request_context.model_request_parameters.output_tools
            # the run's own list: wrap_run's context has only its beginning
            self._run.heard.ask(ctx.messages, [tool.name for tool in tools])
            request_context.messages = self._run.messages_for(request_context.messages)
        return request_context

    @property
    def has_wrap_run_event_stream(self) -> bool:
        """False: a run that is not streamed must not be streamed for the sake of its memory."""
        return False

    async def wrap_run_event_stream(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the hook's own
        *,
        stream: AsyncIterable[AgentStreamEvent],
    ) -> AsyncGenerator[AgentStreamEvent, None]:
        """The events as they come; what the model says in them is kept in mind."""
        try:
            async for event in stream:
                if self._run is not None:
                    self._run.heard.take(event)
                yield event
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    def get_ordering(self) -> CapabilityOrdering:
        """Inside of what rewrites the history: what memory adds is for the request alone."""
        return CapabilityOrdering(wrapped_by=[ProcessHistory])


def asynchronous(memory: Memory | sync.Memory | None) -> Memory | None:
    """The Memory itself, also of a blocking one."""
    return memory.asynchronous if isinstance(memory, sync.Memory) else memory
