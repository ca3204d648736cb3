import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from retentive.embedders import static
from retentive.embedders.base import Embedder, Vectors, WordVectors, embed_checked, fingerprint
from retentive.embedders.static import StaticEmbedder, WordRows
from retentive.errors import EmbedderError

TEXTS = [
    "Caroline: I went to a support group yesterday.",
    "",
    "The invoice for March is wrong",
    "ภาษาไทย",
    "\N{CRAB}\N{CRAB}",
    "naïve Café, 北京 2026!",
    "the",
    "word " * 50,
]


async def embed(texts: Sequence[str]) -> Vectors:
    return await StaticEmbedder().embed(texts, "document")


def test_it_is_an_embedder_with_word_vectors():
    embedder: Embedder = StaticEmbedder()
    words: WordVectors = StaticEmbedder()
    assert fingerprint(embedder).startswith("static-minilm-l6-v2-256.")
    assert words.words([]).shape == (0, embedder.dimensions)


async def test_one_row_of_unit_length_for_each_text_in_order():
    rows = await embed(TEXTS)
    assert rows.shape == (len(TEXTS), 256)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    lengths = np.linalg.norm(rows, axis=1)
    assert all(length == 0 or abs(length - 1) < 1e-6 for length in lengths)


async def test_no_texts_give_no_rows():
    assert (await embed([])).shape == (0, 256)


@pytest.mark.parametrize("text", ["", "  \n", "\x00\x01", "\N{CRAB}", "\ud800", "z" * 101, "ሰላም"])
async def test_a_text_without_a_known_piece_is_a_row_of_zeros(text: str):
    assert not (await embed(["before", text, "after"]))[1].any()


async def test_unknown_pieces_do_not_move_the_known_ones():
    plain, mixed = await embed(["invoice", "invoice \N{CRAB}"])
    np.testing.assert_allclose(plain, mixed, atol=1e-6)


async def test_a_batch_gives_the_bytes_of_one_by_one():
    together = await embed(TEXTS)
    for at, text in enumerate(TEXTS):
        assert together[at].tobytes() == (await embed([text]))[0].tobytes()


async def test_a_batch_big_enough_for_a_thread_gives_the_same_rows():
    many = TEXTS * 200
    rows = await embed(many)
    assert rows.tobytes() == np.tile(await embed(TEXTS), (200, 1)).tobytes()


