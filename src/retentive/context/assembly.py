"""One budgeted, ordered, attributed block from what several contributors offer."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retentive.context.block import FRAME, block
from retentive.context.values import Context, ContextRequest, Contributor, LeftOut, Offer, Offers, Part
from retentive.errors import InvalidInput, StoreError
from retentive.ranking.render import data_line
from retentive.ranking.worth import Lineup, Place, choose
from retentive.tokens import TokenCounter

NO_ROOM = "no room: other parts are worth more by token"
TOO_LARGE = "larger than the whole budget"
SHOWN = "shown already, by another part"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """An offer as it would stand in the block, and what that costs."""

    offer: Offer
    line: str
    tokens: int


async def assemble(
    request: ContextRequest, contributors: Sequence[Contributor], count: TokenCounter
) -> Context:
    """The context of a request, from contributors in the order in which they are shown.

    What is shown is chosen by `retentive.ranking.worth.choose`. The block never counts more than
    `request.max_tokens`, and has something in it whenever some item alone would fit.

    Raises:
        InvalidInput, StoreError: a contributor raised it.
    """
    asked = await asyncio.gather(*(_offers(contributor, request) for contributor in contributors))
    degraded = {name: why for _, failed in asked for name, why in failed.items()}
    lists = [offers for given, _ in asked for offers in given]
    for offers in lists:
        degraded |= offers.degraded
    counted = [[_count(offer, count) for offer in offers.offers] for offers in lists]
    room = request.max_tokens - count(FRAME)
    chosen = _fitting(counted, _choose(lists, counted, room), request.max_tokens, count)
    text = _text(counted, chosen)
    return Context(
        text=text,
        parts=_parts(counted, chosen),
        left_out=_left_out(lists, counted, set(chosen), room),
        tokens=count(text),
        degraded=degraded,
    )


async def _offers(
    contributor: Contributor, request: ContextRequest
) -> tuple[Sequence[Offers], Mapping[str, str]]:
    try:
        return await contributor.offers(request), {}
    except (InvalidInput, StoreError):
        raise
    except Exception as error:  # noqa: BLE001 - a contributor may be the caller's code; the others go on
        _log.warning("the context goes without %s: %s", contributor.name, error, exc_info=True)
        return (), {contributor.name: f"{type(error).__name__}: {error}"}


def _count(offer: Offer, count: TokenCounter) -> _Counted:
    line = data_line(offer.entry)
    return _Counted(offer=offer, line=line, tokens=count(line + "\n"))


def _choose(lists: Sequence[Offers], counted: Sequence[Sequence[_Counted]], budget: int) -> list[Place]:
    """What to show, in the order it was chosen, nothing twice."""
    twice: set[Place] = set()
    while True:
        kept = [
            [at for at in range(len(items)) if (number, at) not in twice]
            for number, items in enumerate(counted)
        ]
        lineups = [
            Lineup(
                values=[items[at].offer.value for at in places],
                costs=[items[at].tokens for at in places],
                floor=offers.floor,
                chained=offers.chained,
            )
            for offers, items, places in zip(lists, counted, kept, strict=True)
        ]
        chosen = [(number, kept[number][at]) for number, at in choose(lineups, budget)]
        again = _twice(counted, chosen)
        if not again:
            return chosen
        twice |= again


def _twice(counted: Sequence[Sequence[_Counted]], chosen: Sequence[Place]) -> set[Place]:
    """The places whose item is chosen in an earlier place as well."""
    first: dict[object, Place] = {}
    again: set[Place] = set()
    for place in sorted(chosen):
        same = _at(counted, place).offer.same
        if same is not None and first.setdefault(same, place) != place:
            again.add(place)
    return again


def _fitting(
    counted: Sequence[Sequence[_Counted]], chosen: Sequence[Place], max_tokens: int, count: TokenCounter
) -> list[Place]:
    """What of the chosen the whole block has room for: a tokenizer may count it above the sum of its lines.

    What was chosen last goes first. If nothing is left, the cheapest item that does fit.
    """

    def fits(places: Sequence[Place]) -> bool:
        return count(_text(counted, places)) <= max_tokens

    kept = list(chosen)
    while kept and not fits(kept):
        kept.pop()
    if kept:
        return kept
    places = [(number, at) for number, items in enumerate(counted) for at in range(len(items))]
    cheapest_first = sorted(places, key=lambda place: _at(counted, place).tokens)
    for place in cheapest_first:
        if _at(counted, place).tokens > max_tokens:
            break
        if fits([place]):
            return [place]
    return []


def _parts(counted: Sequence[Sequence[_Counted]], chosen: Sequence[Place]) -> tuple[Part, ...]:
    shown = [_at(counted, place) for place in _ordered(counted, chosen)]
    return tuple(
        Part(kind=one.offer.kind, of=one.offer.of, tokens=one.tokens, value=one.offer.value, text=one.line)
        for one in shown
    )


def _left_out(
    lists: Sequence[Offers], counted: Sequence[Sequence[_Counted]], chosen: set[Place], room: int
) -> tuple[LeftOut, ...]:
    said = {_at(counted, place).offer.same for place in chosen} - {None}
    left_out: list[LeftOut] = []
    for number, items in enumerate(counted):
        for at, one in enumerate(items):
            if (number, at) not in chosen:
                why = SHOWN if one.offer.same in said else TOO_LARGE if one.tokens > room else NO_ROOM
                left_out.append(LeftOut(kind=one.offer.kind, of=one.offer.of, tokens=one.tokens, why=why))
        left_out += lists[number].unoffered
    return tuple(left_out)


def _text(counted: Sequence[Sequence[_Counted]], places: Sequence[Place]) -> str:
    return block([_at(counted, place).line for place in _ordered(counted, places)])


def _ordered(counted: Sequence[Sequence[_Counted]], places: Sequence[Place]) -> list[Place]:
    """The places as they are shown: list after list, each in its own order."""
    return sorted(places, key=lambda place: (place[0], _at(counted, place).offer.order, place[1]))


def _at(counted: Sequence[Sequence[_Counted]], place: Place) -> _Counted:
    return counted[place[0]][place[1]]
