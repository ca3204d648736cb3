"""Which living memories say nearly the same but differ in a fact."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import Final

from retentive.ranking.dedupe import why_different
from retentive.ranking.filters import passing
from retentive.ranking.restatement import alike
from retentive.ranking.view import IndexView
from retentive.types import Disagreement, Filters, MemoryItem

MAX_WORDINGS: Final = 32
"""Of more wordings of one statement only so many, the newest, are compared with each other."""


def linked_pairs(view: IndexView, now: datetime) -> list[tuple[str, str]]:
    """The ids (newer, older) of living memories that links of `near` hold together, newest first.

    Two are held together through others as well, be these superseded: what is said a third time is linked to
    one of the two before.
    """
    pairs: list[tuple[str, str]] = []
    for newest in linked_groups(view, now):
        pairs += combinations(newest, 2)
    return sorted(pairs, reverse=True)


def linked_groups(view: IndexView, now: datetime) -> list[list[str]]:
    """The ids of living memories that links of `near` hold together: groups of two or more, newest first."""
    living = passing(view, Filters(), now)
    groups = (
        sorted((view.ids[row] for row in rows if living[row]), reverse=True)[:MAX_WORDINGS]
        for rows in _groups(view.older.tolist())
    )
    return sorted((group for group in groups if len(group) > 1), reverse=True)


def differing(pairs: Iterable[tuple[str, str]], items: Mapping[str, MemoryItem]) -> list[Disagreement]:
    """Those of the pairs that are worded alike and differ in a fact, in their order."""
    found: list[Disagreement] = []
    for newer, older in ((items.get(one), items.get(other)) for one, other in pairs):
        if newer is None or older is None or not alike(newer.content, older.content):
            continue
        why = why_different(older.content, newer.content)
        if why is not None:
            found.append(Disagreement(newer=newer, older=older, why=why))
    return found


def _groups(links: Sequence[Sequence[int]]) -> list[list[int]]:
    """The rows that hang together by the links."""
    leader: dict[int, int] = {}

    def lead(row: int) -> int:
        while (above := leader.setdefault(row, row)) != row:
            leader[row] = leader[above]
            row = above
        return row

    for newer, older in links:
        leader[lead(newer)] = lead(older)
    groups: dict[int, list[int]] = {}
    for row in leader:
        groups.setdefault(lead(row), []).append(row)
    return list(groups.values())
