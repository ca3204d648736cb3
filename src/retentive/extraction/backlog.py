"""What waits to be extracted, and how it is cut into windows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from retentive.extraction import notes
from retentive.extraction.limits import ExtractionLimits
from retentive.extraction.notes import Changed, DeadLetter, Exchange, Failure, Watermark
from retentive.tokens import estimate_tokens
from retentive.types import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """One thread, or one exchange without a thread, in the scope of one user: what `extract` takes.

    `waiting` counts the turns not yet extracted, `failures` how often the next window failed, and `error`
    says why the last time; as they were when this was given.
    """

    user_id: str | None
    namespace: str | None = None
    thread: str | None = None
    run_id: str | None = None
    waiting: int = 0
    failures: int = 0
    error: str | None = None

    @property
    def note(self) -> str:
        """The name of the note that holds its state."""
        if self.run_id is not None:
            return f"{notes.EXCHANGES}{self.run_id}"
        return f"{notes.WATERMARKS}{self.namespace}/{self.thread}"


class OnFailure(Protocol):
    """How the notes change when a window fails."""

    def __call__(self, failure: Failure, now: datetime, limits: ExtractionLimits) -> Changed:
        """The notes to write; one that begins with "dead" says that the window is given up."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Turns that are extracted in one step, and the note that changes with it.

    `kept` is what the note must be for the step to count, `done` what it is afterwards (None: removed).
    `recalled` are the memories that were recalled when these turns were spoken.
    """

    turns: Sequence[Turn]
    before: Sequence[Turn] = ()
    note: str
    kept: bytes
    done: bytes | None
    failed: OnFailure
    recalled: tuple[str, ...] = ()
    thread: str | None = None
    run_id: str | None = None


def thread_windows(
    mark: Watermark, kept: bytes, turns: Sequence[Turn], user_id: str | None, limits: ExtractionLimits
) -> Iterator[Window]:
    """The windows of a thread after its watermark, in order; each is to be done before the next.

    `turns` are those after the watermark, led by some before it. A window that failed before is cut shorter
    each time, so that one bad turn does not take many others to the dead letters.
    """
    before = [turn for turn in turns if turn.seq <= mark.seq]
    waiting = [turn for turn in turns if turn.seq > mark.seq]
    while waiting:
        size = _size(waiting, limits, mark.tries.attempts)
        window, waiting = waiting[:size], waiting[size:]
        past = mark.past(window[-1].seq, window[-1].id)
        yield Window(
            turns=readable(window, user_id),
            before=readable(before, user_id)[-limits.turns_before :] if limits.turns_before else (),
            note=mark.name,
            kept=kept,
            done=notes.encode(past),
            failed=_FailedThread(mark, past, window[0].seq, user_id),
            recalled=_recalled(window),
            thread=mark.thread,
        )
        before, mark, kept = [*before, *window], past, notes.encode(past)


def exchange_window(found: Exchange, kept: bytes, user_id: str | None) -> Window:
    """The one window of an exchange."""
    return Window(
        turns=exchange_turns(found),
        note=found.name,
        kept=kept,
        done=None,
        failed=_FailedExchange(found, user_id),
        recalled=found.recalled,
        run_id=found.run_id,
    )


def letter_window(letter: DeadLetter, held: Exchange | None, kept: bytes, turns: Sequence[Turn]) -> Window:
    """The one window of a dead letter; `turns` are those of its thread, with some before them."""
    inside = [turn for turn in turns if letter.first <= turn.seq <= letter.last]
    before = [turn for turn in turns if turn.seq < letter.first]
    return Window(
        turns=exchange_turns(held) if held else readable(inside, letter.user_id),
        before=readable(before, letter.user_id),
        note=letter.name,
        kept=kept,
        done=None,
        failed=_FailedLetter(letter, held),
        recalled=held.recalled if held else _recalled(inside),
        thread=letter.thread,
        run_id=letter.run_id,
    )


def readable(turns: Sequence[Turn], user_id: str | None) -> list[Turn]:
    """The turns that may be drawn from: not the system's, not redacted, not another user's."""
    return [
        turn
        for turn in turns
        if turn.role != "system"
        and turn.content.strip()
        and not turn.is_redacted
        and turn.metadata.get("user_id", user_id) == user_id
    ]


def exchange_turns(found: Exchange) -> list[Turn]:
    """The exchange as turns: the user's is number 1, the assistant's number 2."""
    said = [(1, "user", found.user), (2, "assistant", found.assistant)]
    return [
        Turn(seq=seq, id=f"{found.run_id}/{seq}", role=role, content=text, at=found.at)
        for seq, role, text in said
        if text
    ]


def _size(turns: Sequence[Turn], limits: ExtractionLimits, attempts: int) -> int:
    """How many of the turns make up the next window: one at least."""
    most, tokens, size = max(1, limits.window_turns >> attempts), limits.window_tokens >> attempts, 0
    for turn in turns[:most]:
        tokens -= estimate_tokens(turn.content)
        if size and tokens < 0:
            break
        size += 1
    return size


def _recalled(turns: Sequence[Turn]) -> tuple[str, ...]:
    ids: dict[str, None] = {}
    for turn in turns:
        named = turn.metadata.get("recalled")
        if isinstance(named, (list, tuple)):
            ids |= dict.fromkeys(one for one in named if isinstance(one, str))
    return tuple(ids)


@dataclass(frozen=True, slots=True)
class _FailedThread:
    mark: Watermark
    past: Watermark
    first: int
    user_id: str | None

    def __call__(self, failure: Failure, now: datetime, limits: ExtractionLimits) -> Changed:
        tries = self.mark.tries.after(failure)
        if not tries.used_up(limits):
            return {self.mark.name: notes.encode(replace(self.mark, tries=tries))}
        letter = DeadLetter(
            user_id=self.user_id,
            namespace=self.mark.namespace,
            thread=self.mark.thread,
            first=self.first,
            last=self.past.seq,
            at=now,
            attempts=tries.total,
            error=failure.error[: notes.MAX_ERROR_CHARS],
        )
        return {self.mark.name: notes.encode(self.past), letter.name: notes.encode(letter)}


@dataclass(frozen=True, slots=True)
class _FailedExchange:
    found: Exchange
    user_id: str | None

    def __call__(self, failure: Failure, now: datetime, limits: ExtractionLimits) -> Changed:
        tries = self.found.tries.after(failure)
        if not tries.used_up(limits):
            return {self.found.name: notes.encode(replace(self.found, tries=tries))}
        letter = DeadLetter(
            user_id=self.user_id,
            run_id=self.found.run_id,
            at=now,
            attempts=tries.total,
            error=failure.error[: notes.MAX_ERROR_CHARS],
        )
        held = notes.plain(self.found)
        return {self.found.name: None, letter.name: notes.encode(letter, exchange=held)}


@dataclass(frozen=True, slots=True)
class _FailedLetter:
    letter: DeadLetter
    held: Exchange | None

    def __call__(self, failure: Failure, now: datetime, limits: ExtractionLimits) -> Changed:  # noqa: ARG002
        error = failure.error[: notes.MAX_ERROR_CHARS]
        letter = replace(self.letter, at=now, attempts=self.letter.attempts + 1, error=error)
        more = {"exchange": notes.plain(self.held)} if self.held else {}
        return {letter.name: notes.encode(letter, **more)}
