"""What a context is made of: what contributors offer, and what became of it."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from retentive.types import MemoryHit, Scope, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What is asked: the words of the request, whose it is, and how many tokens the whole block may have."""

    query: str
    scope: Scope
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One whole item that could be shown.

    `kind` says what it is ("turn", "memory", "summary", "passage", ...), `of` is the item itself. `entry` is
    the JSON object that stands for it in the block, as `retentive.ranking.render.data_line` takes it. `value`
    is what it is worth, above 0, on the scale of `discount`: 1 for the best of a list. Items of one list are
    shown in the order of `order`. Of two with the same `same` only the one of the earlier list is shown.
    """

    kind: str
    of: object
    entry: Mapping[str, object]
    value: float
    order: str
    same: Hashable = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What is not in the block, and why. `tokens` is what it would have cost; None if it was not counted."""

    kind: str
    of: object
    tokens: int | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """A list of offers of one contributor, best first.

    `floor` is the share of the budget that is theirs before others get it. In a `chained` list an item is
    shown only if all before it are. `unoffered` is what was not even offered, `degraded` what failed and why.
    """

    offers: Sequence[Offer]
    floor: float = 0.0
    chained: bool = False
    unoffered: Sequence[LeftOut] = ()
    degraded: Mapping[str, str] = field(default_factory=dict[str, str])


class Contributor(Protocol):
    """A source of what may stand in a context: a thread, memories, documents, a tool of your own."""

    @property
    def name(self) -> str:
        """What `degraded` calls it."""
        ...

    async def offers(self, request: ContextRequest) -> Sequence[Offers]:
        """What it has for this request, in lists, those to be shown first first.

        What it raises is told in `Context.degraded`, and the context is made without it. InvalidInput and
        StoreError go to the caller.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One item of the block: what it is, the item, its tokens and value, and the line that it is there."""

    kind: str
    of: object
    tokens: int
    value: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One block for a prompt. Falsy when there is nothing in it: then `text` is empty.

    `text` goes to the model as data, in the user's part of one request. `parts` are in its order. `tokens`
    is what the whole block counts; never above what was asked for. `degraded` names what could not take part.
    """

    text: str
    parts: Sequence[Part]
    left_out: Sequence[LeftOut]
    tokens: int
    degraded: Mapping[str, str]

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def hits(self) -> list[MemoryHit]:
        """The memories in it, in the order of the block."""
        return [part.of for part in self.parts if isinstance(part.of, MemoryHit)]

    @property
    def turns(self) -> list[Turn]:
        """The turns in it, in order."""
        return [part.of for part in self.parts if isinstance(part.of, Turn)]
