"""One step of extraction: a window is shown to the extractor, and what it says is written in one change."""

import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from retentive.errors import (
    Conflict,
    EmbedderError,
    ExtractionError,
    InvalidInput,
    ModelUnavailable,
    RedactionError,
    RetentiveError,
    StoreClosed,
    StoreError,
)
from retentive.extraction import notes
from retentive.extraction.backlog import Window
from retentive.extraction.base import Excerpt, Extractor, Statement
from retentive.extraction.limits import ExtractionLimits
from retentive.extraction.notes import DeadLetter, Failure
from retentive.extraction.parts import Parts
from retentive.extraction.small_talk import nothing_to_keep
from retentive.extraction.statements import Settled, settle
from retentive.life.batch import Batch
from retentive.types import MemoryItem, Scope, Turn

QUERIES = 8
_log = logging.getLogger("retentive.extraction")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What an extraction came to. Falsy when it failed.

    `items` are the memories drawn and stored, in the order of the conversation's windows; `restated` the ids
    of memories that were said again, `superseded` of those that gave way, `refused` why a statement could
    not be used. `turns` counts the turns that are done. `failure` says why it stopped, None if it did not;
    what is left waits. `dead` are the windows given up in this call.
    """

    items: tuple[MemoryItem, ...] = ()
    restated: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    turns: int = 0
    failure: str | None = None
    dead: tuple[DeadLetter, ...] = ()

    def __bool__(self) -> bool:
        return self.failure is None

    def __add__(self, later: "Extracted") -> "Extracted":
        return Extracted(
            items=(*self.items, *later.items),
            restated=(*self.restated, *later.restated),
            superseded=(*self.superseded, *later.superseded),
            refused=(*self.refused, *later.refused),
            turns=self.turns + later.turns,
            failure=later.failure or self.failure,
            dead=(*self.dead, *later.dead),
        )


@dataclass(frozen=True, slots=True)
class Step:
    """Extracts one window of a scope. `model` is the run's own; `recalled` are memories that steered it."""

    parts: Parts
    extractor: Extractor
    limits: ExtractionLimits
    scope: Scope
    model: object | None = None
    recalled: Sequence[str] = field(default=())

    async def take_all(self, windows: AsyncIterator[Window]) -> tuple[Extracted, bool]:
        """What came of the windows up to a failure or the limit; with False if another came first.

        Raises:
            InvalidInput, StoreClosed: as `take`.
        """
        done, left = Extracted(), self.limits.windows
        async for window in windows:
            taken = await self.take(window)
            if taken is None:
                return done, False
            done, left = done + taken, left - 1
            if not (done and left):
                break
        return done, True

    async def take(self, window: Window) -> Extracted | None:
        """What came of it; None when another worker was faster, and nothing was written.

        Raises:
            InvalidInput: the extractor cannot be asked.
            StoreClosed: the Memory was closed.
        """
        try:
            settled = await self._ask(window)
            return await self._write(window, settled)
        except Conflict:
            return None
        except (ExtractionError, EmbedderError, RedactionError) as error:
            outage = isinstance(error, (ModelUnavailable, EmbedderError, RedactionError))
            return await self._failed(window, Failure(error=str(error), outage=outage))
        except (StoreClosed, InvalidInput):
            raise
        except StoreError as error:
            return self.told(str(error))

    async def _ask(self, window: Window) -> Settled:
        if self.extractor.needs_model and nothing_to_keep(window.turns, window.before):
            return Settled()
        known = await self._known(window)
        excerpt = Excerpt(turns=window.turns, before=window.before, known=known, model=self.model)
        settled = settle(
            await self._statements(excerpt), excerpt, self.limits, thread=window.thread, run_id=window.run_id
        )
        for reason in settled.refused:
            _log.warning("extraction in %s: not taken: %s", self.scope.namespace, reason)
        if settled.is_unusable:
            raise ExtractionError(f"nothing of the answer can be used: {settled.refused[0]}")
        return settled

    async def _statements(self, excerpt: Excerpt) -> list[Statement]:
        if not excerpt.turns:
            return []
        try:
            statements = list(await self.extractor.extract(excerpt))
        except RetentiveError:
            raise
        except Exception as error:
            raise ExtractionError(f"the extractor failed with {type(error).__name__}: {error}") from error
        if not all(isinstance(one, Statement) for one in statements):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ExtractionError("the extractor gave something else than Statements")
        return statements

    async def _known(self, window: Window) -> list[MemoryItem]:
        """Living memories: those that were recalled, then the nearest to what was said, in turn."""
        memory, user_id = self.parts.memory, self.scope.user_id
        found: dict[str, MemoryItem] = {}
        for memory_id in dict.fromkeys((*self.recalled, *window.recalled)):
            item = await memory.get(memory_id, user_id=user_id) if len(found) < self.limits.known else None
            if item is not None and item.superseded_by is None:
                found[item.id] = item
        nearest = [
            [hit.item for hit in await memory.search(text, user_id=user_id, limit=self.limits.known)]
            for text in _questions(window.turns)
        ]
        for rank in range(self.limits.known):
            found |= {
                one[rank].id: one[rank] for one in nearest if rank < len(one) and one[rank].id not in found
            }
        return list(found.values())[: self.limits.known]

    async def _write(self, window: Window, settled: Settled) -> Extracted:
        batch = Batch(
            new=settled.new,
            supersedes={place: (old,) for place, old in settled.supersedes},
            notes={window.note: window.done},
            expected={window.note: window.kept},
            lenient=True,
        )
        try:
            applied = await self.parts.memory.apply(batch, user_id=self.scope.user_id)
        except InvalidInput as error:
            raise ExtractionError(f"a statement cannot be stored: {error}") from error
        return Extracted(
            items=tuple(item for item in applied.items if item.id not in applied.restated),
            restated=tuple(dict.fromkeys((*settled.restated, *applied.restated))),
            superseded=tuple(item.id for item in applied.superseded),
            refused=settled.refused,
            turns=len(window.turns),
        )

    async def _failed(self, window: Window, failure: Failure) -> Extracted | None:
        """Count the failure in the note; where that cannot be written, nothing is lost but the count."""
        changed = window.failed(failure, self.parts.clock(), self.limits)
        batch = Batch(notes=changed, expected={window.note: window.kept})
        try:
            await self.parts.memory.apply(batch, user_id=self.scope.user_id)
        except Conflict:
            return None
        except StoreError as error:
            return self.told(f"{failure.error}; and it could not be noted: {error}")
        dead = [
            notes.dead_letter(name, value)[0]
            for name, value in changed.items()
            if name.startswith(notes.DEAD) and name != window.note and value is not None
        ]
        if dead:
            return self.told(f"given up after {dead[0].attempts} failures: {failure.error}", dead)
        return self.told(failure.error)

    def told(self, why: str, dead: Sequence[DeadLetter] = ()) -> Extracted:
        """The failure, after it was logged and told to the Memory's subscribers."""
        self.parts.tell_failure(self.scope, why)
        _log.warning("extraction in %s failed: %s", self.scope.namespace, why)
        return Extracted(failure=why, dead=tuple(dead))


def _questions(turns: Sequence[Turn]) -> list[str]:
    """What to look up to find the memories that these turns may touch, the latest first."""
    said = [turn.content for turn in turns if turn.role == "user"] or [turn.content for turn in turns]
    return said[: -QUERIES - 1 : -1]
