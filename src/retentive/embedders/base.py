"""What an embedder is, and the one gate that every embedder's answer passes before it is used."""

import importlib
from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from retentive.errors import EmbedderError, InvalidInput

Vectors: TypeAlias = NDArray[np.float32]
EmbedKind: TypeAlias = Literal["document", "query"]

DEFAULT = "static"
EXTRAS = ("minilm", "e5")  # each in the module and behind the extra of its name
SERVICES = ("openai", "pydantic-ai")  # followed by ":" and the model
_UNIT = 1e-6  # of a squared length: what rounding to float32 leaves
_SMALL, _LARGE = 1e-20, 1e20


class Embedder(Protocol):
    """Text to vector. Anything with these three members is one."""

    @property
    def name(self) -> str:
        """Whatever identifies the model and its version: two that differ have vectors that do not compare."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers one vector has."""
        ...

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Sequence[Sequence[float]] | Vectors:
        """One vector for each text, in order. How a long text is shortened is the embedder's own business."""
        ...


@runtime_checkable
class WordVectors(Protocol):
    """The extra power of an embedder that has a vector for a single word, cheaply."""

    def words(self, words: Sequence[str]) -> Vectors:
        """One row of unit length for each lower-case word, in order; zeros for a word it knows nothing of.

        The rows are the caller's to keep.
        """
        ...


@runtime_checkable
class CosineWeight(Protocol):
    """The extra word of an embedder on how much its cosines should count in recall (see RankingProfile)."""

    @property
    def cosine_weight(self) -> float:
        """The weight that the default profiles of a Memory take, in place of their own."""
        ...


@runtime_checkable
class Closes(Protocol):
    """The extra power of an embedder that holds connections; a Memory closes the one it made from a name."""

    async def close(self) -> None:
        """Let go of them; harmless when there are none."""
        ...


def fingerprint(embedder: Embedder) -> str:
    """The mark that a stored vector carries: "name/dimensions"."""
    return f"{embedder.name}/{embedder.dimensions}"


def resolve(spec: str | Embedder | None) -> Embedder:
    """The embedder that `spec` means; None and "static" are the default.

    The names of what runs in this process give one shared instance. "openai:MODEL" and
    "pydantic-ai:PROVIDER:MODEL", each with "/DIMENSIONS" behind it where that is not known, give a new one.

    Raises:
        InvalidInput: No embedder has that name, or its extra is not installed.
    """
    if spec is not None and not isinstance(spec, str):
        return _as_embedder(spec)
    if spec is None or spec == DEFAULT:
        from retentive.embedders.static import shared

        return shared()
    if spec in EXTRAS:
        module = importlib.import_module(f"retentive.embedders.{spec}")
        return cast("Embedder", module.shared())
    service, colon, model = spec.partition(":")
    if colon and service in SERVICES:
        return _of_service(service, model)
    names = ", ".join(map(repr, (DEFAULT, *EXTRAS, "openai:MODEL", "pydantic-ai:PROVIDER:MODEL")))
    raise InvalidInput(f"no embedder is called {spec!r}; give {names}, or an Embedder object")


def _as_embedder(given: Embedder) -> Embedder:
    """The object itself, or a wrapper where it is pydantic-ai's."""
    if not type(given).__module__.startswith("pydantic_ai"):
        return given
    from retentive.embedders.pydantic_ai import PydanticAIEmbedder, is_pydantic_ai

    return PydanticAIEmbedder(cast("Any", given)) if is_pydantic_ai(given) else given


def _of_service(service: str, name: str) -> Embedder:
    from retentive.embedders.openai import OpenAIEmbedder, split_dimensions
    from retentive.embedders.pydantic_ai import PydanticAIEmbedder

    model, dimensions = split_dimensions(name)
    if service == "openai":
        return OpenAIEmbedder(model, dimensions=dimensions)
    return PydanticAIEmbedder(model, dimensions=dimensions)


def word_vectors(embedder: Embedder) -> WordVectors:
    """The embedder itself where it has vectors for words, else the default embedder."""
    if isinstance(embedder, WordVectors):
        return embedder
    from retentive.embedders.static import shared

    return shared()


async def embed_checked(embedder: Embedder, texts: Sequence[str], kind: EmbedKind) -> Vectors:
    """One row of unit length for each text, in order, C-contiguous and the caller's own; checked before use.

    A vector of zeros stays zeros: store no vector for that text. No texts give no rows, without a call.

    Raises:
        EmbedderError: The embedder raised, or its answer has the wrong count, a vector of the wrong
            dimension or none, or a number that is not finite. The message says which text.
    """
    if not texts:
        return np.zeros((0, embedder.dimensions), dtype=np.float32)
    try:
        answer: object = await embedder.embed(texts, kind)
    except EmbedderError:
        raise
    except Exception as error:  # third-party code may raise anything; our callers know one error
        raise EmbedderError(f"embedder {embedder.name} failed: {type(error).__name__}: {error}") from error
    return unit(_checked(answer, len(texts), embedder))


def unit(rows: Vectors) -> Vectors:
    """`rows`, each of length one in place; zeros stay zeros.

    One whose squares would overflow or vanish is first divided by its largest number.
    """
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
    if (np.abs(squares - 1.0) < _UNIT).all():
        return rows
    odd = ~((squares > _SMALL) & (squares < _LARGE))
    if odd.any():
        peaks = np.abs(rows[odd]).max(axis=1, keepdims=True, initial=0.0)
        rows[odd] /= np.where(peaks > 0, peaks, np.float32(1.0))
        squares = np.einsum("ij,ij->i", rows, rows)
    lengths = np.sqrt(squares)[:, None]
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


def _checked(answer: object, count: int, embedder: Embedder) -> Vectors:
    """A copy of `answer` as a (count, dimensions) array of finite numbers."""
    who, kind = f"embedder {embedder.name}", type(answer).__name__
    table = answer.ndim > 0 if isinstance(answer, np.ndarray) else isinstance(answer, Sequence)
    if not table or isinstance(answer, str):
        raise EmbedderError(f"{who} answered {kind}, not a list of vectors")
    given = cast("Sequence[object]", answer)
    if len(given) != count:
        raise EmbedderError(f"{who} answered {len(given)} vectors for {count} texts")
    rows = _as_array(given)
    if rows is not None and rows.shape == (count, embedder.dimensions) and np.isfinite(rows).all():
        return rows
    for index, row in enumerate(given):
        if problem := _problem(row, embedder.dimensions):
            raise EmbedderError(f"{who}, text {index} of {count} (from 0): {problem}")
    raise EmbedderError(f"{who} answered vectors that are no table of numbers")


def _as_array(value: object) -> Vectors | None:
    """A fresh float32 array, or None where `value` is not numbers; too big for float32 becomes infinite."""
    try:
        with np.errstate(over="ignore"):
            return np.array(value, dtype=np.float32, order="C")
    except (TypeError, ValueError, OverflowError):
        return None


def _problem(row: object, dimensions: int) -> str | None:
    """What is wrong with one vector, or None."""
    if row is None:
        return "no vector (None)"
    array = _as_array(row)
    if array is None or array.ndim != 1:
        return "not a list of numbers"
    if len(array) != dimensions:
        return f"{len(array)} numbers instead of {dimensions}"
    if not np.isfinite(array).all():
        return "a number that is not finite"
    return None
