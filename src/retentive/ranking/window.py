"""Which memories are next to each other in a thread, and a turn's vector with its neighbours' added.

The window vector of a turn is its own plus, for short turns, part of its neighbours':
`v + share * (NEXT * (v[-1] + v[+1]) + NEXT_BUT_ONE * (v[-2] + v[+2]))`. Only its length is kept:
the cosine of a question with it follows from the cosines with the single vectors.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

NEXT, NEXT_BUT_ONE = 0.7, 0.4
WINDOW_WORDS = 20.0
STEPS = (-1, 1, -2, 2)

_THREAD_TURNS = 2**33
_BLOCK_ROWS = 2_048


class Places:
    """The rows that stand at each turn of each thread. Of several the one with the lowest id is the turn."""

    def __init__(self) -> None:
        self._threads: dict[str, int] = {}
        self._first: dict[int, int] = {}
        self._crowds: dict[int, list[int]] = {}

    def place(self, thread: str, turn: int) -> int:
        """A number for the turn; numbers of turns that follow each other in a thread differ by 1."""
        return self._threads.setdefault(thread, len(self._threads)) * _THREAD_TURNS + turn

    def put(self, place: int, row: int, id_of: Callable[[int], str]) -> None:
        """Let the row stand there."""
        other = self._first.setdefault(place, row)
        if other != row:
            crowd = self._crowds.setdefault(place, [other])
            crowd.append(row)
            self._first[place] = min(crowd, key=id_of)

    def take(self, place: int, row: int, id_of: Callable[[int], str]) -> None:
        """Let the row stand there no longer."""
        crowd = self._crowds.get(place)
        if crowd is None:
            del self._first[place]
            return
        crowd.remove(row)
        self._first[place] = min(crowd, key=id_of)
        if len(crowd) == 1:
            del self._crowds[place]

    def around(self, places: Iterable[int]) -> tuple[list[int], list[list[int]]]:
        """The rows within two turns of the places, and their neighbours for each of `STEPS` (0: none)."""
        first, crowds = self._first, self._crowds
        rows: list[int] = []
        neighbours: list[list[int]] = [[], [], [], []]
        back, on, back_two, on_two = (neighbour.append for neighbour in neighbours)
        near = {place + step for place in places for step in (-2, -1, 0, 1, 2)}
        for place in near:
            if place not in first:
                continue
            for row in crowds.get(place) or (first[place],):
                rows.append(row)
                back(first.get(place - 1, 0))
                on(first.get(place + 1, 0))
                back_two(first.get(place - 2, 0))
                on_two(first.get(place + 2, 0))
        return rows, neighbours


def share(lengths: NDArray[Any]) -> NDArray[np.float32]:
    """How much of its neighbours a turn of so many kept words takes in, at most 1."""
    return (WINDOW_WORDS / np.maximum(lengths, WINDOW_WORDS)).astype(np.float32)


def norms(
    vectors: NDArray[np.float32],
    rows: NDArray[np.intp],
    neighbours: Sequence[NDArray[np.intp]],
    lengths: NDArray[Any],
) -> NDArray[np.float32]:
    """The lengths of the window vectors of the rows, whose neighbours are given for each of `STEPS`."""
    found = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        back, on, back_two, on_two = (neighbour[block] for neighbour in neighbours)
        added = NEXT * (vectors[back] + vectors[on]) + NEXT_BUT_ONE * (vectors[back_two] + vectors[on_two])
        window = vectors[rows[block]] + share(lengths[block])[:, None] * added
        found[block] = np.sqrt(np.einsum("ij,ij->i", window, window))
    return found


class Neighbourhood:
    """Sums over each row's neighbours, each times a weight of the row's for that step.

    Rows of a thread that were stored one after the other lie side by side: their values are shifted, which
    costs far less than looking them up. Only the others are looked up.
    """

    def __init__(self, neighbours: NDArray[np.intp], weights: Sequence[NDArray[np.float32]]) -> None:
        rows: NDArray[np.intp] = np.arange(neighbours.shape[1], dtype=np.intp)
        self._shifted: list[tuple[slice, slice, NDArray[np.float32]]] = []
        self._looked_up: list[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]] = []
        for step, column, weight in zip(STEPS, neighbours, weights, strict=True):
            beside = (column == rows + step) & (weight != 0)
            if beside.any():
                here, there = (
                    slice(max(-step, 0), len(rows) - max(step, 0)),
                    slice(max(step, 0), len(rows) + min(step, 0)),
                )
                self._shifted.append((here, there, (weight * beside)[here]))
            apart = np.flatnonzero((column != 0) & (column != rows + step) & (weight != 0))
            if len(apart):
                self._looked_up.append((apart, column[apart], weight[apart]))

    def __bool__(self) -> bool:
        return bool(self._shifted or self._looked_up)

    def add_to(self, sums: NDArray[np.float32], values: NDArray[np.float32]) -> None:
        """Add to each row's sum its neighbours' weighted values; rows are the last axis."""
        for here, there, weight in self._shifted:
            sums[..., here] += weight * values[..., there]
        for rows, sources, weight in self._looked_up:
            sums[..., rows] += weight * values[..., sources]