async def test_another_process_gives_the_same_bytes():
    code = (
        "import asyncio, sys; from retentive.embedders.static import StaticEmbedder; "
        "rows = asyncio.run(StaticEmbedder().embed(['The invoice for March is wrong'], 'query')); "
        "sys.stdout.write(rows.tobytes().hex())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)  # noqa: ASYNC221
    assert done.stdout == (await embed(["The invoice for March is wrong"])).tobytes().hex()


async def test_documents_and_queries_are_embedded_alike():
    embedder = StaticEmbedder()
    document = await embedder.embed(TEXTS, "document")
    assert document.tobytes() == (await embedder.embed(TEXTS, "query")).tobytes()


async def test_near_meanings_are_nearer_than_far_ones():
    rows = await embed(["doctor appointment", "dentist visit", "quarterly revenue"])
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.3


async def test_a_frequent_word_weighs_less_than_a_rare_one():
    both, frequent, rare = await embed(["the invoice", "the", "invoice"])
    assert both @ rare > 0.9
    assert both @ rare > both @ frequent + 0.5


async def test_case_and_accents_do_not_matter():
    rows = await embed(["Café Zürich", "cafe zurich"])
    assert rows[0].tobytes() == rows[1].tobytes()


async def test_what_lies_beyond_the_cap_is_not_looked_at():
    start = "tax " * static.MAX_TOKENS
    rows = await embed([start, start + "puppy " * 1_000, "a" * static.MAX_CHARACTERS + " puppy"])
    assert rows[0].tobytes() == rows[1].tobytes()
    assert not rows[2].any()


async def test_the_callers_rows_are_the_callers_own():
    rows = await embed(["invoice"])
    rows[:] = 0
    assert (await embed(["invoice"])).any()
    words = StaticEmbedder().words(["invoice"])
    words[:] = 0
    assert StaticEmbedder().words(["invoice"]).any()


async def test_its_answers_pass_the_gate():
    rows = await embed_checked(StaticEmbedder(), TEXTS, "document")
    np.testing.assert_allclose(rows, await embed(TEXTS), atol=1e-6)


async def test_a_text_that_is_no_string_is_an_embedder_error():
    with pytest.raises(EmbedderError):
        await embed_checked(StaticEmbedder(), [None], "document")  # pyright: ignore[reportArgumentType]


def test_a_word_that_breaks_into_crumbs_has_no_row():
    """Else any gibberish would be "like" any other rare word."""
    xqzt, asdkjh, postgresql, invoice = StaticEmbedder().words(["xqzt", "asdkjh", "postgresql", "invoice"])
    assert not xqzt.any()
    assert not asdkjh.any()
    assert not postgresql.any()
    assert invoice.any()


async def test_a_word_has_the_row_of_its_text():
    words = ["invoice", "unbelievableness", "invoice", "ሰላም", "zürich"]
    rows = StaticEmbedder().words(words)
    assert rows.tobytes() == (await embed(words)).tobytes()
    assert not rows[3].any()


def test_words_asked_for_again_have_the_same_rows():
    words = [f"word{at}" for at in range(300)]
    first = StaticEmbedder().words(words)
    assert first.tobytes() == StaticEmbedder().words(words).tobytes()
    assert first[::-1].tobytes() == StaticEmbedder().words(words[::-1]).tobytes()


class Counting:
    """Rows that say which word they are of, and a count of the words worked out."""

    def __init__(self) -> None:
        self.computed: list[str] = []

    def __call__(self, words: Sequence[str]) -> Vectors:
        self.computed += words
        return np.array([[len(word), int(word[1:])] for word in words], dtype=np.float32).reshape(-1, 2)


def numbered(*numbers: int) -> list[str]:
    return [f"w{number}" for number in numbers]


def test_a_cached_word_is_not_worked_out_again():
    compute = Counting()
    cache = WordRows(compute, dimensions=2, capacity=10)
    cache.get(numbered(1, 2, 1))
    assert cache.get(numbered(2, 3, 1))[:, 1].tolist() == [2, 3, 1]
    assert compute.computed == numbered(1, 2, 3)


def test_the_cache_never_holds_more_than_its_capacity_and_is_dropped_whole():
    compute = Counting()
    cache = WordRows(compute, dimensions=2, capacity=4)
    cache.get(numbered(1, 2, 3))
    assert cache.get(numbered(3, 4, 5))[:, 1].tolist() == [3, 4, 5]
    assert cache.get(numbered(5, 4))[:, 1].tolist() == [5, 4]
    assert len(cache) == 3
    assert compute.computed == numbered(1, 2, 3, 3, 4, 5)


def test_more_words_than_the_capacity_are_answered_without_being_kept():
    cache = WordRows(Counting(), dimensions=2, capacity=4)
    assert cache.get(numbered(*range(9)))[:, 1].tolist() == list(range(9))
    assert len(cache) == 0


def test_a_long_word_takes_no_room_for_its_length():
    lengths: list[int] = []

    def compute(words: Sequence[str]) -> Vectors:
        lengths.extend(map(len, words))
        return np.zeros((len(words), 2), dtype=np.float32)

    cache = WordRows(compute, dimensions=2, capacity=4)
    assert cache.get(["x" * 100_000, "x" * 200_000]).shape == (2, 2)
    assert lengths == [101]


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads that take turns after every few steps, so that a missing lock shows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
def test_threads_that_share_a_full_cache_get_the_right_rows():
    cache = WordRows(Counting(), dimensions=2, capacity=40)

    def ask(seed: int) -> bool:
        random = np.random.default_rng(seed)
        for _ in range(300):
            numbers = random.integers(0, 60, 15).tolist()
            if cache.get(numbered(*numbers))[:, 1].tolist() != numbers:
                return False
        return len(cache) <= 40

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))


def test_threads_get_the_same_vectors_from_the_first_use_on(monkeypatch: pytest.MonkeyPatch):
    expected = StaticEmbedder().words(["invoice", "puppy"]).tobytes()
    monkeypatch.setattr(static, "_table", static._table.__wrapped__)  # pyright: ignore[reportPrivateUsage]
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(StaticEmbedder().words, ["invoice", "puppy"]) for _ in range(16)]
    assert {rows.result().tobytes() for rows in asked} == {expected}
