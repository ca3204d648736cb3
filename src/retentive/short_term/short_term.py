"""Short-term memory: a bounded window over a thread, with a rolling summary of what lies before it."""

import asyncio
import logging
from dataclasses import replace
from typing import Final
from weakref import WeakKeyDictionary

from retentive.checks import check_limit
from retentive.context.sources import Talk
from retentive.conversation import MAX_TURNS, TOKENS_PER_TURN, Conversation
from retentive.errors import Conflict, InvalidInput, RetentiveError
from retentive.gathering import Turns
from retentive.life.batch import Batch
from retentive.memory import Memory
from retentive.redaction.fields import redacted_text
from retentive.short_term.summarizing import Summarizer, from_note, note_name, to_note
from retentive.tokens import TokenCounter, estimate_tokens, truncate_to_tokens
from retentive.window import Summary, Window, cut

SUMMARY_SHARE: Final = 4
"""A summary may take this part of `max_tokens`: a quarter."""
MAX_SUMMARY_TOKENS: Final = 1_000
LEAST_TOKENS: Final = 64
"""What window and summary together must be allowed."""
MAX_SUMMARIZED_TOKENS: Final = 8_000
TRIES: Final = 5
KEPT_SHARE: Final = 2
"""What stays of a full window when the rest is summarised: a half, so that a model is asked now and then."""
_log = logging.getLogger(__name__)
_in_turn: "WeakKeyDictionary[Talk, Turns]" = WeakKeyDictionary()


