"""Words, their stems and vectors by number, shared by all scopes of a process."""

import threading
from collections.abc import Sequence
from typing import Protocol
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.columns import Growing
from retentive.text import stems

MAX_WORDS = 32_768


class WordVectors(Protocol):
    """Vectors of single words; the embedder's protocol of the same name, as the ranking needs it."""

    def words(self, words: Sequence[str]) -> NDArray[np.float32]:
        """One row of unit length for each lower-case word, in order; zeros for a word it knows nothing of.

        The rows are the caller's to keep.
        """
        ...


class Lexicon:
    """Every word that came, by number, with the number of its stem, and the vectors of the first `MAX_WORDS`.

    It only grows. New scopes start another once it has `MAX_WORDS` (see `current`); it then lets go of its
    vectors, and goes with the last scope that uses it. Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._surfaces: list[str] = []
        self._numbers: dict[str, int] = {}
        self._stems: dict[str, int] = {}
        self._stem_of = Growing(np.int32)
        self._tables: WeakKeyDictionary[WordVectors, _Table] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._surfaces)

    def numbers(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of the words, in order; a new word gets the next number."""
        found = list(map(self._numbers.get, words))
        if None in found:
            self._add([word for word, number in zip(words, found, strict=True) if number is None])
            numbers = self._numbers
            found = [
                numbers[word] if number is None else number for word, number in zip(words, found, strict=True)
            ]
        return np.array(found, dtype=np.int32)

    def words(self, numbers: NDArray[np.int32]) -> list[str]:
        """The words with these numbers."""
        return list(map(self._surfaces.__getitem__, numbers.tolist()))

    def vectors(self, numbers: NDArray[np.int32], source: WordVectors) -> NDArray[np.float32]:
        """One row for each of the numbers, the caller's own, as `source` gives them for the words."""
        if self is not _current or int(numbers.max(initial=0)) >= MAX_WORDS or not _can_be_key(source):
            return np.asarray(source.words(self.words(numbers)), dtype=np.float32)
        table = self._tables.get(source)
        if table is None or not table.known[numbers].all():
            table = self._filled(numbers, source)
        return table.rows.take(numbers, axis=0)

    def stems_of(self, words: NDArray[np.int32]) -> NDArray[np.int32]:
        """The numbers of the stems of the words with these numbers."""
        return self._stem_of.array[words]

    def stem_number(self, stemmed: str) -> int:
        """The stem's number, -1 when no word has it."""
        return self._stems.get(stemmed, -1)

    def _add(self, words: Sequence[str]) -> None:
        """Number what has no number; it can be looked up only once all that is kept of it is there."""
        with self._lock:
            new = [word for word in dict.fromkeys(words) if word not in self._numbers]
            number_of = self._stems
            numbers = [number_of.setdefault(stemmed, len(number_of)) for stemmed in stems(new)]
            self._stem_of.extend(np.array(numbers, dtype=np.int32))
            first = len(self._surfaces)
            self._surfaces.extend(new)
            self._numbers.update(zip(new, range(first, first + len(new)), strict=True))

    def _filled(self, numbers: NDArray[np.int32], source: WordVectors) -> "_Table":
        """The source's table, with a row for each of the numbers."""
        with self._lock:
            table = self._tables.get(source)
            missing = numbers if table is None else numbers[~table.known[numbers]]
            rows = np.asarray(source.words(self.words(missing)), dtype=np.float32)
            if table is None:
                table = self._tables[source] = _Table(rows.shape[1])
            table.rows[missing] = rows
            table.known[missing] = True
            return table

    def retire(self) -> None:
        """Let go of what only makes new scopes faster."""
        self._tables = WeakKeyDictionary()


def _can_be_key(source: WordVectors) -> bool:
    """Whether the source can be told from others without keeping it alive."""
    try:
        hash(ref(source))
    except TypeError:
        return False
    return True


class _Table:
    """Rows by number, and which are there. What is not used of it takes no memory."""

    def __init__(self, dimensions: int) -> None:
        self.rows = np.empty((MAX_WORDS, dimensions), dtype=np.float32)
        self.known = np.zeros(MAX_WORDS, dtype=np.bool_)


_current = Lexicon()


def current() -> Lexicon:
    """The lexicon for a new scope."""
    global _current
    if len(_current) >= MAX_WORDS:
        _current.retire()
        _current = Lexicon()
    return _current
