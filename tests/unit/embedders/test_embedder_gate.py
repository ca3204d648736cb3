import asyncio
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from retentive.embedders.base import (
    Embedder,
    EmbedKind,
    embed_checked,
    fingerprint,
    resolve,
    word_vectors,
)
from retentive.embedders.static import StaticEmbedder
from retentive.errors import EmbedderError, InvalidInput


class Double:
    """An embedder that answers whatever the test wants."""

    name = "double"

    def __init__(self, answer: Callable[[Sequence[str]], object], dimensions: int = 2) -> None:
        self.dimensions = dimensions
        self.calls: list[tuple[Sequence[str], EmbedKind]] = []
        self._answer = answer

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Sequence[Sequence[float]]:
        self.calls.append((texts, kind))
        return self._answer(texts)  # pyright: ignore[reportReturnType]  doubles answer nonsense on purpose


def fixed(answer: object, dimensions: int = 2) -> Double:
    return Double(lambda _: answer, dimensions)


def raising(error: BaseException) -> Double:
    def fail(_: Sequence[str]) -> object:
        raise error

    return Double(fail)


def one_hot(at: int) -> list[float]:
    return [float(at == place) for place in range(40)]


async def test_rows_come_in_the_order_of_the_texts_and_at_unit_length():
    rows = await embed_checked(fixed([[3, 4], [0, -2]]), ["a", "b"], "document")
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, -1]], rtol=1e-6)


async def test_the_embedder_is_told_texts_and_kind():
    double = fixed([[1, 0]])
    await embed_checked(double, ["a"], "query")
    assert double.calls == [(["a"], "query")]


async def test_no_texts_give_no_rows_and_no_call():
    double = fixed(None, dimensions=7)
    assert (await embed_checked(double, [], "document")).shape == (0, 7)
    assert double.calls == []


async def test_a_zero_vector_stays_zero_and_finite():
    rows = await embed_checked(fixed([[0.0, 0.0], [1.0, 1.0]]), ["Z", "A"], "document")
    assert rows[0].tolist() == [0.0, 0.0]
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("size", [1e-42, 1e-30, 1e30, 3e38])
async def test_very_small_and_very_big_vectors_keep_their_direction(size: float):
    rows = await embed_checked(fixed([[size, size]]), ["a"], "document")
    np.testing.assert_allclose(rows, [[0.5**0.5, 0.5**0.5]], rtol=1e-5)


async def test_the_embedders_own_array_is_not_changed():
    own = np.array([[3.0, 4.0]], dtype=np.float32)
    rows = await embed_checked(fixed(own), ["a"], "document")
    assert own.tolist() == [[3.0, 4.0]]
    assert not np.shares_memory(own, rows)


async def test_any_layout_or_number_type_is_taken():
    wide = np.asfortranarray(np.array([[3, 4], [4, 3]], dtype=np.int64))
    rows = await embed_checked(fixed(wide), ["a", "b"], "document")
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.8, 0.6]], rtol=1e-6)


@pytest.mark.parametrize("count", [22, 31, 0])
async def test_emb_1_another_count_of_vectors_is_refused(count: int):
    texts = [f"t{at}" for at in range(30)]
    double = fixed([one_hot(at) for at in range(count)], dimensions=40)
    with pytest.raises(EmbedderError, match=f"{count} vectors for 30 texts"):
        await embed_checked(double, texts, "document")


async def test_emb_1_each_text_gets_its_own_vector():
    texts = [f"t{at}" for at in range(30)]
    double = Double(lambda asked: [one_hot(int(text[1:])) for text in asked], dimensions=40)
    rows = await embed_checked(double, texts, "document")
    for at, text in enumerate(texts):
        assert rows[at].tolist() == (await embed_checked(double, [text], "document"))[0].tolist()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ([float("nan"), 1.0], "not finite"),
        ([float("inf"), 0.0], "not finite"),
        ([1e300, 0.0], "not finite"),
        ([None, 1.0], "not finite"),
        (None, "None"),
        ([], "0 numbers instead of 2"),
        ([1.0, 0.0, 0.0], "3 numbers instead of 2"),
        (["a", "b"], "not a list of numbers"),
        ("ab", "not a list of numbers"),
        ([[1.0, 0.0]], "not a list of numbers"),
        (1.0, "not a list of numbers"),
    ],
)
async def test_emb_5_one_bad_vector_is_named_and_refused(bad: object, reason: str):
    answer = [[1.0, 0.0], [0.6, 0.8], bad, [0.0, 1.0]]
    with pytest.raises(EmbedderError, match=f"text 2 of 4.*{reason}"):
        await embed_checked(fixed(answer), ["A", "B", "bad", "C"], "document")


@pytest.mark.parametrize("answer", [None, 1, {"a": [1, 0]}, (row for row in [[1, 0]]), "ab", np.array(1.0)])
async def test_an_answer_that_is_no_list_of_vectors_is_refused(answer: object):
    with pytest.raises(EmbedderError):
        await embed_checked(fixed(answer), ["a"], "document")


async def test_an_array_of_the_wrong_width_is_refused():
    with pytest.raises(EmbedderError, match="3 numbers instead of 2"):
        await embed_checked(fixed(np.ones((2, 3), dtype=np.float32)), ["a", "b"], "document")


@pytest.mark.parametrize("cause", [ValueError("429"), TimeoutError("slow"), KeyError("data")])
async def test_whatever_the_embedder_raises_becomes_an_embedder_error_with_its_cause(cause: Exception):
    with pytest.raises(EmbedderError, match="double failed") as caught:
        await embed_checked(raising(cause), ["a"], "document")
    assert caught.value.__cause__ is cause


async def test_an_embedder_error_is_passed_on_as_it_is():
    own = EmbedderError("quota used up")
    with pytest.raises(EmbedderError) as caught:
        await embed_checked(raising(own), ["a"], "document")
    assert caught.value is own


async def test_cancellation_stays_cancellation():
    with pytest.raises(asyncio.CancelledError):
        await embed_checked(raising(asyncio.CancelledError()), ["a"], "document")


def test_the_fingerprint_names_model_and_dimension():
    assert fingerprint(fixed(None, dimensions=12)) == "double/12"


def test_the_default_is_one_shared_static_embedder():
    assert isinstance(resolve(None), StaticEmbedder)
    assert resolve(None) is resolve("static")


def test_an_embedder_object_means_itself():
    own: Embedder = fixed(None)
    assert resolve(own) is own


def test_words_come_from_the_embedder_itself_or_else_from_the_default():
    static = StaticEmbedder()
    assert word_vectors(static) is static
    assert word_vectors(fixed(None)) is resolve(None)


@pytest.mark.parametrize("spec", ["", "Static", "openai"])
def test_an_unknown_name_is_refused_and_told_what_exists(spec: str):
    with pytest.raises(InvalidInput, match="static"):
        resolve(spec)
