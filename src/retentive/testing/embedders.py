"""Embedders for tests: one whose vectors are distinct and never change, one that says what you tell it."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b

import numpy as np

from retentive.embedders.base import EmbedKind, Vectors


class HashingEmbedder:
    """A bag of words, each hashed to its own direction: texts that share words are close, others are not.

    Deterministic over processes and machines. It has no vectors of single words.
    """

    def __init__(self, dimensions: int = 64, *, name: str = "hashing") -> None:
        self.name = name
        self.dimensions = dimensions

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:  # noqa: ARG002
        """One row a text; a text without words gets zeros."""
        return np.stack([hashed(text, self.dimensions, self.name) for text in texts])


def hashed(text: str, dimensions: int, name: str = "hashing") -> Vectors:
    """The vector that a HashingEmbedder of that name gives for a text."""
    total = np.zeros(dimensions, dtype=np.float32)
    for word in text.lower().split():
        seed = int.from_bytes(blake2b(f"{name}\0{word}".encode(), digest_size=8).digest(), "big")
        total += np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)
    return total


class ScriptedEmbedder:
    """Answers with the vector that `answers` holds for a text, else with `otherwise` (None: KeyError).

    `answers` may be a function from the texts of a call to whatever the embedder shall answer, right or
    wrong; what it raises is what the embedder raises.
    """

    def __init__(
        self,
        answers: Mapping[str, Sequence[float]] | Callable[[Sequence[str]], object],
        *,
        dimensions: int,
        otherwise: Sequence[float] | None = None,
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self.calls: list[tuple[str, ...]] = []
        self._answers = answers
        self._otherwise = otherwise

    async def embed(
        self,
        texts: Sequence[str],
        kind: EmbedKind,  # noqa: ARG002
    ) -> Sequence[Sequence[float]]:
        """What was scripted."""
        self.calls.append(tuple(texts))
        if callable(self._answers):
            return self._answers(texts)  # pyright: ignore[reportReturnType]  # nonsense is the point
        if self._otherwise is None:
            return [self._answers[text] for text in texts]
        return [self._answers.get(text, self._otherwise) for text in texts]
