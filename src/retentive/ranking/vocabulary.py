"""The distinct words of a scope: number, stem and vector of each, and how many memories hold a stem."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.columns import Growing
from retentive.ranking.lexicon import WordVectors, current

_WORD_BYTES = 300


class Vocabulary:
    """Words and stems by number, new ones after those there. `holding` follows the live rows."""

    def __init__(self, word_vectors: WordVectors) -> None:
        self.word_vectors = word_vectors
        self.stem_of = Growing(np.int32)
        self.vectors: Growing | None = None
        self.holding = Growing(np.int64)
        self._lexicon = current()
        self._words = _Subset()
        self._stems = _Subset()

    def __len__(self) -> int:
        return self.stem_of.size

    @property
    def surfaces(self) -> list[str]:
        """The words, by number."""
        return self._lexicon.words(self._words.members.filled())

    def number(self, texts: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        """The numbers of all words of the texts, one text after the other; new words get new numbers."""
        tokens = self._words.number(self._lexicon.numbers(list(chain.from_iterable(texts))))
        new = self._words.members.filled()[len(self) :]
        if len(new):
            self._add(new)
        return tokens

    def stem_number(self, stemmed: str) -> int:
        """The stem's number, -1 when it has none."""
        return self._stems.find(self._lexicon.stem_number(stemmed))

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

    def _add(self, new: NDArray[np.int32]) -> None:
        vectors = self._lexicon.vectors(new, self.word_vectors)
        if self.vectors is None:
            self.vectors = Growing.of(vectors)
        else:
            self.vectors.extend(vectors)
        self.stem_of.extend(self._stems.number(self._lexicon.stems_of(new)))
        self.holding.extend_zeros(self._stems.members.size - self.holding.size)


class _Subset:
    """Some of a lexicon's numbers, numbered anew without gaps. Only the first lot is cheap for its size."""

    def __init__(self) -> None:
        self.members = Growing(np.int32)
        self._places: dict[int, int] | None = None

    def number(self, many: NDArray[np.int32]) -> NDArray[np.int32]:
        """The new numbers of those given, in order; each that is not a member yet becomes one."""
        if not self.members.size:
            return self._begin(many)
        places = self._known()
        listed: list[int] = many.tolist()
        new = [one for one in dict.fromkeys(listed) if one not in places]
        if new:
            begin = len(places)
            self.members.extend(np.array(new, dtype=np.int32))
            places.update(zip(new, range(begin, begin + len(new)), strict=True))
        return np.fromiter(map(places.__getitem__, listed), dtype=np.int32, count=len(listed))

    def find(self, one: int) -> int:
        """The new number, -1 if it is no member. Any thread may ask while another adds."""
        found = np.flatnonzero(self.members.filled() == one)
        return int(found[0]) if len(found) else -1

    def _begin(self, many: NDArray[np.int32]) -> NDArray[np.int32]:
        members, places = np.unique(many, return_inverse=True)
        self.members.extend(members)
        return places.astype(np.int32)

    def _known(self) -> dict[int, int]:
        if self._places is None:
            listed: list[int] = self.members.filled().tolist()
            self._places = dict(zip(listed, range(len(listed)), strict=True))
        return self._places
