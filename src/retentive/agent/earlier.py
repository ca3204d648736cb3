"""What of a thread is sent ahead of a run: its latest turns, and a summary of the turns before them."""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage

from retentive.agent.transcript import history
from retentive.checks import check_limit
from retentive.conversation import MAX_TURNS, Conversation
from retentive.errors import InvalidInput, StoreError
from retentive.memory import Memory
from retentive.short_term import ShortTermMemory, Summarizer, Window
from retentive.short_term.short_term import LEAST_TOKENS
from retentive.threads import Thread
from retentive.types import Turn
from retentive.window import cut


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryBounds:
    """How many turns and tokens (an estimate) are sent ahead, None for no limit; and who sums up the rest."""

    turns: int | None = None
    tokens: int | None = None
    summarize: Summarizer | None = None


class Earlier:
    """A thread as it was when a run began: what a window is taken of while the run writes to the thread."""

    def __init__(self, thread: Thread, said: Conversation) -> None:
        self.id = thread.id
        self.namespace = thread.namespace
        self._said = said

    def messages(self, limit: int | None = None) -> Conversation:
        """The turns, or the latest `limit` of them, in order."""
        return self._said if limit is None else self._said[max(0, len(self._said) - limit) :]


async def window_of(
    earlier: Earlier,
    bounds: HistoryBounds,
    memory: Memory | None,
    user_id: str | None,
    failed: Callable[[str, str], None],
) -> Window:
    """The latest turns within the bounds, and the summary where there is one.

    A summary that cannot be made or read is left out; `failed` is told the verb and why.
    """
    if bounds.turns is None and bounds.tokens is None:
        return Window(turns=earlier.messages())
    short = ShortTermMemory(
        earlier,
        max_turns=bounds.turns,
        max_tokens=bounds.tokens,
        summarize=bounds.summarize,
        memory=memory,
        user_id=user_id,
    )
    try:
        window = await short.window()
    except StoreError as error:
        window = Window(
            turns=cut(earlier.messages(), bounds.turns, bounds.tokens),
            degraded={"summary": f"{type(error).__name__}: {error}"},
        )
    for why in window.degraded.values():
        failed("summarize", why)
    return window


def ahead_of(window: Window, at: Conversation) -> list[ModelMessage]:
    """The window as messages: the summary as data in the user's words, then the turns."""
    if window.summary is None:
        return history(window.turns)
    told = Turn(seq=0, id="", role="user", content=window.summary.render(), at=at[0].at)
    return history(Conversation([told, *window.turns]))


def check_bounds(turns: int | None, tokens: int | None, *, sums_up: bool) -> None:
    """Nothing, if the bounds can be used.

    Raises:
        InvalidInput: one is no whole number from 0, or a summary has no bound to begin at or no room.
    """
    for name, bound in (("history_turns", turns), ("history_tokens", tokens)):
        if bound is not None:
            check_limit(name, bound, maximum=MAX_TURNS)
    if sums_up and turns is None and tokens is None:
        raise InvalidInput("history_summary needs history_turns or history_tokens: else nothing is left out")
    if sums_up and tokens is not None and tokens < LEAST_TOKENS:
        raise InvalidInput(f"history_summary needs history_tokens of at least {LEAST_TOKENS}")
