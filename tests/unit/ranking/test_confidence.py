"""The confidence: what raises it, and that nothing breaks where there is nothing to compare."""

import asyncio
from datetime import UTC, datetime

import pytest

from retentive.embedders.base import embed_checked, fingerprint
from retentive.embedders.static import shared
from retentive.ranking.confidence import POTION, Signals, Weights, confidence, signals
from retentive.ranking.features import features, pack
from retentive.ranking.profiles import SEARCH
from retentive.ranking.question import Question, question
from retentive.ranking.scope_index import ScopeIndex
from retentive.ranking.score import Wanted, rank
from retentive.ranking.view import IndexView
from retentive.stores.base import IndexRow, Scan
from retentive.types import MemoryItem, MemoryKind, Scope

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


def found(view: IndexView, text: str) -> Signals:
    one = asked(text)
    return signals(view, one, [hit.id for hit in rank(view, one, SEARCH, Wanted(now=NOW))])


def test_a_question_that_one_memory_holds_whole_is_covered() -> None:
    whole = found(view_of(*TEXTS), "violin orchestra?")
    assert whole.covered == whole.joined == pytest.approx(1.0)
    assert 0 < whole.cosine <= 1.0


def test_words_spread_over_memories_are_joined_and_not_covered() -> None:
    spread = found(view_of(*TEXTS), "violin kitchen?")
    assert spread.joined == pytest.approx(1.0)
    assert spread.covered < 0.9


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    view = view_of("red tulip", "red", "red", "red", "red")
    rare, common = (signals(view, asked("red tulip"), [name]).covered for name in ("m0", "m1"))
    assert rare == pytest.approx(1.0)
    assert common < 0.5


def test_words_of_like_meaning_count_in_part() -> None:
    view = view_of(*TEXTS)
    near, far = (signals(view, asked(word), ["m2"]) for word in ("cello", "cheese"))
    assert 1.0 > near.covered > far.covered
    assert 1.0 > near.joined > far.joined


def test_a_question_about_something_else_is_less_sure() -> None:
    view = view_of(*TEXTS)
    on, off = (
        confidence(found(view, text)) for text in ("Which dog did Ana adopt?", "Who won the election?")
    )
    assert 0.0 <= off < 0.2 < on <= 1.0


def test_only_the_first_memories_count() -> None:
    view = view_of("violin orchestra", *(f"Parcel {number}." for number in range(10)))
    one, others = asked("violin orchestra"), [f"m{number}" for number in range(1, 11)]
    assert signals(view, one, [*others[:4], "m0"]).joined == pytest.approx(1.0)
    assert signals(view, one, [*others[:5], "m0"]).joined < 1.0
    assert signals(view, one, [*others[:9], "m0"]).covered == pytest.approx(1.0)
    assert signals(view, one, [*others, "m0"]).covered < 0.9


def test_where_there_is_nothing_to_compare_all_signals_are_zero() -> None:
    nothing = Signals(covered=0.0, joined=0.0, cosine=0.0)
    assert signals(view_of(), asked("violin"), []) == nothing
    wordless = signals(view_of(*TEXTS), question("???"), ["m0"])
    assert wordless == nothing
    assert confidence(nothing) < 0.001


@pytest.mark.parametrize("extreme", [1e4, -1e4])
def test_the_confidence_stays_between_zero_and_one(extreme: float) -> None:
    weights = Weights(covered=0.0, joined=0.0, cosine=0.0, bias=extreme)
    made = confidence(Signals(covered=1.0, joined=1.0, cosine=1.0), weights)
    assert made == (1.0 if extreme > 0 else 0.0)


def test_the_confidence_is_the_logistic_of_the_weighted_signals() -> None:
    made = confidence(Signals(covered=0.5, joined=0.8, cosine=0.6), POTION)
    logit = 3.31 * 0.5 + 2.80 * 0.8 + 7.19 * 0.6 - 7.62
    assert made == pytest.approx(1 / (1 + 2.718281828459045**-logit))
