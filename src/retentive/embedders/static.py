"""The default embedder: a table with one vector for each WordPiece token, no model to run, no download.

A text is the weighted sum of its tokens' rows, brought to unit length; the weights (smooth inverse
frequency) are part of the table. How the table was made: static_minilm/PROVENANCE.md.
"""

import functools
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from retentive.embedders.base import EmbedKind, Vectors, unit
from retentive.embedders.wordpiece import LONGEST_WORD, WordPiece

FOLDER = Path(__file__).with_name("static_minilm")
MAX_CHARACTERS = 16_384  # of a text, for embedding only: what lies beyond is not looked at
MAX_TOKENS = 2_048  # of those characters
CACHED_WORDS = 4_096  # about 4 MB when full; then dropped whole
LEAST_LETTERS = 2.2  # a piece, on average: a single word of smaller pieces has no vector

_LOADING = threading.Lock()  # numpy parses a header with `ast`, which Python 3.11 cannot do in two threads
_THREAD_FROM_CHARACTERS = 20_000  # some 3 ms of work: more would hold up the event loop


class Meta(TypedDict):
    """What meta.json says of the table beside it."""

    model: str
    dimensions: int
    tokens: int
    digest: str
    sha256: dict[str, str]
    made_with: dict[str, float | str]


class StaticEmbedder:
    """Static vectors for texts and words; safe to share between threads, cheap to make.

    Every instance over one folder shares one table, memory-mapped at the first use. Texts without a
    known piece get a row of zeros. Documents and queries are embedded alike.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        """Use the table in `folder`, as tools/distill_static.py writes it. Nothing is read yet."""
        self._folder = folder

    @property
    def name(self) -> str:
        """Model, dimensions and the first 8 hex digits of the table's digest, as meta.json records it."""
        meta = _meta(self._folder)
        return f"{meta['model']}-{meta['dimensions']}.{meta['digest'][:8]}"

    @property
    def dimensions(self) -> int:
        """How many numbers one vector has."""
        return _meta(self._folder)["dimensions"]

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:  # noqa: ARG002  both alike
        """One row of unit length for each text, in order; zeros for a text without a known piece."""
        table = _table(self._folder)
        if sum(map(len, texts)) < _THREAD_FROM_CHARACTERS:
            return table.texts(texts)
        return await anyio.to_thread.run_sync(table.texts, texts)

    def words(self, words: Sequence[str]) -> Vectors:
        """One row of unit length for each lower-case word, in order; zeros for one it knows nothing of."""
        return _table(self._folder).words(words)


@functools.cache
def shared() -> StaticEmbedder:
    """The default embedder, one a process."""
    return StaticEmbedder()


@functools.cache
def _meta(folder: Path) -> Meta:
    return json.loads((folder / "meta.json").read_text(encoding="utf-8"))


@functools.cache
def _table(folder: Path) -> "_Table":
    return _Table(folder)


class _Table:
    """The rows of all tokens as int8, each with its scale, and the words asked for lately."""

    def __init__(self, folder: Path) -> None:
        with _LOADING:
            self._rows: NDArray[np.int8] = np.asarray(np.load(folder / "rows.npy", mmap_mode="r"))
            self._scales: Vectors = np.load(folder / "scales.npy")
        self._pieces = WordPiece((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())
        self._words = WordRows(self._each_word, self._rows.shape[1], CACHED_WORDS)

    def words(self, words: Sequence[str]) -> Vectors:
        return self._words.get(words)

    def texts(self, texts: Sequence[str]) -> Vectors:
        """One row a text; the same bytes whatever the other texts of the batch are."""
        sums = np.zeros((len(texts), self._rows.shape[1]), dtype=np.float32)
        for at, text in enumerate(texts):
            self._sum(self._pieces.ids(text[:MAX_CHARACTERS])[:MAX_TOKENS], sums[at])
        return unit(sums)

    def _each_word(self, words: Sequence[str]) -> Vectors:
        """What `texts` gives, at a fraction of the cost, as most words are one piece; zeros for crumbs."""
        pieces = [self._pieces.ids(word) for word in words]
        firsts = np.array([ids[0] if ids else 0 for ids in pieces], dtype=np.intp)
        sums = self._rows.take(firsts, axis=0) * self._scales[firsts, None]
        for at, (word, ids) in enumerate(zip(words, pieces, strict=True)):
            if len(ids) != 1:
                self._sum([] if _is_crumbled(word, ids) else ids, sums[at])
        return unit(sums)

    def _sum(self, ids: Sequence[int], out: Vectors) -> None:
        tokens = np.array(ids, dtype=np.intp)
        rows = self._rows.take(tokens, axis=0) * self._scales[tokens, None]
        np.add.reduce(rows, axis=0, out=out)  # row by row: a product's last bits vary with where rows lie


def _is_crumbled(word: str, ids: Sequence[int]) -> bool:
    """Whether a word of Latin letters breaks into pieces too small to mean anything ("xqzt": x, q, zt)."""
    return word.isascii() and len(word) < LEAST_LETTERS * len(ids)


class _Generation(NamedTuple):
    """Rows of words; `at` only ever names rows that are written, so reading needs no lock."""

    at: dict[str, int]
    rows: Vectors


class WordRows:
    """A cache from word to row that holds at most `capacity` words and is dropped whole when full."""

    def __init__(self, compute: Callable[[Sequence[str]], Vectors], dimensions: int, capacity: int) -> None:
        self._compute = compute
        self._shape = (capacity, dimensions)
        self._lock = threading.Lock()
        self._now = self._empty()

    def __len__(self) -> int:
        return len(self._now.at)

    def get(self, words: Sequence[str]) -> Vectors:
        """One row a word, in order, the caller's own."""
        now = self._now
        found = list(map(now.at.get, words))
        if None in found:
            keys = [word[: LONGEST_WORD + 1] for word in words]  # one more is unknown, whatever follows
            if len(set(keys)) > self._shape[0]:
                return self._compute(keys)
            now = self._with(keys)
            found = list(map(now.at.__getitem__, keys))
        return now.rows.take(np.array(found, dtype=np.intp), axis=0)

    def _with(self, words: Sequence[str]) -> _Generation:
        """The generation that holds all of `words`: this one, or a new one where they do not fit."""
        with self._lock:
            now = self._now
            missing = [word for word in dict.fromkeys(words) if word not in now.at]
            if len(now.at) + len(missing) > self._shape[0]:
                now, missing = self._empty(), list(dict.fromkeys(words))
            begin = len(now.at)
            now.rows[begin : begin + len(missing)] = self._compute(missing)
            now.at.update(zip(missing, range(begin, begin + len(missing)), strict=True))
            self._now = now
            return now

    def _empty(self) -> _Generation:
        return _Generation({}, np.empty(self._shape, dtype=np.float32))
