"""The intervals: repeatable, over conversations, and as wide as the data says."""

import numpy as np

from retentive.evaluation.bootstrap import intervals
from retentive.evaluation.metrics import METRICS, Judged


def judged(corpus: str, category: str, value: float) -> Judged:
    return Judged(corpus=corpus, category=category, values=(value,) * len(METRICS))


def noisy(corpora: int, each: int) -> list[Judged]:
    draw = np.random.default_rng(5)
    return [
        judged(f"c{number}", category, float(draw.random()))
        for number in range(corpora)
        for category in ("one", "two")
        for _ in range(each)
    ]


def test_the_same_seed_gives_the_same_intervals_and_another_gives_others() -> None:
    answers = noisy(12, 6)
    assert intervals(answers, seed=3) == intervals(answers, seed=3)
    assert intervals(answers, seed=3) != intervals(answers, seed=4)


def test_corpora_are_drawn_whole() -> None:
    answers = [judged("good", "one", 1.0) for _ in range(50)] + [judged("bad", "one", 0.0) for _ in range(50)]
    found = intervals(answers, seed=0)
    assert found.macro["mrr"] == found.micro["mrr"] == (0.0, 100.0)
    assert set(found.over.values()) == {"corpora"}


def test_of_a_single_corpus_questions_are_drawn_and_it_says_so() -> None:
    answers = [judged("only", "one", float(number % 2)) for number in range(100)]
    found = intervals(answers, seed=0)
    low, high = found.macro["mrr"]
    assert 35 < low < 50 < high < 65
    assert found.over == {"macro": "questions", "micro": "questions", "one": "questions"}


def test_a_category_of_a_single_corpus_is_drawn_by_question() -> None:
    answers = [judged(name, name, float(number % 2)) for name in ("de", "ja") for number in range(20)]
    found = intervals(answers, seed=0)
    assert found.over == {"macro": "corpora", "micro": "corpora", "de": "questions", "ja": "questions"}
    low, high = found.per_category["de"]["mrr"]
    assert low < 50 < high


def test_categories_missing_from_a_draw_do_not_disturb_it() -> None:
    answers = [judged("a", "rare", 1.0), *[judged(name, "common", 1.0) for name in "bcdef"]]
    found = intervals(answers, seed=0)
    assert found.macro["mrr"] == found.per_category["rare"]["mrr"] == (100.0, 100.0)


def test_a_draw_of_adversarial_questions_alone_does_not_disturb_micro() -> None:
    answers = [judged("a", "adversarial", 0.0), judged("b", "plain", 1.0)]
    assert intervals(answers, seed=0).micro["mrr"] == (100.0, 100.0)
