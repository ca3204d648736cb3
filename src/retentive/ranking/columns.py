"""Arrays that grow at the end. What was handed out stays as it was: another thread may go on reading it."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_FIRST_CAPACITY = 16
_GROWTH = 4


class Growing:
    """An array with room at the end; adding to it costs the added part, averaged over time.

    `filled()` is what is there now. Later `extend` calls never change those cells; only `array` does, for the
    owner, in place.
    """

    __slots__ = ("array", "size")

    def __init__(self, dtype: DTypeLike, width: tuple[int, ...] = (), *, size: int = 0) -> None:
        """Begin with `size` cells of zeros."""
        self.array: NDArray[Any] = np.zeros((max(_FIRST_CAPACITY, size), *width), dtype=dtype)
        self.size = size

    @classmethod
    def of(cls, values: NDArray[Any]) -> "Growing":
        """One that begins with the values, and takes the array over."""
        growing = cls(values.dtype, values.shape[1:])
        growing.array, growing.size = values, len(values)
        return growing

    def extend(self, values: NDArray[Any]) -> None:
        """Add the values at the end."""
        begin = self.size
        self.extend_zeros(len(values))
        self.array[begin : self.size] = values

    def extend_zeros(self, count: int) -> None:
        """Add so many zeros at the end."""
        size = self.size + count
        if size > len(self.array):
            room = max(size, len(self.array) + max(_FIRST_CAPACITY, len(self.array) // _GROWTH))
            grown = np.zeros((room, *self.array.shape[1:]), dtype=self.array.dtype)
            grown[: self.size] = self.array[: self.size]
            self.array = grown
        self.size = size

    def filled(self) -> NDArray[Any]:
        """The cells in use."""
        return self.array[: self.size]

    @property
    def nbytes(self) -> int:
        """The memory held, room to grow included."""
        return self.array.nbytes
