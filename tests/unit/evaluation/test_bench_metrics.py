"""The metrics, against values worked out by hand."""

from math import log2

import pytest

from retentive.evaluation.metrics import METRICS, Judged, judge, table


def named(hits: list[str], gold: set[str]) -> dict[str, float]:
    return dict(zip(METRICS, judge(hits, gold), strict=True))


def test_a_right_answer_in_front_is_worth_everything() -> None:
    assert set(named(["a", "b"], {"a"}).values()) == {1.0}


def test_several_right_answers_count_by_their_places() -> None:
    found = named(["x", "a", "y", "b", "z"], {"a", "b", "c"})
    gained, ideal = 1 / log2(3) + 1 / log2(5), 1 + 1 / log2(3) + 1 / log2(4)
    assert found["ndcg@10"] == pytest.approx(gained / ideal)
    assert found["recall@5"] == found["recall@10"] == found["recall@20"] == pytest.approx(2 / 3)
    assert found["hit@10"] == 1.0
    assert found["mrr"] == 0.5


def test_each_depth_ends_where_it_says() -> None:
    at = {place: named([f"x{n}" for n in range(1, place)] + ["a"], {"a"}) for place in (5, 6, 10, 11, 20, 21)}
    assert [at[place]["recall@5"] for place in (5, 6)] == [1.0, 0.0]
    assert [at[place]["recall@10"] for place in (10, 11)] == [1.0, 0.0]
    assert [at[place]["recall@20"] for place in (20, 21)] == [1.0, 0.0]
    assert [at[place]["hit@10"] for place in (10, 11)] == [1.0, 0.0]
    assert [at[place]["ndcg@10"] for place in (10, 11)] == [pytest.approx(1 / log2(11)), 0.0]
    assert [at[place]["mrr"] for place in (11, 20, 21)] == [1 / 11, 1 / 20, 0.0]


def test_more_than_ten_right_answers_can_still_be_perfect() -> None:
    many = [f"a{n}" for n in range(15)]
    found = named(many, set(many))
    assert found["ndcg@10"] == pytest.approx(1.0)
    assert found["recall@10"] == pytest.approx(10 / 15)
    assert found["recall@20"] == 1.0


def test_an_id_that_comes_again_counts_once() -> None:
    assert named(["a", "a", "a", "b"], {"a", "b"}) == named(["a", "b"], {"a", "b"})


def test_nothing_found_is_worth_nothing() -> None:
    assert set(named([], {"a"}).values()) == {0.0}


def test_a_question_without_evidence_is_refused() -> None:
    with pytest.raises(ValueError, match="without evidence"):
        judge(["a"], set())


def asked(category: str, value: float, corpus: str = "c") -> Judged:
    return Judged(corpus=corpus, category=category, values=(value,) * len(METRICS))


def test_macro_is_the_mean_of_categories_and_micro_that_of_questions() -> None:
    found = table([asked("one", 1.0), asked("one", 1.0), asked("one", 1.0), asked("two", 0.0)])
    assert found.macro["mrr"] == 50.0
    assert found.micro["mrr"] == 75.0
    assert {name: row["ndcg@10"] for name, row in found.per_category.items()} == {"one": 100.0, "two": 0.0}


def test_micro_leaves_out_adversarial_questions_and_macro_does_not() -> None:
    found = table([asked("adversarial", 1.0), asked("other", 0.0)])
    assert (found.macro["mrr"], found.micro["mrr"]) == (50.0, 0.0)


def test_micro_takes_in_adversarial_questions_if_there_are_no_others() -> None:
    assert table([asked("adversarial", 1.0)]).micro["mrr"] == 100.0
