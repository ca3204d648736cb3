"""The contributors that come with the package: a thread's latest turns, and memories."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC
from typing import Final, Protocol, TypeAlias, runtime_checkable

from retentive.context.values import ContextRequest, LeftOut, Offer, Offers
from retentive.conversation import Conversation
from retentive.ranking.render import memory_entry
from retentive.ranking.worth import discount
from retentive.recall import Recall
from retentive.tokens import estimate_tokens
from retentive.types import MemoryHit, MemoryItem, Turn
from retentive.window import Summary, Window

TURNS_FLOOR: Final = 0.3
MEMORIES_FLOOR: Final = 0.3
MAX_OFFERED_TURNS: Final = 1_000
AROUND_TURN: Final = 15
"""What the least costs in tokens that a line tells of a turn beside its text."""
BEFORE: Final = "before all that could be shown"


class Talk(Protocol):
    """What has turns: a Thread, blocking or not."""

    @property
    def id(self) -> str:
        """Its name."""
        ...

    @property
    def namespace(self) -> str:
        """The tenant it is of."""
        ...

    def messages(self, limit: int | None = None) -> Conversation:
        """The latest turns, in order."""
        ...


@runtime_checkable
class Windowed(Protocol):
    """A thread seen through a window, as `ShortTermMemory` gives it."""

    @property
    def thread(self) -> Talk:
        """What is behind the window."""
        ...

    async def window(self) -> Window:
        """The latest turns, and the summary of those before."""
        ...


Talking: TypeAlias = Talk | Windowed | Conversation
"""Where a context takes turns from."""


class ThreadTurns:
    """Offers the latest turns, newest first, without a hole, and the summary of what came before.

    A last turn of the user that says just what the request says is the request itself, and is not offered.
    """

    name = "thread"

    def __init__(self, talking: Talking, *, floor: float = TURNS_FLOOR) -> None:
        self._talking = talking
        self._floor = floor

    async def offers(self, request: ContextRequest) -> Sequence[Offers]:
        """The summary, if any, and the turns."""
        window = await self._window()
        turns = list(window.turns)
        if turns and turns[-1].role == "user" and turns[-1].content.strip() == request.query.strip():
            turns.pop()
        offered = _affordable(turns, request.max_tokens)
        before = turns[: len(turns) - len(offered)]
        unoffered = [_unoffered(before[0].seq, before[-1].seq)] if before else []
        if window.left_out is not None:
            unoffered.append(_unoffered(*window.left_out))
        named = self._named()
        talked = [_turn_offer(turn, age, named) for age, turn in enumerate(reversed(offered), start=1)]
        told = [] if window.summary is None else [_summary_offer(window.summary)]
        return [
            Offers(offers=told, degraded=window.degraded),
            Offers(offers=talked, floor=self._floor, chained=True, unoffered=unoffered),
        ]

    async def _window(self) -> Window:
        if isinstance(self._talking, Conversation):
            return Window(turns=self._talking)
        if isinstance(self._talking, Windowed):
            return await self._talking.window()
        return Window(turns=self._talking.messages())

    def _named(self) -> tuple[str, str] | None:
        """The thread's namespace and name; a conversation that is only a value has none."""
        if isinstance(self._talking, Conversation):
            return None
        thread = self._talking.thread if isinstance(self._talking, Windowed) else self._talking
        return thread.namespace, thread.id


class Memories:
    """Offers what a recall finds, best first, shown in the order in which it happened."""

    name = "memories"

    def __init__(self, recall: Callable[[str], Awaitable[Recall]], *, floor: float = MEMORIES_FLOOR) -> None:
        self._recall = recall
        self._floor = floor

    async def offers(self, request: ContextRequest) -> Sequence[Offers]:
        """The hits."""
        recall = await self._recall(request.query)
        return [
            Offers(offers=[_memory_offer(hit) for hit in recall], floor=self._floor, degraded=recall.degraded)
        ]


def _affordable(turns: Sequence[Turn], max_tokens: int) -> Sequence[Turn]:
    """The latest turns, as many as could be of use: half as many again as fill the budget by the estimate."""
    left = max_tokens + max_tokens // 2
    for number, turn in enumerate(reversed(turns[-MAX_OFFERED_TURNS:])):
        cost = estimate_tokens(turn.content) + AROUND_TURN
        left -= cost if cost <= max_tokens else 0
        if left < 0:
            return turns[len(turns) - number :]
    return turns[-MAX_OFFERED_TURNS:]


def _unoffered(first: int, last: int) -> LeftOut:
    return LeftOut(kind="turns", of=(first, last), tokens=None, why=BEFORE)


def _turn_offer(turn: Turn, age: int, named: tuple[str, str] | None) -> Offer:
    entry = {
        "when": turn.at.astimezone(UTC).isoformat(timespec="minutes"),
        "who": turn.role,
        "turn": turn.seq,
        "text": turn.content,
    }
    same = None if named is None else (*named, turn.seq)
    order = f"{turn.seq:012}"
    return Offer(kind="turn", of=turn, entry=entry, value=discount(age), order=order, same=same)


def _summary_offer(summary: Summary) -> Offer:
    return Offer(kind="summary", of=summary, entry=summary.entry(), value=1.0, order="")


def _memory_offer(hit: MemoryHit) -> Offer:
    item = hit.item
    order = f"{(item.occurred_at or item.created_at).isoformat()} {item.id}"
    return Offer(
        kind="memory",
        of=hit,
        entry=memory_entry(item),
        value=discount(hit.rank),
        order=order,
        same=_turn_of(item),
    )


def _turn_of(item: MemoryItem) -> tuple[str, str, int] | None:
    """Which turn the memory is, word for word; None if it is a statement of its own."""
    if not item.is_turn or item.source is None or item.source.thread is None or len(item.source.turns) != 1:
        return None
    return item.scope.namespace, item.source.thread, item.source.turns[0]
