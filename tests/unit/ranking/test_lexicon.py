"""The words that all scopes share."""

import gc
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from retentive.ranking import lexicon
from retentive.ranking.lexicon import Lexicon, current
from retentive.ranking.vocabulary import Vocabulary
from retentive.text import stem


class Lengths:
    """Rows that say how long a word is, and which words it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def words(self, words: Sequence[str]) -> NDArray[np.float32]:
        self.asked += words
        return np.array([[len(word), ord(word[0])] for word in words], dtype=np.float32).reshape(-1, 2)


class NoKey(Lengths):
    """One that cannot be the key of a mapping."""

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Lexicon:
    """The current lexicon, without words and with room for four."""
    monkeypatch.setattr(lexicon, "MAX_WORDS", 4)
    monkeypatch.setattr(lexicon, "_current", Lexicon())
    return current()


def test_a_word_keeps_its_number():
    words = Lexicon()
    assert words.numbers(["river", "city", "river"]).tolist() == [0, 1, 0]
    assert words.numbers(["town", "city"]).tolist() == [2, 1]
    assert words.words(np.array([2, 0], dtype=np.int32)) == ["town", "river"]


def test_words_of_one_stem_have_the_same_stem_number():
    words = Lexicon()
    rivers, city, river = words.stems_of(words.numbers(["rivers", "city", "river"])).tolist()
    assert rivers == river != city
    assert words.stem_number(stem("river")) == river
    assert words.stem_number("unheard") == -1


def test_a_source_is_asked_once_for_a_word(fresh: Lexicon):
    source = Lengths()
    fresh.vectors(fresh.numbers(["a", "bb"]), source)
    assert fresh.vectors(fresh.numbers(["ccc", "a"]), source)[:, 0].tolist() == [3, 1]
    assert source.asked == ["a", "bb", "ccc"]


def test_two_sources_do_not_share_rows(fresh: Lexicon):
    numbers = fresh.numbers(["a", "bb"])
    one, other = Lengths(), Lengths()
    fresh.vectors(numbers, one)
    fresh.vectors(numbers, other)
    assert one.asked == other.asked == ["a", "bb"]


@pytest.mark.parametrize("source", [Lengths(), NoKey()])
def test_what_does_not_fit_or_cannot_be_kept_is_right_all_the_same(fresh: Lexicon, source: Lengths):
    numbers = fresh.numbers(["a", "bb", "ccc", "dddd", "eeeee", "ffffff"])
    assert fresh.vectors(numbers, source)[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert fresh.vectors(numbers[:2], source)[:, 0].tolist() == [1, 2]


def test_the_rows_are_the_callers_own(fresh: Lexicon):
    source, numbers = Lengths(), fresh.numbers(["a"])
    fresh.vectors(numbers, source)[:] = 0
    assert fresh.vectors(numbers, source)[0, 0] == 1


def test_a_source_is_not_kept_alive(fresh: Lexicon):
    source = Lengths()
    fresh.vectors(fresh.numbers(["a"]), source)
    gone = weakref.ref(source)
    del source
    gc.collect()
    assert gone() is None


def test_a_full_lexicon_serves_its_scopes_and_goes_with_them(fresh: Lexicon):
    source = Lengths()
    old = Vocabulary(source)
    old.number([["a", "bb", "ccc", "dddd"]])
    new = Vocabulary(source)
    assert current() is not fresh
    assert new.number([["bb", "eeeee"]]).tolist() == [0, 1]
    assert old.number([["eeeee", "a"]]).tolist() == [4, 0]
    assert old.surfaces == ["a", "bb", "ccc", "dddd", "eeeee"]
    assert old.vectors is not None
    assert old.vectors.filled()[:, 0].tolist() == [1, 2, 3, 4, 5]


def test_threads_agree_on_numbers_and_rows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lexicon, "_current", Lexicon())
    shared, source = current(), Lengths()

    def ask(seed: int) -> bool:
        random = np.random.default_rng(seed)
        for _ in range(200):
            words = [chr(97 + n % 26) * n for n in random.permutation(range(1, 300))[:15].tolist()]
            numbers = shared.numbers(words)
            rows = shared.vectors(numbers, source)
            if shared.words(numbers) != words or rows[:, 0].tolist() != list(map(len, words)):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
    assert len(source.asked) == len(set(source.asked))
