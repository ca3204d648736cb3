"""Extraction: what waits is drawn from the log, window by window, whoever comes first."""

from collections.abc import Sequence

from retentive import checks
from retentive.errors import StoreClosed, StoreError
from retentive.extraction import exchanges, notes
from retentive.extraction.backlog import Backlog
from retentive.extraction.base import Extractor
from retentive.extraction.limits import ExtractionLimits
from retentive.extraction.llm import LLMExtractor
from retentive.extraction.logbook import Logbook
from retentive.extraction.notes import DeadLetter, Watermark
from retentive.extraction.parts import Parts
from retentive.extraction.step import Extracted, Step
from retentive.memory import Memory
from retentive.names import check_name
from retentive.stores.base import ThreadStore
from retentive.types import UNSET, Scope, Unset

TRIES = 5


class Extraction:
    """Draws memories from threads and exchanges into a Memory. The log is the backlog.

    A note in the user's scope says how far each thread was extracted. It advances only in the change that
    writes the memories, so a crash, a cancelled run or a lost worker leaves turns that wait, never a hole and
    never a double. Any number of tasks and processes may extract at once; of two that take the same turns one
    writes. It holds no state of its own: make one with the same Memory wherever you need it.

    Args:
        memory: where the memories go, and the notes.
        extractor: what finds them; None is `LLMExtractor()`, which asks the model passed to each call.
        threads: where the threads are, used as it is; None is the default place, as for `open_thread`, sealed
            and encrypted as the Memory is.
        limits: how much at a time; None is the default.

    Example:
        >>> import asyncio
        >>> from retentive import Memory
        >>> from retentive.extraction import Extraction, VerbatimExtractor
        >>> async def main():
        ...     async with Memory(store="memory://") as memory:
        ...         extraction = Extraction(memory, VerbatimExtractor())
        ...         waiting = await extraction.begin_exchange("run-1", "I only eat plants.", user_id="ada")
        ...         await extraction.end_exchange(waiting, "Noted.")
        ...         return [item.content for item in (await extraction.extract(waiting)).items]
        >>> asyncio.run(main())
        ['I only eat plants.']
    """

    def __init__(
        self,
        memory: Memory,
        extractor: Extractor | None = None,
        *,
        threads: ThreadStore | None = None,
        limits: ExtractionLimits | None = None,
    ) -> None:
        self.memory = memory
        self.extractor = extractor or LLMExtractor()
        self.limits = limits or ExtractionLimits()
        self._parts = Parts(memory)
        self._book = Logbook(self._parts, threads or memory.guards.threads_below(), self.limits)

    async def begin_thread(
        self, namespace: str, thread: str, since: int = 0, *, user_id: str | None = None
    ) -> Backlog:
        """The backlog of a thread in a user's scope, noted durably: it starts after turn `since`.

        Call it before the run's first turn is appended. Where it was noted before, that stays as it is.

        Raises:
            InvalidInput: a name or number cannot be used.
            StoreError: it could not be noted.
        """
        mark = Watermark(
            namespace=check_name("namespace", namespace),
            thread=check_name("thread", thread),
            seq=checks.check_limit("since", since, maximum=2**31),
        )
        if await self._book.kept(mark.name, user_id) is None:
            await self._book.change(user_id, mark.name, None, notes.encode(mark))
        return Backlog(user_id=user_id, namespace=namespace, thread=thread)

    async def begin_exchange(self, run_id: str, text: str, *, user_id: str | None = None) -> Backlog:
        """The backlog of a run without a thread: what the user says is noted durably.

        Call it before the model is called. Of a long text the first `limits.exchange_chars` are kept. Where
        `limits.exchanges` wait already, the oldest is dropped, and an EXTRACTION_FAILED event says so. A
        second call for the same run changes nothing.

        Raises:
            InvalidInput: the text or the run's id cannot be used.
            StoreError: it could not be noted.
        """
        return await exchanges.begin(self._book, run_id, text, user_id)

    async def end_exchange(self, backlog: Backlog, text: str, *, recalled: Sequence[str] = ()) -> None:
        """Note what the assistant said at the end of the run; "" if nothing, as after a failure.

        `recalled` are the ids of the memories that steered it. If a worker has extracted the user's part
        meanwhile, what is noted is the assistant's part alone.

        Raises:
            InvalidInput: the text cannot be used, or the backlog is a thread's.
            StoreError: it could not be noted; the user's part is.
        """
        await exchanges.end(self._book, backlog, text, recalled)

    async def extract(
        self, backlog: Backlog, *, model: object | None = None, recalled: Sequence[str] = ()
    ) -> Extracted:
        """Extract all that waits there now, window by window; stops at the first failure, and says it.

        What a model, an extractor, an embedder or a store does wrong is not raised: `failure` says it, an
        EXTRACTION_FAILED event tells it, and the turns wait for the next call. A window that failed
        `limits.attempts` times is given up: it goes to the dead letters, and the next call goes on behind it.

        Args:
            backlog: what `begin_thread`, `begin_exchange` or `backlogs` gave.
            model: what an LLMExtractor without a model of its own asks: a pydantic-ai model or its name.
            recalled: ids of memories that steered the run: they are shown to the extractor as known.

        Raises:
            InvalidInput: the extractor cannot be asked, for example without a model.
            StoreClosed: the Memory was closed.
        """
        step = self._step(backlog.user_id, model, recalled)
        done = Extracted()
        try:
            for _ in range(TRIES):
                more, is_whole = await step.take_all(self._book.windows(backlog))
                done += more
                if is_whole:
                    break
        except StoreClosed:
            raise
        except StoreError as error:
            return done + step.told(str(error))
        return done

    async def backlogs(self, user_id: str | Unset | None = UNSET) -> list[Backlog]:
        """What waits: threads with turns not yet extracted, and exchanges; by user, then by name.

        The exchange of a run that began less than an hour ago and has not ended is left to that run.

        Args:
            user_id: only in this user's scope; None is the shared one. Not passed: in every scope.

        Raises:
            StoreError: it cannot be read.
        """
        return await self._book.backlogs(user_id)

    async def dead_letters(self, user_id: str | Unset | None = UNSET) -> list[DeadLetter]:
        """The windows that were given up; by user, then by name. `user_id` as for `backlogs`.

        Raises:
            StoreError: they cannot be read.
        """
        return [
            notes.dead_letter(name, kept)[0]
            for scope in await self._book.scopes(user_id)
            for name, kept in (await self.memory.notes(notes.DEAD, user_id=scope.user_id)).items()
        ]

    async def retry(self, letter: DeadLetter, *, model: object | None = None) -> Extracted:
        """Try a dead letter again: it is removed in the change that writes its memories. As `extract`.

        One that is gone already, or of a thread that is, comes to nothing.

        Raises:
            InvalidInput, StoreClosed: as `extract`.
        """
        step = self._step(letter.user_id, model, ())
        try:
            window = await self._book.letter_window(letter)
            taken = None if window is None else await step.take(window)
        except StoreClosed:
            raise
        except StoreError as error:
            return step.told(str(error))
        return Extracted() if taken is None else taken

    def report(self, user_id: str | None, why: str) -> Extracted:
        """An extraction that failed for this reason, logged and told as an EXTRACTION_FAILED event."""
        return self._step(user_id, None, ()).told(why)

    def _step(self, user_id: str | None, model: object | None, recalled: Sequence[str]) -> Step:
        scope = Scope(self.memory.namespace, user_id)
        return Step(self._parts, self.extractor, self.limits, scope, model, recalled)