class ShortTermMemory:
    """The latest turns of a thread within bounds, and a summary of the turns before them.

    The log keeps everything; the window is what a model is shown of it. With `summarize` the older half of
    an overfull window is folded into a rolling summary, `MAX_SUMMARIZED_TOKENS` of turns by one call of a
    model. The summary is derived: it is kept as a note in the user's scope of `memory` with the number of
    the last turn it tells of, so that nobody asks a model twice for the same turns, and is made anew when
    those turns have changed (redacted, deleted). If it cannot be made, the window stays as it is without
    one, `Window.degraded` says so, and the next call tries again.

    Safe to use from several tasks; of several processes one writes the summary and the others take it over.
    A cancelled call loses nothing: the turns are in the log.

    Args:
        thread: the thread.
        max_turns: how many turns the window has at most; None does not bound them.
        max_tokens: how many tokens window and summary have together at most, by `count`; None does not bound
            them. A turn counts its content and `TOKENS_PER_TURN`.
        summarize: writes the summary, for example an `LLMSummarizer`; None leaves older turns out.
        memory: where the summary is kept; None keeps it in this object alone.
        user_id: whose scope the summary is kept in; None is the namespace's shared scope.
        count: counts tokens as the model does.
        patience_s: how many seconds one summary may take.

    Raises:
        InvalidInput: neither bound is given, or one is not a whole number from 0, or `max_tokens` leaves no
            room for a summary (less than 64).
    """

    def __init__(  # noqa: PLR0913 - the bounds, and what makes a summary
        self,
        thread: Talk,
        *,
        max_turns: int | None = None,
        max_tokens: int | None = None,
        summarize: Summarizer | None = None,
        memory: Memory | None = None,
        user_id: str | None = None,
        count: TokenCounter = estimate_tokens,
        patience_s: float = 30.0,
    ) -> None:
        if max_turns is None and max_tokens is None:
            raise InvalidInput("a short-term memory needs a bound: pass max_turns, max_tokens or both")
        for name, bound in (("max_turns", max_turns), ("max_tokens", max_tokens)):
            if bound is not None:
                check_limit(name, bound, maximum=MAX_TURNS)
        if summarize is not None and max_tokens is not None and max_tokens < LEAST_TOKENS:
            raise InvalidInput(f"a window with a summary needs max_tokens of at least {LEAST_TOKENS}")
        self.thread = thread
        self._max_turns = max_turns
        self._max_tokens = max_tokens
        self._summarize = summarize
        self._memory = memory
        self._user_id = user_id
        self._count = count
        self._patience_s = patience_s
        self._note: bytes | None = None
        self._known: tuple[bytes | None, Conversation | None, Summary | None] = (None, None, None)

    async def window(self) -> Window:
        """The window as it is now, with the summary brought up to it where need be.

        Without a summary before it, it begins with no answer whose question was left out. It is empty if
        the latest turn alone is too long.

        Raises:
            StoreError: the summary that is kept cannot be read.
        """
        if self._summarize is None:
            return self._shown(None, {})
        summary, degraded = self._summary(await self._read()), dict[str, str]()
        if self._overflows(summary):
            async with _in_turn.setdefault(self.thread, Turns()).turn():
                summary = await self._fold(self._summarize, degraded)
        return self._shown(summary, degraded)

    def _shown(self, summary: Summary | None, degraded: dict[str, str]) -> Window:
        rest = self._after(summary)
        shown = self._within(rest, summary)
        hidden = rest[: len(rest) - len(shown)]
        left_out = (hidden[0].seq, hidden[-1].seq) if hidden else None
        return Window(turns=shown, summary=summary, left_out=left_out, degraded=degraded)

    async def _fold(self, summarize: Summarizer, degraded: dict[str, str]) -> Summary | None:
        """The summary after as many steps as it needs; as far as it came, if one fails."""
        conflicts = 0
        while True:
            note = await self._read()
            summary = self._summary(note)
            if not self._overflows(summary):
                return summary
            try:
                await self._step(summarize, note, summary)
            except Conflict as error:  # another process was first: go on from its summary
                conflicts += 1
                if conflicts == TRIES:
                    self._tell(error, degraded)
                    return summary
            except Exception as error:  # noqa: BLE001 - a summarizer is the caller's code, and models fail
                self._tell(error, degraded)
                return summary

    def _tell(self, error: Exception, degraded: dict[str, str]) -> None:
        degraded["summary"] = f"turns are left out, no summary could be made of them: {error!r}"
        _log.warning("thread %r: no summary: %r", self.thread.id, error)

    async def _step(self, summarize: Summarizer, note: bytes | None, summary: Summary | None) -> None:
        """Have some turns summarised, and keep what comes of it in the place of the note."""
        talk, batch = self.thread.messages(), self._next(summary)
        before = None if summary is None else summary.text
        text = await asyncio.wait_for(summarize(before, batch), self._patience_s)
        if isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            text = text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode().strip()
            text = redacted_text(self._memory.redactor if self._memory is not None else None, text)
            text = truncate_to_tokens(text, self._summary_tokens(), self._count)
        if not text:
            raise RetentiveError("the summarizer gave no text")
        await self._keep(note, to_note(Summary(text=text, last=batch[-1].seq), talk))

    def _next(self, summary: Summary | None) -> Conversation:
        """The turns to summarise next: those that are to leave the window, a model's mouthful of them."""
        rest = self._after(summary)
        leaving = rest[: len(rest) - len(self._staying(rest))]
        size, tokens = 0, 0
        while size < len(leaving) and (size == 0 or tokens <= MAX_SUMMARIZED_TOKENS):
            tokens += estimate_tokens(leaving[size].content) + TOKENS_PER_TURN
            size += tokens <= MAX_SUMMARIZED_TOKENS or size == 0
        return leaving[:size]

    def _staying(self, rest: Conversation) -> Conversation:
        """What stays of an overfull window: about half of it, the latest turn in any case."""
        turns = None if self._max_turns is None else self._max_turns // KEPT_SHARE
        tokens = None if self._max_tokens is None else self._for_turns(True) // KEPT_SHARE
        return cut(rest, turns, tokens, count=self._count) or rest[-1:]

    def _overflows(self, summary: Summary | None) -> bool:
        """Whether turns should be summarised: some beyond the latest one do not fit any more."""
        rest = self._after(summary)
        return len(rest) > 1 and len(self._within(rest, summary)) < len(rest)

    def _within(self, rest: Conversation, summary: Summary | None) -> Conversation:
        tokens = self._for_turns(summary is not None) if self._max_tokens is not None else None
        return cut(rest, self._max_turns, tokens, count=self._count)

    def _for_turns(self, with_summary: bool) -> int:
        """How many tokens the turns may have, beside a summary or alone."""
        whole = self._max_tokens or 0
        return whole - self._summary_tokens() - TOKENS_PER_TURN if with_summary else whole

    def _summary_tokens(self) -> int:
        whole = self._max_tokens
        return MAX_SUMMARY_TOKENS if whole is None else min(MAX_SUMMARY_TOKENS, whole // SUMMARY_SHARE)

    def _after(self, summary: Summary | None) -> Conversation:
        talk = self.thread.messages()
        return talk if summary is None else talk.filter(lambda turn: turn.seq > summary.last)

    def _summary(self, note: bytes | None) -> Summary | None:
        """The summary in the note, as long as it may be; worked out anew only when something changed."""
        talk = self.thread.messages()
        known_note, known_talk, summary = self._known
        if known_talk is not talk or known_note != note:
            summary = from_note(note, talk)
            if summary is not None:
                text = truncate_to_tokens(summary.text, self._summary_tokens(), self._count)
                summary = replace(summary, text=text) if text else None
            self._known = (note, talk, summary)
        return summary

    async def _read(self) -> bytes | None:
        if self._memory is None:
            return self._note
        name = note_name(self.thread.namespace, self.thread.id)
        return (await self._memory.notes(name, user_id=self._user_id)).get(name)

    async def _keep(self, before: bytes | None, note: bytes) -> None:
        """Put the note in the place of the one before.

        Raises:
            Conflict: another one was put there meanwhile.
        """
        if self._memory is None:
            self._note = note
            return
        name = note_name(self.thread.namespace, self.thread.id)
        batch = Batch(notes={name: note}, expected={name: before})
        await self._memory.apply(batch, user_id=self._user_id)
