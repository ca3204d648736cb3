"""One run of an agent with memory: what happens before the model is asked, and what is kept afterwards."""

from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pydantic_ai.messages import ModelMessage

from retentive.agent.asked import Asked, check_asked
from retentive.agent.earlier import Earlier, HistoryBounds, ahead_of, window_of
from retentive.agent.exchange import exchange
from retentive.agent.failures import Failure, tell_failure
from retentive.agent.finishing import finished
from retentive.agent.heard import Heard
from retentive.agent.holding import held
from retentive.agent.leftovers import Leftovers
from retentive.agent.recalling import RecallBudget, recall_within, shown
from retentive.agent.report import RunReport, RunState
from retentive.agent.scratch import Scratch, scratch_of
from retentive.agent.thread_turns import ThreadTurns
from retentive.agent.transcript import answer_text, storable, with_context
from retentive.conversation import Conversation
from retentive.drafts import NewMemory
from retentive.errors import StoreUnavailable
from retentive.events import traced
from retentive.extraction import Backlog, Extraction
from retentive.memory import Memory
from retentive.recall import Recall
from retentive.threads import Thread
from retentive.types import MemoryHit, Source

WRITE_BACK_S: Final = 30.0
"""How long the end of a run may take to write, also one that is being cancelled."""

EARLIER_EXCHANGES: Final = 1
"""How many exchanges that earlier runs left are extracted after a run, besides its own."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What memory is to do for one run: all choices made."""

    memory: Memory | None
    user_id: str | None
    recalls: bool
    notes: bool
    autosaves: bool
    extraction: Extraction | None
    budget: RecallBudget
    history: HistoryBounds
    thread_wait_s: float


