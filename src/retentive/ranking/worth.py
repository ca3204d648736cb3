"""What is worth its room in a prompt: whole items from several lists, by value per token.

The rule, in this order:

1. Floors. Each list first takes its best items within its own share of the budget (`floor`). Of a chained
   list the very first item is taken whatever it costs, if it fits at all: the newest turn comes before all.
2. Value per token. Of all that is left the item with the most value per token comes next, and so on; one
   for which there is no room is passed over. That is the greedy rule of the knapsack problem (Dantzig, 1957,
   "Discrete-variable extremum problems"), which takes at least half of the best possible value if it is
   compared with the most valuable single item (Kellerer, Pferschy and Pisinger, 2004, "Knapsack Problems",
   section 2.5). So it is: where that one item is worth more than all that the rule took, it goes first.

In a chained list an item is taken only after all before it, so that a conversation has no holes; an item that
is larger than the whole budget is passed over there too, as nothing could be shown behind it otherwise.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Place: TypeAlias = tuple[int, int]
"""Which list, and which item of it; both from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineup:
    """Items of one sort, best first: what each is worth (above 0) and what it costs in tokens."""

    values: Sequence[float]
    costs: Sequence[int]
    floor: float = 0.0
    chained: bool = False


def discount(rank: int) -> float:
    """What the item of this rank, from 1, is worth: 1 / log2(rank + 1).

    The discount of discounted cumulated gain (Järvelin and Kekäläinen, 2002): it makes ranks of lists
    comparable whose scores have no common scale.
    """
    return 1.0 / math.log2(rank + 1)


def choose(lineups: Sequence[Lineup], budget: int) -> list[Place]:
    """The places of the items to take, in the order they were taken; their costs fit into `budget` together.

    Nothing fits a budget below 0. Ties go to the earlier list, then to the earlier item.
    """
    floors, left = _floors(lineups, budget)
    rest = _greedy(lineups, budget, left, floors)
    single = _most_valuable(lineups, left, floors)
    if single is None or _value(lineups, [single]) <= _value(lineups, rest):
        return [*floors, *rest]
    first = [*floors, single]
    return [*first, *_greedy(lineups, budget, left - _cost(lineups, single), first)]


def _floors(lineups: Sequence[Lineup], budget: int) -> tuple[list[Place], int]:
    """What the lists take of their own shares, and what is left of the budget."""
    taken: list[Place] = []
    left = budget
    for number, lineup in enumerate(lineups):
        share = min(left, int(budget * lineup.floor))
        for at, cost in enumerate(lineup.costs):
            is_newest = lineup.chained and not any(place[0] == number for place in taken)
            if cost <= (left if is_newest else share):
                taken.append((number, at))
                left -= cost
                share -= cost
            elif lineup.chained and cost <= budget:
                break
    return taken, left


def _greedy(lineups: Sequence[Lineup], budget: int, left: int, taken: Sequence[Place]) -> list[Place]:
    """What else to take with what is left, by value per token."""
    heap = [
        _entry(lineups, (number, at))
        for number, lineup in enumerate(lineups)
        for at in _open(lineup, [place[1] for place in taken if place[0] == number])
    ]
    heapq.heapify(heap)
    more: list[Place] = []
    while heap:
        place = heapq.heappop(heap)[1]
        lineup, cost = lineups[place[0]], _cost(lineups, place)
        if cost <= left:
            more.append(place)
            left -= cost
        if lineup.chained and (place in more[-1:] or cost > budget) and place[1] + 1 < len(lineup.costs):
            heapq.heappush(heap, _entry(lineups, (place[0], place[1] + 1)))
    return more


def _open(lineup: Lineup, taken: Sequence[int]) -> Sequence[int]:
    """The items of a list that may come next: all that are left, or of a chain the one behind those taken."""
    if not lineup.chained:
        mine = set(taken)
        return [at for at in range(len(lineup.costs)) if at not in mine]
    following = max(taken, default=-1) + 1
    return [following] if following < len(lineup.costs) else []


def _most_valuable(lineups: Sequence[Lineup], left: int, taken: Sequence[Place]) -> Place | None:
    fitting = [
        (number, at)
        for number, lineup in enumerate(lineups)
        for at in _open(lineup, [place[1] for place in taken if place[0] == number])
        if lineup.costs[at] <= left
    ]
    return max(fitting, key=lambda place: _value(lineups, [place]), default=None)


def _entry(lineups: Sequence[Lineup], place: Place) -> tuple[float, Place]:
    return -_value(lineups, [place]) / max(1, _cost(lineups, place)), place


def _cost(lineups: Sequence[Lineup], place: Place) -> int:
    return lineups[place[0]].costs[place[1]]


def _value(lineups: Sequence[Lineup], places: Sequence[Place]) -> float:
    return sum(lineups[number].values[at] for number, at in places)
