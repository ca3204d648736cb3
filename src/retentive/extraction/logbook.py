"""What waits, as the notes of a Memory and the logs of threads tell it."""

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from retentive.errors import Conflict
from retentive.extraction import backlog as waiting
from retentive.extraction import notes
from retentive.extraction.backlog import Backlog, Window
from retentive.extraction.limits import ExtractionLimits
from retentive.extraction.notes import DeadLetter, Exchange, Tries, Watermark
from retentive.extraction.parts import Parts
from retentive.life.batch import Batch
from retentive.stores.base import ThreadStore
from retentive.stores.wrapped import check_readable
from retentive.types import Scope, Turn, Unset

OPEN_FOR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Logbook:
    """Reads and changes the notes of extraction, and reads the turns they speak of."""

    parts: Parts
    threads: ThreadStore
    limits: ExtractionLimits

    async def kept(self, name: str, user_id: str | None) -> bytes | None:
        """The note; None if there is none."""
        return (await self.parts.memory.notes(name, user_id=user_id)).get(name)

    async def change(self, user_id: str | None, name: str, kept: bytes | None, new: bytes | None) -> bool:
        """Change one note; False when it is not as given any more, and nothing was written."""
        try:
            await self.parts.memory.apply(Batch(notes={name: new}, expected={name: kept}), user_id=user_id)
        except Conflict:
            return False
        return True

    async def windows(self, backlog: Backlog) -> AsyncIterator[Window]:
        """What waits there now, in order; each window is to be done before the next is taken."""
        kept = await self.kept(backlog.note, backlog.user_id)
        if kept is None:
            return
        if backlog.run_id is not None:
            yield waiting.exchange_window(notes.exchange(backlog.note, kept), kept, backlog.user_id)
            return
        mark, turns = await self._since(notes.watermark(backlog.note, kept))
        for window in waiting.thread_windows(mark, kept, turns, backlog.user_id, self.limits):
            yield window

    async def letter_window(self, letter: DeadLetter) -> Window | None:
        """The window of a dead letter; None if that is gone."""
        kept = await self.kept(letter.name, letter.user_id)
        if kept is None:
            return None
        current, held = notes.dead_letter(letter.name, kept)
        turns: Sequence[Turn] = []
        if current.namespace is not None and current.thread is not None:
            first = max(0, current.first - 1 - self.limits.turns_before)
            turns = await self._turns(current.namespace, current.thread, first)
        return waiting.letter_window(current, held, kept, turns)

    async def backlogs(self, user_id: str | Unset | None) -> list[Backlog]:
        """Threads with turns that wait, and exchanges of runs that ended or began long ago."""
        found: list[Backlog] = []
        for scope in await self.scopes(user_id):
            memory, owner = self.parts.memory, scope.user_id
            for name, kept in (await memory.notes(notes.WATERMARKS, user_id=owner)).items():
                mark, turns = await self._since(notes.watermark(name, kept))
                count = sum(turn.seq > mark.seq for turn in turns)
                place = Backlog(user_id=owner, namespace=mark.namespace, thread=mark.thread)
                found += [_told(place, count, mark.tries)] if count else []
            for name, kept in (await memory.notes(notes.EXCHANGES, user_id=owner)).items():
                one = notes.exchange(name, kept)
                place = Backlog(user_id=owner, run_id=one.run_id)
                if not self._goes_on(one):
                    found.append(_told(place, len(waiting.exchange_turns(one)), one.tries))
        return found

    async def scopes(self, user_id: str | Unset | None) -> Sequence[Scope]:
        """The scope of one user, or all."""
        if isinstance(user_id, Unset):
            return await self.parts.memory.scopes()
        return [Scope(self.parts.memory.namespace, user_id)]

    def _goes_on(self, found: Exchange) -> bool:
        return found.is_open and self.parts.clock() - found.at < OPEN_FOR

    async def _since(self, mark: Watermark) -> tuple[Watermark, Sequence[Turn]]:
        """The turns after the watermark, led by some before it; from the start if the log is another one."""
        first = max(0, mark.seq - 1 - self.limits.turns_before)
        turns = await self._turns(mark.namespace, mark.thread, first)
        at_mark = next((turn for turn in turns if turn.seq == mark.seq), None)
        is_other = at_mark is not None and mark.turn is not None and at_mark.id != mark.turn
        is_shorter = mark.seq > 0 and (not turns or turns[-1].seq < mark.seq)
        if not (is_other or is_shorter):
            return mark, turns
        return replace(mark, seq=0, turn=None), await self._turns(mark.namespace, mark.thread, 0)

    async def _turns(self, namespace: str, thread: str, since: int) -> Sequence[Turn]:
        started = time.perf_counter()
        turns = (await self.threads.turns(namespace, thread, since)).turns
        check_readable(thread, turns)
        self.parts.tell_thread_read(self.threads.url, (namespace, thread), started, turns)
        return turns


def _told(place: Backlog, count: int, tries: Tries) -> Backlog:
    return replace(place, waiting=count, failures=tries.total, error=tries.error)
