"""The confidence: what raises it, and that nothing breaks where there is nothing to compare."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from retentive.embedders.base import embed_checked, fingerprint
from retentive.embedders.static import shared
from retentive.ranking.confidence import COVERED_BY, confidence, coverage, rank_and_judge
from retentive.ranking.features import features, pack
from retentive.ranking.profiles import SEARCH
from retentive.ranking.question import Question, question
from retentive.ranking.scope_index import ScopeIndex
from retentive.ranking.score import Wanted, rank
from retentive.ranking.view import IndexView
from retentive.stores.base import IndexRow, Scan
from retentive.types import Filters, MemoryItem, MemoryKind, Scope

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TEXTS = (
    "Ana adopted a small beagle from the shelter.",
    "The kitchen was painted green last week.",
    "Ben plays the violin in an orchestra.",
    "The train to Lisbon leaves at nine.",
)


def view_of(*texts: str) -> IndexView:
    embedder = shared()
    vectors = asyncio.run(embed_checked(embedder, texts, "document"))
    rows = [
        IndexRow(
            id=f"m{n}", packed=pack(features(item)), vector=vector.tobytes(), embedder=fingerprint(embedder)
        )
        for n, (item, vector) in enumerate(zip(map(memory, texts), vectors, strict=True))
    ]
    index = ScopeIndex(embedder, fingerprint(embedder))
    index.apply(Scan(position=1, rows=rows, reset=True))
    return index.view()


def memory(text: str) -> MemoryItem:
    return MemoryItem(
        id="m", scope=Scope("n"), kind=MemoryKind.SEMANTIC, content=text, created_at=NOW, updated_at=NOW
    )


def asked(text: str) -> Question:
    return question(text, asyncio.run(embed_checked(shared(), [text], "query"))[0])


WANTED = Wanted(now=NOW)


def covered(view: IndexView, text: str) -> float:
    one = asked(text)
    return coverage(view, one, [hit.row for hit in rank(view, one, SEARCH, WANTED)])


def row(number: int) -> int:
    """Where memory m{number} stands: row 0 is none."""
    return number + 1


def test_a_question_that_one_memory_holds_whole_is_covered() -> None:
    assert covered(view_of(*TEXTS), "violin orchestra?") == pytest.approx(1.0)


def test_words_spread_over_memories_are_not_covered() -> None:
    assert 0.3 < covered(view_of(*TEXTS), "violin kitchen?") < 0.9


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    view = view_of("red tulip", "red", "red", "red", "red")
    rare, common = (coverage(view, asked("red tulip"), [row(number)]) for number in (0, 1))
    assert rare == pytest.approx(1.0)
    assert common < 0.5


def test_words_of_like_meaning_count_in_part() -> None:
    view = view_of(*TEXTS)
    near, far = (coverage(view, asked(word), [row(2)]) for word in ("cello", "cheese"))
    assert 0.5 >= near > far >= 0.0


def test_a_question_about_something_else_is_less_sure() -> None:
    view = view_of(*TEXTS)
    on, off = (
        confidence(covered(view, text)) for text in ("Which dog did Ana adopt?", "Who won the election?")
    )
    assert 0.0 <= off < 0.2 < on <= 1.0


def test_only_the_first_memories_count() -> None:
    view = view_of("violin orchestra", *(f"Parcel {number}." for number in range(COVERED_BY)))
    one, others = asked("violin orchestra"), [row(number) for number in range(1, COVERED_BY + 1)]
    assert coverage(view, one, [*others[:-1], row(0)]) == pytest.approx(1.0)
    assert coverage(view, one, [*others, row(0)]) < 0.9


def test_where_there_is_nothing_to_compare_nothing_is_covered() -> None:
    assert coverage(view_of(), asked("violin"), []) == 0.0
    assert coverage(view_of(*TEXTS), asked("violin"), []) == 0.0
    assert rank_and_judge(view_of(), asked("violin"), SEARCH, WANTED) == ([], 0.0)


def test_the_confidence_rises_with_the_coverage_and_stays_between_zero_and_one() -> None:
    made = [confidence(share / 10) for share in range(11)]
    assert made == sorted(set(made))
    assert 0.0 < made[0] < 0.1
    assert 0.9 < made[-1] < 1.0
    assert confidence(0.47) == 0.5


@pytest.mark.parametrize(
    "changes", [{"limit": 1}, {"offset": 2, "limit": 2}, {"limit": 50}, {"min_score": 3.0}]
)
def test_the_hits_are_those_of_the_ranking_and_the_confidence_is_the_same(changes: dict[str, int]) -> None:
    view, one = (
        view_of(*TEXTS, *(f"Parcel {number} for Ana." for number in range(20))),
        asked("Ana's beagle?"),
    )
    wanted = replace(WANTED, **changes)
    hits, sure = rank_and_judge(view, one, SEARCH, wanted)
    assert hits == rank(view, one, SEARCH, wanted)
    assert sure == rank_and_judge(view, one, SEARCH, WANTED)[1] > 0.5


def test_what_the_filters_strike_out_lends_no_confidence() -> None:
    view, one = view_of(*TEXTS), asked("violin orchestra?")
    none = replace(WANTED, filters=Filters(kinds=frozenset({MemoryKind.EPISODIC})))
    assert rank_and_judge(view, one, SEARCH, none) == ([], 0.0)
