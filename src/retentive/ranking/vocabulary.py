"""The distinct words of a scope: number, stem and vector of each, and how many memories hold a stem."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.columns import Growing
from retentive.text import stems

_WORD_BYTES = 300


class WordVectors(Protocol):
    """Vectors of single words; the embedder's protocol of the same name, as the ranking needs it."""

    def words(self, words: Sequence[str]) -> NDArray[np.float32]:
        """One row of unit length for each lower-case word, in order; zeros for a word it knows nothing of.

        The rows are the caller's to keep.
        """
        ...


class Vocabulary:
    """Words and stems by number, in the order in which they came. `holding` follows the live rows."""

    def __init__(self, word_vectors: WordVectors) -> None:
        self.word_vectors = word_vectors
        self.surfaces: list[str] = []
        self.stem_of = Growing(np.int32)
        self.vectors: Growing | None = None
        self.holding = Growing(np.int64)
        self._words: dict[str, int] = {}
        self._stems: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.surfaces)

    def number(self, texts: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        """The numbers of all words of the texts, one text after the other; new words get new numbers."""
        known = self._words
        flat = list(chain.from_iterable(texts))
        new = [word for word in dict.fromkeys(flat) if word not in known]
        if new:
            self._add(new)
        return np.fromiter(map(known.__getitem__, flat), dtype=np.int32, count=len(flat))

    def stem_number(self, stemmed: str) -> int:
        """The stem's number, -1 when it has none."""
        return self._stems.get(stemmed, -1)

    def words_of(self, stem_number: int, below: int) -> list[int]:
        """The numbers of the words with this stem, ascending, of those numbered below `below`."""
        return np.flatnonzero(self.stem_of.array[:below] == stem_number).tolist()

    def count(self, tokens: NDArray[np.int32], rows: NDArray[Any], sign: int) -> None:
        """Add (or with sign -1 take away) the rows' tokens in the count of memories that hold a stem."""
        if not len(tokens):
            return
        stems = self.stem_of.array[tokens].astype(np.int64)
        pairs = np.sort(rows.astype(np.int64) * self.holding.size + stems)
        once = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
        np.add.at(self.holding.array, once % self.holding.size, sign)

    @property
    def nbytes(self) -> int:
        """About what it holds."""
        arrays = self.stem_of.nbytes + self.holding.nbytes
        return arrays + (self.vectors.nbytes if self.vectors else 0) + _WORD_BYTES * len(self)

    def _add(self, new: list[str]) -> None:
        vectors = np.asarray(self.word_vectors.words(new), dtype=np.float32)
        if self.vectors is None:
            self.vectors = Growing.of(vectors)
        else:
            self.vectors.extend(vectors)
        number_of = self._stems
        numbers = [number_of.setdefault(stemmed, len(number_of)) for stemmed in stems(new)]
        self.stem_of.extend(np.array(numbers, dtype=np.int32))
        self.holding.extend(np.zeros(len(number_of) - self.holding.size, dtype=np.int64))
        first = len(self.surfaces)
        self.surfaces.extend(new)
        self._words.update(zip(new, range(first, first + len(new)), strict=True))