@dataclass(slots=True, kw_only=True)
class MemoryRun:
    """The state of one run. `around` is its life; `messages_for` is asked before each request."""

    plan: RunPlan
    report: RunReport
    leftovers: Leftovers
    asked: Asked
    thread: Thread | None = None
    heard: Heard = field(default_factory=Heard)
    block: str = ""
    scratch: Scratch | None = None
    _is_begun: bool = False
    _turns: ThreadTurns | None = None
    _ahead: list[ModelMessage] = field(default_factory=list[ModelMessage])
    _backlog: Backlog | None = None

    @asynccontextmanager
    async def around(self) -> AsyncGenerator[None, None]:
        """The run: its thread is held, the user's turn durable and the recall done when the block begins.

        Raises:
            InvalidInput, Conflict, StoreError: nothing was sent to a model.
        """
        memory = self.plan.memory
        if memory is not None and self.plan.notes:
            self.scratch = Scratch(memory, self.report, self.plan.user_id)
        with traced(self.report.trace), scratch_of(self.scratch):
            try:
                check_asked(self.asked.text, self.plan.user_id)
                if memory is not None:
                    await memory.__aenter__()  # a store that cannot open ends the run here
                async with held(self.thread, self.plan.thread_wait_s), self._written():
                    await self._begin(self.thread)
                    yield
            except BaseException as error:
                self._end(error)
                raise

    @asynccontextmanager
    async def _written(self) -> AsyncGenerator[None, None]:
        """Keep what the run had produced when it fails, is cancelled, or is left, also while it begins."""
        try:
            yield
        except BaseException as error:
            if self._end(error) and self._is_begun:
                await self._write_back(self.heard.text(self.report.run_id))
            raise

    def _end(self, error: BaseException) -> bool:
        """Whether this ended the run, which had not ended before."""
        if self.report.state is not RunState.RUNNING:
            return False
        self.report.state = RunState.FAILED if isinstance(error, Exception) else RunState.INTERRUPTED
        return True

    def messages_for(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The messages of one request, with the thread's turns and the recalled block."""
        return with_context(messages, self.report.run_id, self._ahead, self.block)

    async def complete(self, output: object) -> None:
        """Keep what a run that came to its end produced."""
        self.report.state = RunState.COMPLETE
        await self._write_back(answer_text(output, self.heard.messages(self.report.run_id)))

    def also_recalled(self, found: Recall) -> None:
        """Count what a tool found among what steered the run."""
        before = self.report.recalled
        known = {hit.id for hit in before}
        self.report.recalled = Recall(
            [*before, *(hit for hit in found if hit.id not in known)],
            query=before.query or found.query,
            degraded=before.degraded | found.degraded,
        )

    async def extract(self, model: object) -> None:
        """Draw memories from what was said, or leave that to the queue where there is one."""
        with traced(self.report.trace):
            backlog = self._backlog or await self._begin_backlog()
            if backlog is not None and self.plan.extraction is not None:
                await self._extract_or_queue(self.plan.extraction, backlog, model)

    async def _extract_or_queue(self, extraction: Extraction, backlog: Backlog, model: object) -> None:
        recalled = self.report.recalled_ids
        place = self.thread.store.url if self.thread is not None else ""
        if self.leftovers.enqueue(extraction, place, backlog, model, recalled):
            return
        done = await self._extract(extraction, backlog, model, recalled)
        if done and self._turns is None:
            await self._extract_earlier(extraction, model)

    async def _extract(
        self, extraction: Extraction, backlog: Backlog, model: object, recalled: Sequence[str]
    ) -> bool:
        work = extraction.extract(backlog, model=model, recalled=recalled)
        done = await self._attempt("extract", work)
        if done is None:
            return False
        self.report.remembered += done.items
        if done.failure:
            self.report.failures.append(f"extract: {done.failure}")
        return not done.failure

    async def _extract_earlier(self, extraction: Extraction, model: object) -> None:
        """Finish one exchange that an earlier run of this user left, as one that failed does."""
        waiting = await self._attempt("extract", extraction.backlogs(self.plan.user_id)) or []
        for backlog in [one for one in waiting if one.run_id is not None][:EARLIER_EXCHANGES]:
            await self._extract(extraction, backlog, model, ())

    async def _begin(self, thread: Thread | None) -> None:
        said = Conversation()
        if thread is not None:
            self._turns = ThreadTurns(thread, self.report, self.plan.user_id, self.leftovers.unwritten)
            said = await self._turns.open()
        was_asked = self._was_asked_before(said)
        try:
            await finished(self._ask(self._turns, is_there=was_asked), WRITE_BACK_S)
        except TimeoutError as error:
            raise StoreUnavailable(
                f"the user's words were not written within {WRITE_BACK_S:g} s; no model was asked: try again"
            ) from error
        said = said[:-1] if was_asked else said
        if thread is not None and not self.asked.has_history and said:
            said = await self._look_back(Earlier(thread, said))
        if self.asked.text.strip() and self.plan.recalls and self.plan.memory is not None:
            await self._recall(self.plan.memory, said)

    def _was_asked_before(self, said: Conversation) -> bool:
        """Whether the thread ends in these words of the user: a run goes on where one was cut off."""
        last = said[-1] if said else None
        if last is None or last.role != "user" or self.asked.run is None:
            return False
        return last.metadata.get("run") == self.asked.run and last.content == self.asked.text

    async def _ask(self, turns: ThreadTurns | None, *, is_there: bool) -> None:
        """Have the user's words on disk. It is not torn off by a cancellation, so it is known if they are."""
        if self.asked.text.strip():
            self._backlog = await self._begin_backlog()
            if turns is not None and not is_there:
                await turns.ask(self.asked.text)
        self._is_begun = True

    async def _look_back(self, earlier: Earlier) -> Conversation:
        """The turns that are sent ahead. The user's own is on disk by now: a summary may ask a model."""
        plan = self.plan
        window = await window_of(earlier, plan.history, plan.memory, plan.user_id, self.failed)
        self._ahead = ahead_of(window, earlier.messages())
        return window.turns

    async def _recall(self, memory: Memory, said: Conversation) -> None:
        sent = {turn.seq for turn in said}
        thread = self.thread.id if self.thread is not None else None

        def known(hit: MemoryHit) -> bool:
            source = hit.item.source
            if source is None or source.thread != thread or not source.turns:
                return False
            return not self.asked.has_history and sent.issuperset(source.turns)

        found = await recall_within(memory, self.asked.text, self.plan.user_id, self.plan.budget, self.failed)
        self.report.recalled, self.block = shown(found, known, self.plan.budget.tokens)

    async def _begin_backlog(self) -> Backlog | None:
        extraction = self.plan.extraction
        if extraction is None or not self.asked.text.strip():
            return None
        if self._turns is None:
            work = extraction.begin_exchange(
                self.report.run_id, storable(self.asked.text), user_id=self.plan.user_id
            )
        else:
            thread = self._turns.thread
            work = extraction.begin_thread(
                thread.namespace, thread.id, self._turns.since, user_id=self.plan.user_id
            )
        return await self._attempt("extract", work)

    async def _write_back(self, answer: str) -> None:
        try:
            await finished(self._write(storable(answer)), WRITE_BACK_S)
        except TimeoutError:
            self.failed("write back", f"not done within {WRITE_BACK_S:g} s")

    async def _write(self, answer: str) -> None:
        answered = answer if answer.strip() else ""
        if self._turns is not None and answered:
            await self._attempt("append", self._turns.answer(answered))
        elif self._backlog is not None and self.plan.extraction is not None and self._turns is None:
            ending = self.plan.extraction.end_exchange(
                self._backlog, answered, recalled=self.report.recalled_ids
            )
            await self._attempt("extract", ending)
        if self.plan.autosaves and self.plan.memory is not None and self.asked.text.strip():
            await self._autosave(self.plan.memory, answered)
        if self.scratch is not None:
            await self._attempt("forget", self.scratch.end())

    async def _autosave(self, memory: Memory, answered: str) -> None:
        new = exchange(self.report, storable(self.asked.text), answered, self._source())
        for user_id, unsaved in self.leftovers.take_unsaved(self.plan.user_id):
            await self._save(memory, unsaved, user_id)
        item = await self._save(memory, new, self.plan.user_id)
        self.report.remembered += item or []

    async def _save(self, memory: Memory, new: NewMemory, user_id: str | None) -> list[Any] | None:
        saved = await self._attempt("remember", memory.remember_many([new], user_id=user_id))
        if saved is None:
            self.leftovers.keep_unsaved(user_id, new)
        return saved

    def _source(self) -> Source | None:
        if self._turns is None:
            return Source(speaker="user and assistant")
        turns = self._turns.numbers()
        return Source(thread=self._turns.thread.id, turns=turns, speaker="user and assistant")

    async def _attempt(self, verb: str, work: Coroutine[Any, Any, _T]) -> _T | None:
        try:
            return await work
        except Exception as error:  # noqa: BLE001 - stores, embedders and extractors of any make; no run ends by them
            self.failed(verb, f"{type(error).__name__}: {error}")
            return None

    def failed(self, verb: str, why: str) -> None:
        """Say it everywhere: in the report, in the log, and as an event."""
        self.report.failures.append(f"{verb}: {why}")
        tell_failure(self.report, self.plan.memory, self.thread, Failure(verb, why, self.plan.user_id))
