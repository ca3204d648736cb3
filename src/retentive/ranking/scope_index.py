"""All of a scope that ranking needs, in memory: derived from a store's scans, and thrown away at will."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.columns import Growing
from retentive.ranking.features import HEAD, IS_TURN, Columns, split_tags, unpack_many
from retentive.ranking.lexicon import WordVectors
from retentive.ranking.postings import Postings, due
from retentive.ranking.view import IndexView
from retentive.ranking.vocabulary import Vocabulary
from retentive.ranking.window import STEPS, Places, norms
from retentive.stores.base import IndexRow, Scan

COMPACT_ABOVE_DEAD = 64
_ROW_BYTES = 400
_NO_VECTORS = np.zeros((0, 0), np.float32)
_NO_POSTINGS = Postings(np.zeros(0, np.int32), np.zeros(0, np.int32), 0)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows to add: ids, unpacked features, vectors, which rows those are of, and whose they all are."""

    ids: Sequence[str]
    columns: Columns
    vectors: NDArray[np.float32]
    rated: NDArray[np.bool_]
    makers: NDArray[np.int32]


class ScopeIndex:
    """The words, vectors, flags and neighbours of a scope's memories, for `rank`.

    Rows are only ever added; one that is replaced or gone is marked dead, and when more than half are dead
    the living are copied together. Vectors whose embedder is not `fingerprint` are left out: such a memory is
    found by words. One thread at a time may call `apply`; views may be read by any number meanwhile.
    """

    def __init__(self, word_vectors: WordVectors, fingerprint: str | None) -> None:
        self._word_vectors = word_vectors
        self._fingerprint = fingerprint
        self._makers: dict[str | None, int] = {fingerprint: 0}
        self._rows = _Rows(word_vectors, self._makers)

    def __len__(self) -> int:
        return self._rows.alive_count

    @property
    def nbytes(self) -> int:
        """About how much memory it holds."""
        return self._rows.nbytes

    def apply(self, scan: Scan) -> None:
        """Take in what changed: drop what is gone, then put the rows.

        Raises:
            StoreCorrupt: a row was packed by another version or is damaged; the index is as before.
        """
        columns = unpack_many([row.packed for row in scan.rows])
        rows = _Rows(self._word_vectors, self._makers) if scan.reset and self._rows.ids[1:] else self._rows
        rows.kill(scan.gone)
        if scan.rows:
            rows.add(self._batch(scan.rows, columns))
        if rows.dead_count > max(COMPACT_ABOVE_DEAD, rows.alive_count):
            rows = rows.compacted()
        self._rows = rows

    def view(self) -> IndexView:
        """The index as it is now; `apply` never changes it. The same object until the next change."""
        return self._rows.view()

    def _batch(self, rows: Sequence[IndexRow], columns: Columns) -> _Batch:
        own = [row.vector is not None and row.embedder == self._fingerprint for row in rows]
        makers = [self._makers.setdefault(row.embedder, len(self._makers)) for row in rows]
        parts = [row.vector or b"" for row, mine in zip(rows, own, strict=True) if mine]
        numbers = np.frombuffer(b"".join(parts), dtype="<f4").astype(np.float32, copy=False)
        return _Batch(
            [row.id for row in rows],
            columns,
            numbers.reshape(len(parts), -1) if parts else _NO_VECTORS,
            np.array(own, dtype=np.bool_),
            np.array(makers, dtype=np.int32),
        )


