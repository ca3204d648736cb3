"""What Retentive is compared with: words alone, vectors alone, and other libraries that are installed."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from retentive.embedders.base import Embedder, Vectors, embed_checked
from retentive.errors import InvalidInput
from retentive.evaluation import libraries
from retentive.evaluation.contenders import Contender, plain_text
from retentive.evaluation.dataset import Corpus
from retentive.text import words

ALL = "all"
SATURATION, LENGTH = 1.2, 0.75

Make: TypeAlias = Callable[[Embedder, Path], Contender]


class Bm25:
    """Plain BM25 (k1 1.2, b 0.75) over the words that Retentive itself would keep; ties in file order.

    Source of the formula: Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework", with the
    weight of a word kept above 0 as Lucene does.
    """

    name = "bm25"

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._norms: NDArray[np.float64] = np.zeros(0)

    async def remember(self, corpus: Corpus) -> None:
        """Count the words of each row."""
        self._ids = [row.id for row in corpus.rows]
        self._postings = {}
        lengths: list[int] = []
        for at, row in enumerate(corpus.rows):
            stems = Counter(word.stem for word in words(plain_text(row)))
            lengths.append(stems.total())
            for stem, times in stems.items():
                self._postings.setdefault(stem, []).append((at, times))
        counted = np.array(lengths, dtype=np.float64)
        mean = max(float(counted.mean()), 1e-9) if len(counted) else 1.0
        self._norms = SATURATION * (1 - LENGTH + LENGTH * counted / mean)

    async def recall(self, question: str, limit: int) -> Sequence[str]:
        """The rows that hold a word of the question."""
        scores = self.scores(question)
        best = np.argsort(-scores, kind="stable")[:limit]
        return [self._ids[int(at)] for at in best if scores[at] > 0]

    def scores(self, question: str) -> NDArray[np.float64]:
        """The score of each row, in file order; 0 where no word of the question stands."""
        scores = np.zeros(len(self._ids))
        for stem in dict.fromkeys(word.stem for word in words(question)):
            holding = self._postings.get(stem)
            if holding:
                at, times = np.array(holding).T
                weight = np.log1p((len(self._ids) - len(at) + 0.5) / (len(at) + 0.5))
                scores[at] += weight * times * (SATURATION + 1) / (times + self._norms[at])
        return scores

    async def forget(self) -> None:
        """Drop the counts."""
        self._ids, self._postings = [], {}


class Cosine:
    """The embedder's cosine alone; ties in file order."""

    name = "embedder"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._ids: list[str] = []
        self._vectors: Vectors = np.zeros((0, embedder.dimensions), dtype=np.float32)

    async def remember(self, corpus: Corpus) -> None:
        """Embed each row."""
        self._ids = [row.id for row in corpus.rows]
        self._vectors = await embed_checked(self._embedder, list(map(plain_text, corpus.rows)), "document")

    async def recall(self, question: str, limit: int) -> Sequence[str]:
        """The rows nearest to the question."""
        vector = (await embed_checked(self._embedder, [question], "query"))[0]
        best = np.argsort(-(self._vectors @ vector), kind="stable")[:limit]
        return [self._ids[int(at)] for at in best]

    async def forget(self) -> None:
        """Drop the vectors."""
        self._ids, self._vectors = [], self._vectors[:0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A way to make a contender. `packages` are what it needs from PyPI, by the module each brings.

    `obstacle` gives the reason why it cannot run here even so, or None.
    """

    make: Make
    packages: Mapping[str, str]
    obstacle: Callable[[], str | None] = lambda: None

    def why_not(self) -> str | None:
        """Why it cannot take part; None if it can."""
        missing = [package for module, package in self.packages.items() if not _is_there(module)]
        if missing:
            return f"not installed; pip install {' '.join(missing)}"
        return self.obstacle()

    def versions(self) -> dict[str, str]:
        """The version of each package."""
        return {package: metadata.version(package) for package in self.packages.values()}


def _is_there(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


PEERS: Mapping[str, Peer] = {
    "bm25": Peer(make=lambda _embedder, _folder: Bm25(), packages={}),
    "embedder": Peer(make=lambda embedder, _folder: Cosine(embedder), packages={}),
    "chromadb": Peer(make=libraries.Chroma, packages={"chromadb": "chromadb"}),
    "langgraph-memory": Peer(
        make=libraries.langgraph_in_memory, packages={"langgraph.store.memory": "langgraph-checkpoint"}
    ),
    "langgraph-sqlite": Peer(
        make=libraries.langgraph_sqlite,
        packages={"langgraph.store.sqlite": "langgraph-checkpoint-sqlite"},
        obstacle=libraries.sqlite_cannot_load_extensions,
    ),
    "mem0": Peer(make=libraries.Mem0, packages={"mem0": "mem0ai", "langchain": "langchain"}),
}


def chosen(names: Collection[str]) -> tuple[list[str], dict[str, str]]:
    """The peers that can take part, in the order of PEERS, and why each of the others cannot.

    "all" stands for all of them.

    Raises:
        InvalidInput: a name is not known.
    """
    unknown = sorted(set(names) - PEERS.keys() - {ALL})
    if unknown:
        raise InvalidInput(f"no peer is called {unknown[0]!r}; there are {', '.join([*PEERS, ALL])}")
    wanted = [name for name in PEERS if name in names or ALL in names]
    skipped = {name: reason for name in wanted if (reason := PEERS[name].why_not())}
    return [name for name in wanted if name not in skipped], skipped
