"""Where each word stands in a scope: the tokens of all memories end to end, and the same sorted by word."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int32]

SORT_AFTER_TOKENS = 2_000
SORT_AFTER_SHARE = 8


class Postings:
    """The tokens up to `until`, sorted by word and then by place; immutable."""

    __slots__ = ("places", "rows", "starts", "until")

    def __init__(self, tokens: Numbers, rows: Numbers, words: int) -> None:
        self.until = len(tokens)
        keyed = np.sort((tokens.astype(np.int64) << 32) | np.arange(len(tokens), dtype=np.int64))
        self.places = (keyed & 0xFFFFFFFF).astype(np.int32)
        self.rows = rows[self.places].astype(np.intp)
        counts = np.bincount(tokens, minlength=words)
        self.starts = np.concatenate(([0], np.cumsum(counts))).astype(np.intp)

    @property
    def words(self) -> int:
        """How many words it knows; those numbered from here on came later."""
        return len(self.starts) - 1

    @property
    def nbytes(self) -> int:
        """The memory it holds."""
        return self.places.nbytes + self.rows.nbytes + self.starts.nbytes

    def places_of(self, word: int) -> Numbers:
        """Where the word stands, ascending; nowhere, when it came later."""
        if word >= self.words:
            return self.places[:0]
        return self.places[self.starts[word] : self.starts[word + 1]]

    def spread(
        self,
        words: NDArray[np.intp],
        offsets: NDArray[np.intp],
        values: NDArray[np.float32],
        out: NDArray[np.float32],
    ) -> None:
        """Put each word's value into `out`, at its offset plus each row it stands in; later words win."""
        begins = self.starts[words]
        counts = self.starts[words + 1] - begins
        ends = np.cumsum(counts)
        if not len(ends) or not ends[-1]:
            return
        where: NDArray[np.intp] = np.repeat(begins - ends + counts, counts)
        where += np.arange(int(ends[-1]), dtype=np.intp)
        cells = self.rows.take(where)
        if offsets.any():
            cells += np.repeat(offsets, counts)
        out[cells] = np.repeat(values, counts)


def due(until: int, tokens: int) -> bool:
    """Whether so many tokens have come since the last sorting that it pays to sort again."""
    return tokens - until > max(SORT_AFTER_TOKENS, until // SORT_AFTER_SHARE)
