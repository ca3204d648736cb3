"""The exchanges of runs without a thread: kept as notes until the memories are drawn from them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from retentive import checks
from retentive.errors import Conflict, InvalidInput
from retentive.extraction import notes
from retentive.extraction.backlog import Backlog
from retentive.extraction.logbook import Logbook
from retentive.extraction.notes import Exchange
from retentive.redaction.fields import redacted_text
from retentive.tokens import truncate
from retentive.types import Scope

MAX_RUN_ID_CHARS = 256
TRIES = 5


async def begin(book: Logbook, run_id: str, text: str, user_id: str | None) -> Backlog:
    """See `Extraction.begin_exchange`."""
    checks.check_label("run_id", run_id, max_chars=MAX_RUN_ID_CHARS)
    said = _said(book, text)
    new = Exchange(run_id=run_id, at=book.parts.clock(), user=said, is_open=True)
    await _make_room(book, user_id, notes.EXCHANGES, notes.exchange)
    await _make_room(book, user_id, notes.DEAD_EXCHANGES, lambda name, kept: notes.dead_letter(name, kept)[0])
    await book.change(user_id, new.name, None, notes.encode(new))
    return Backlog(user_id=user_id, run_id=run_id, waiting=1)


async def end(book: Logbook, backlog: Backlog, text: str, recalled: Sequence[str]) -> None:
    """See `Extraction.end_exchange`."""
    if backlog.run_id is None:
        raise InvalidInput("end_exchange takes what begin_exchange gave; a thread's turns are appended")
    said = _said(book, text) if text else ""
    for _ in range(TRIES):
        kept = await book.kept(backlog.note, backlog.user_id)
        if kept is None and not said:
            return
        found = (
            Exchange(run_id=backlog.run_id, at=book.parts.clock(), user=None)
            if kept is None
            else notes.exchange(backlog.note, kept)
        )
        ended = replace(found, assistant=said, is_open=False, recalled=tuple(recalled))
        if await book.change(backlog.user_id, backlog.note, kept, notes.encode(ended)):
            return
    raise Conflict(f"others kept changing the exchange of run {backlog.run_id!r}; try again")


def _said(book: Logbook, text: str) -> str:
    """The text as it may wait: redacted first, so that no cut leaves half of what was to be taken out."""
    left = redacted_text(book.parts.memory.redactor, checks.check_text("text", text))
    return truncate(left, book.limits.exchange_chars)


async def _make_room(
    book: Logbook, user_id: str | None, prefix: str, read: Callable[[str, bytes], Any]
) -> None:
    held = await book.parts.memory.notes(prefix, user_id=user_id)
    if len(held) < book.limits.exchanges:
        return
    oldest = min(held, key=lambda name: read(name, held[name]).at)
    if await book.change(user_id, oldest, held[oldest], None):
        why = f"over {book.limits.exchanges} exchanges wait; the oldest, {oldest!r}, was dropped"
        book.parts.tell_failure(Scope(book.parts.memory.namespace, user_id), why)