class _Rows:
    """The columns of a ScopeIndex. Row 0 stands for "no such row": dead, wordless, its vector all zeros."""

    def __init__(self, word_vectors: WordVectors, embedders: dict[str | None, int]) -> None:
        self.vocabulary = Vocabulary(word_vectors)
        self._embedders = embedders
        self.alive_count = 0
        self.ids: list[str] = [""]
        self._row_of: dict[str, int] = {}
        self._texts: tuple[list[str], ...] = ([""], [""], [""], [""], [""])
        self._interned: dict[str, str] = {}
        self._tagged: dict[str, list[int]] = {}
        self._speakers: dict[str, int] = {"": 0}
        self._speaker_counts = [0]
        self._nears: dict[int, str] = {}
        self._successors: dict[int, str] = {}
        self._heads = Growing(HEAD, size=1)
        self._begins = Growing(np.intp, size=1)
        self._lengths = Growing(np.int32, size=1)
        self._speaker = Growing(np.int32, size=1)
        self._alive = Growing(np.bool_, size=1)
        self._rated = Growing(np.bool_, size=1)
        self._makers = Growing(np.int32, size=1)
        self._norms = Growing(np.float32, size=1)
        self._neighbours = Growing(np.intp, (len(STEPS),), size=1)
        self._tokens = Growing(np.int32)
        self._token_rows = Growing(np.int32)
        self._vectors: Growing | None = None
        self._places = Places()
        self._postings = _NO_POSTINGS
        self._view: IndexView | None = None

    @property
    def dead_count(self) -> int:
        return len(self.ids) - 1 - self.alive_count

    @property
    def nbytes(self) -> int:
        columns = (
            self._heads,
            self._begins,
            self._lengths,
            self._speaker,
            self._alive,
            self._rated,
            self._norms,
        )
        arrays = sum(column.nbytes for column in columns) + self._neighbours.nbytes
        arrays += self._tokens.nbytes + self._token_rows.nbytes + self._postings.nbytes
        arrays += self._vectors.nbytes if self._vectors else 0
        return arrays + self.vocabulary.nbytes + _ROW_BYTES * len(self.ids)

    def kill(self, ids: Iterable[str]) -> None:
        """Mark the memories of these ids dead; unknown ids do nothing."""
        rows = [row for row in (self._row_of.pop(one, 0) for one in ids) if row]
        if not rows:
            return
        self._view = None
        self.alive_count -= len(rows)
        dead = np.array(rows, dtype=np.intp)
        self._alive.array[dead] = False
        self.vocabulary.count(*self._tokens_of(dead), sign=-1)
        for speaker in self._speaker.array[dead].tolist():
            self._speaker_counts[speaker] -= 1
        for row in rows:
            self._nears.pop(row, None)
            self._successors.pop(row, None)
        left = [(place, row) for row in rows if (place := self._place(row)) is not None]
        for place, row in left:
            self._places.take(place, row, self.ids.__getitem__)
        self._link(place for place, _ in left)

    def add(self, batch: _Batch) -> None:
        """Put the rows; a living one of the same id is marked dead, of two in the batch the earlier."""
        self._view = None
        self.kill(batch.ids)
        first, count = len(self.ids), len(batch.ids)
        self.ids.extend(batch.ids)
        self._row_of.update(zip(batch.ids, range(first, first + count), strict=True))
        self._add_columns(batch.columns, first)
        self._add_words(batch.columns.words, first)
        self._add_vectors(batch.vectors, batch.rated)
        self._makers.extend(batch.makers)
        self.alive_count += count
        self._add_places(first)
        if len(self._row_of) < self.alive_count:
            self._drop_repeats(first)
        if due(self._postings.until, self._tokens.size):
            self._postings = Postings(self._tokens.filled(), self._token_rows.filled(), len(self.vocabulary))

    def compacted(self) -> "_Rows":
        """The living rows alone, in the same order."""
        living = np.flatnonzero(self._alive.filled())
        rows: list[int] = living.tolist()
        surfaces = self.vocabulary.surfaces
        tokens, begins, lengths = self._tokens.array, self._begins.array[living], self._lengths.array[living]
        words: list[list[str]] = [
            [surfaces[word] for word in tokens[begin : begin + length].tolist()]
            for begin, length in zip(begins.tolist(), lengths.tolist(), strict=True)
        ]
        texts = [[column[row] for row in rows] for column in self._texts]
        columns = Columns(self._heads.array[living], words, *texts)
        rated = self._rated.array[living]
        vectors = self._vectors.array[living[rated]] if self._vectors else _NO_VECTORS
        fresh = _Rows(self.vocabulary.word_vectors, self._embedders)
        if rows:
            ids = [self.ids[row] for row in rows]
            fresh.add(_Batch(ids, columns, vectors, rated, self._makers.array[living]))
        return fresh

    def view(self) -> IndexView:
        if self._view is None:
            self._view = self._snapshot()
        return self._view

    def _snapshot(self) -> IndexView:
        rows, vocabulary = len(self.ids), self.vocabulary
        olds = [(row, old) for row, near in self._nears.items() if (old := self._row_of.get(near))]
        return IndexView(
            size=rows,
            live=self.alive_count,
            ids=self.ids,
            heads=self._heads.filled(),
            alive=self._alive.filled().copy(),
            rated=self._rated.filled(),
            makers=self._makers.filled(),
            embedders=tuple(self._embedders),
            lengths=self._lengths.filled(),
            begins=self._begins.filled(),
            neighbours=self._neighbours.filled().T.copy(),
            norms=self._norms.filled().copy(),
            vectors=self._vectors.filled() if self._vectors else None,
            tokens=self._tokens.filled(),
            token_rows=self._token_rows.filled(),
            postings=self._postings,
            vocabulary=vocabulary,
            words=len(vocabulary),
            holding=vocabulary.holding.filled().copy(),
            speaker=self._speaker.filled(),
            speakers=tuple(self._speakers),
            speaking=tuple(count > 0 for count in self._speaker_counts),
            tagged=self._tagged,
            older=np.array(olds, dtype=np.intp).reshape(-1, 2),
            successor_of=dict(self._successors),
        )

    def _add_columns(self, columns: Columns, first: int) -> None:
        count = len(columns.heads)
        self._heads.extend(columns.heads)
        self._alive.extend(np.ones(count, np.bool_))
        intern = self._interned.setdefault
        texts = (columns.threads, columns.speakers, columns.nears, columns.tags, columns.successors)
        for column, added in zip(self._texts, texts, strict=True):
            column.extend([intern(text, text) for text in added] if any(added) else added)
        if any(columns.nears):
            self._nears.update((row, near) for row, near in enumerate(columns.nears, start=first) if near)
        if any(columns.successors):
            self._successors.update(
                (row, successor) for row, successor in enumerate(columns.successors, start=first) if successor
            )
        if any(columns.tags):
            for row, tags in enumerate(columns.tags, start=first):
                for tag in split_tags(tags):
                    self._tagged.setdefault(tag, []).append(row)
        self._speaker.extend(
            np.array([self._number_speaker(name) for name in columns.speakers], dtype=np.int32)
        )

    def _number_speaker(self, name: str) -> int:
        number = self._speakers.setdefault(name, len(self._speakers))
        if number == len(self._speaker_counts):
            self._speaker_counts.append(0)
        self._speaker_counts[number] += 1
        return number

    def _add_words(self, words: Sequence[list[str]], first: int) -> None:
        lengths = np.fromiter(map(len, words), dtype=np.int32, count=len(words))
        tokens = self.vocabulary.number(words)
        rows = np.repeat(np.arange(first, first + len(words), dtype=np.int32), lengths)
        ends = np.cumsum(lengths, dtype=np.intp)
        self._begins.extend(ends - lengths + self._tokens.size)
        self._lengths.extend(lengths)
        self._tokens.extend(tokens)
        self._token_rows.extend(rows)
        self.vocabulary.count(tokens, rows, sign=1)

    def _add_vectors(self, vectors: NDArray[np.float32], rated: NDArray[np.bool_]) -> None:
        if self._vectors is None and len(vectors):
            self._vectors = Growing(np.float32, vectors.shape[1:], size=self._rated.size)
        if self._vectors is not None:
            begin, count = self._vectors.size, len(rated)
            self._vectors.extend_zeros(count)
            if len(vectors):
                self._vectors.array[begin : begin + count][rated] = vectors
        self._rated.extend(rated)
        self._norms.extend(np.ones(len(rated), np.float32))

    def _add_places(self, first: int) -> None:
        count = len(self.ids) - first
        self._neighbours.extend(np.zeros((count, len(STEPS)), np.intp))
        turns = np.flatnonzero(self._heads.array["flags"][first : first + count] & IS_TURN) + first
        touched: list[int] = []
        for row in turns.tolist():
            place = self._places.place(self._texts[0][row], int(self._heads.array["turn"][row]))
            self._places.put(place, row, self.ids.__getitem__)
            touched.append(place)
        self._link(touched)

    def _place(self, row: int) -> int | None:
        head = self._heads.array[row]
        if not int(head["flags"]) & IS_TURN:
            return None
        return self._places.place(self._texts[0][row], int(head["turn"]))

    def _link(self, places: Iterable[int]) -> None:
        """Set anew the neighbours of the rows around the places, and their window vectors' lengths."""
        rows, neighbours = self._places.around(places)
        if not rows:
            return
        where = np.array(rows, dtype=np.intp)
        columns = [np.array(neighbour, dtype=np.intp) for neighbour in neighbours]
        for step, column in enumerate(columns):
            self._neighbours.array[where, step] = column
        if self._vectors is not None:
            self._norms.array[where] = norms(self._vectors.array, where, columns, self._lengths.array[where])

    def _tokens_of(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.int32], NDArray[Any]]:
        lengths = self._lengths.array[rows]
        ends = np.cumsum(lengths)
        where: NDArray[np.intp] = np.arange(int(lengths.sum()), dtype=np.intp) + np.repeat(
            self._begins.array[rows] - ends + lengths, lengths
        )
        return self._tokens.array[where], np.repeat(rows, lengths)

    def _drop_repeats(self, first: int) -> None:
        """Mark dead the earlier of two rows that came with one id in one batch."""
        last = {self.ids[row]: row for row in range(first, len(self.ids))}
        for row in range(first, len(self.ids)):
            if last[self.ids[row]] != row:
                self._row_of[self.ids[row]] = row
                self.kill([self.ids[row]])
        self._row_of.update(last)
