"""Which memories a new one might restate: those of its kind whose vectors point nearly the same way."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.features import KINDS
from retentive.ranking.filters import passing
from retentive.ranking.products import cosine
from retentive.ranking.view import IndexView, Mask
from retentive.types import Filters, MemoryItem

MAX_NEAR = 5
_BLOCK_ROWS = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A memory close to a new one: stored (`index` None), or the one at `index` of the same batch."""

    id: str
    index: int | None
    cosine: float


def near_memories(
    view: IndexView, items: Sequence[MemoryItem], vectors: NDArray[np.float32], now: datetime, least: float
) -> list[list[Near]]:
    """For each item the current memories with a cosine of `least` or more, nearest first; in a tie the newer.

    At most `MAX_NEAR` each; of the batch itself only items before it count. Turns have none: the same words
    said twice are two turns. `vectors` holds a row an item, of unit length or all zeros.
    """
    found: list[list[Near]] = [[] for _ in items]
    asking = [i for i, item in enumerate(items) if not item.is_turn and vectors[i].any()]
    if not asking:
        return found
    kinds = np.array([KINDS.index(items[i].kind) for i in asking])
    for column, row, alike in _stored(view, vectors[asking], kinds, now, least):
        found[asking[column]].append(Near(id=view.ids[row], index=None, cosine=alike))
    for column, row, alike in _of_batch(vectors[asking], kinds, least):
        found[asking[column]].append(Near(id=items[asking[row]].id, index=asking[row], cosine=alike))
    return [sorted(each, key=_nearest_newest)[:MAX_NEAR] for each in found]


def _stored(
    view: IndexView, wanted: NDArray[np.float32], kinds: NDArray[np.intp], now: datetime, least: float
) -> Iterator[tuple[int, int, float]]:
    """(asking item, row, cosine)."""
    if view.vectors is None or not len(view):
        return
    usable: Mask | None = None
    kind = view.column("kind")
    for start, cosines in _products(view.vectors, wanted):
        near = cosines >= least
        columns = np.flatnonzero(near.any(axis=0)).tolist()
        if not columns:
            continue
        if usable is None:
            usable = passing(view, Filters(), now) & view.rated & ~view.turns
        for column in columns:
            block = slice(start, start + len(cosines))
            rows = np.flatnonzero(near[:, column] & usable[block] & (kind[block] == kinds[column]))
            for row in _nearest(cosines[:, column], rows).tolist():
                yield column, start + row, float(cosines[row, column])


def _products(
    many: NDArray[np.float32], few: NDArray[np.float32]
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """The first row of a block of the many, and the block's products with each of the few."""
    if len(few) == 1:
        yield 0, cosine(few[0], many)[:, None]
        return
    for start in range(0, len(many), _BLOCK_ROWS):
        yield start, many[start : start + _BLOCK_ROWS] @ few.T


def _of_batch(
    wanted: NDArray[np.float32], kinds: NDArray[np.intp], least: float
) -> Iterator[tuple[int, int, float]]:
    """(asking item, an asking item before it, cosine)."""
    if len(wanted) < 2:
        return
    cosines = wanted @ wanted.T
    near = np.triu((cosines >= least) & (kinds[:, None] == kinds), k=1)
    for column in np.flatnonzero(near.any(axis=0)).tolist():
        for row in _nearest(cosines[:, column], np.flatnonzero(near[:, column])).tolist():
            yield column, row, float(cosines[row, column])


def _nearest(cosines: NDArray[np.float32], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """The `MAX_NEAR` of the rows with the highest cosines, the last ones in a tie."""
    if len(rows) <= MAX_NEAR:
        return rows
    least = np.partition(cosines[rows], -MAX_NEAR)[-MAX_NEAR]
    above = rows[cosines[rows] > least]
    level = rows[cosines[rows] == least]
    return np.concatenate([above, level[len(above) - MAX_NEAR :]])


def _nearest_newest(near: Near) -> tuple[float, tuple[int, ...]]:
    return -near.cosine, tuple(-ord(char) for char in near.id)
