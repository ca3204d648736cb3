"""Single laws of the ranking, on scopes small enough to see."""

import asyncio
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from retentive.embedders.static import StaticEmbedder
from retentive.errors import StoreCorrupt
from retentive.ranking.features import features, pack
from retentive.ranking.filters import of_kinds
from retentive.ranking.profiles import RECALL, SEARCH, Profiles
from retentive.ranking.question import question
from retentive.ranking.scope_index import ScopeIndex
from retentive.ranking.score import Scored, Wanted, rank
from retentive.stores.base import IndexRow, Scan
from retentive.types import Filters, MemoryItem, MemoryKind, Origin, Scope, Source

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MODEL = "double/2"
Vector = NDArray[np.float32]


class NoWords:
    """Knows no word, so that only equal stems match."""

    def words(self, words: list[str]) -> Vector:
        return np.zeros((len(words), 2), dtype=np.float32)


def memory(identity: str, content: str, **fields: object) -> MemoryItem:
    given_fields: dict[str, object] = {
        "id": identity,
        "scope": Scope("n"),
        "kind": MemoryKind.SEMANTIC,
        "content": content,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return MemoryItem(**(given_fields | fields))  # pyright: ignore[reportArgumentType]


def turn(
    identity: str, content: str, number: int, speaker: str | None = None, **fields: object
) -> MemoryItem:
    source = Source(thread="t", turns=(number,), speaker=speaker)
    return memory(identity, content, kind=MemoryKind.EPISODIC, source=source, **fields)


def row(item: MemoryItem, vector: Vector | None = None, model: str = MODEL) -> IndexRow:
    packed = pack(features(item))
    return IndexRow(
        id=item.id, packed=packed, vector=None if vector is None else vector.tobytes(), embedder=model
    )


def at_cosine(cosine: float) -> Vector:
    return np.array([cosine, math.sqrt(1 - cosine * cosine)], dtype=np.float32)


def index(*rows: IndexRow) -> ScopeIndex:
    made = ScopeIndex(NoWords(), MODEL)  # pyright: ignore[reportArgumentType]
    made.apply(Scan(position=1, rows=rows, reset=True))
    return made


def search(
    scope: ScopeIndex, text: str, vector: Vector | None = None, profiles: Profiles = SEARCH, **wanted: object
) -> list[Scored]:
    asked = Wanted(**({"now": NOW, "limit": 100} | wanted))  # pyright: ignore[reportArgumentType]
    return rank(scope.view(), question(text, vector), profiles, asked)


def ids(hits: list[Scored]) -> list[str]:
    return [hit.id for hit in hits]


def test_an_empty_scope_and_a_limit_of_none_find_nothing() -> None:
    assert search(index(), "kettle", at_cosine(1)) == []
    assert search(index(row(memory("a", "kettle"))), "kettle", limit=0) == []


def test_what_has_no_word_in_common_and_only_a_chance_cosine_is_not_found() -> None:
    scope = index(
        row(memory("word", "a kettle"), at_cosine(-0.5)),
        row(memory("near", "other"), at_cosine(0.2)),
        row(memory("far", "other"), at_cosine(0.05)),
        row(memory("none", "other")),
    )
    assert set(ids(search(scope, "kettle", at_cosine(1)))) == {"word", "near"}
    assert ids(search(scope, "kettle")) == ["word"]


@pytest.mark.parametrize("loud", [700, 5_000])
def test_lim_1_a_filter_never_empties_the_answer(loud: int) -> None:
    rows = [
        row(memory(f"l{number:05}", "x", tags=("old",) if number == 7 else ()), at_cosine(0.99))
        for number in range(loud)
    ]
    quiet = [
        row(memory(f"q{cosine}", "x", tags=("quiet",)), at_cosine(cosine)) for cosine in (0.5, 0.6, 0.55)
    ]
    scope = index(*rows, *quiet)
    asked = at_cosine(1)
    found = search(scope, "", asked, filters=Filters(tags=frozenset({"quiet"})), limit=3)
    assert ids(found) == ["q0.6", "q0.55", "q0.5"]
    assert ids(search(scope, "", asked, filters=Filters(tags=frozenset({"old"})), limit=2)) == ["l00007"]
    assert len(search(scope, "", asked, limit=10)) == 10


def test_emb_5_zero_and_not_finite_question_vectors_fall_back_to_words() -> None:
    scope = index(
        row(memory("a", "kettle"), at_cosine(1)),
        row(memory("b", "pot"), at_cosine(0.6)),
        row(memory("z", "kettle pan")),
    )
    assert ids(search(scope, "", at_cosine(1), limit=2)) == ["a", "b"]
    for bad in ([0.0, 0.0], [math.nan, math.nan], [math.inf, 0.0]):
        hits = search(scope, "kettle", np.array(bad, dtype=np.float32))
        assert set(ids(hits)) == {"a", "z"}
        assert all(math.isfinite(hit.score) for hit in hits)
    assert search(scope, "kettle", np.ones(3, dtype=np.float32)) == search(scope, "kettle")


def test_vectors_of_another_model_are_never_compared() -> None:
    scope = index(
        row(memory("a", "kettle"), at_cosine(1), "other/2"), row(memory("b", "pot"), at_cosine(0.9))
    )
    assert ids(search(scope, "", at_cosine(1))) == ["b"]
    assert ids(search(scope, "kettle")) == ["a"]
    assert scope.view().outdated == {"other/2": 1}
    assert scope.view().outdated_ids() == ["a"]


def test_equal_scores_come_newest_first() -> None:
    scope = index(
        *(row(memory(identity, "a blue kettle"), at_cosine(0.9)) for identity in ("m2", "m9", "m1", "m5"))
    )
    assert ids(search(scope, "kettle", at_cosine(1))) == ["m9", "m5", "m2", "m1"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("京都", "a"),
        ("抹茶アイス", "a"),
        ("수영", "b"),
        ("кот", "c"),
        ("السمك", "d"),
        ("游泳", "e"),
        ("泳", "e"),
    ],
)
def test_uni_3_parts_of_texts_in_any_script_are_found_by_words(query: str, expected: str) -> None:
    texts = {
        "a": "京都で抹茶アイスを食べた",
        "b": "우리 강아지는 수영을 싫어한다",
        "c": "Мой кот любит рыбу",
        "d": "قطتي تحب السمك",
        "e": "他每周三去游泳馆",
    }
    scope = index(*(row(memory(identity, text), at_cosine(1)) for identity, text in texts.items()))
    assert ids(search(scope, query, at_cosine(1), limit=1)) == [expected]


TICKETS = {
    "ticket": "Ticket KX-204 blocks the release",
    "ship": "Don't ship on Fridays",
    "samples": "Samples use C++ and C#",
    "config": "Config lives in etc/app\\conf.d",
    "kettle": "The blue kettle leaks",
    "tea": "Bring tea, not coffee",
    "mill": "NEAR the old mill",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("KX-204", "ticket"),
        ("don't", "ship"),
        ("C++", "samples"),
        ("C#", "samples"),
        ("etc/app\\conf.d", "config"),
        ("kettle OR", "kettle"),
        ("text:kettle", "kettle"),
        ("content:kettle", "kettle"),
        ("tea NOT coffee", "tea"),
        ("NEAR mill", "mill"),
    ],
)
def test_qry_1_and_2_a_query_is_text(query: str, expected: str) -> None:
    assert ids(tickets(query))[0] == expected


@pytest.mark.parametrize(
    "query", ['"', "*", "(", "^", "- - -", "NEAR(", "AND", "note:", "🐱", "x " * 5_000, "\x00", "%"]
)
def test_qry_1_signs_and_operators_raise_nothing(query: str) -> None:
    assert all(math.isfinite(hit.score) for hit in tickets(query))


def tickets(query: str) -> list[Scored]:
    embedder = StaticEmbedder()
    texts = list(TICKETS.values())
    vectors = asyncio.run(embedder.embed([*texts, query], "document"))
    scope = ScopeIndex(embedder, MODEL)
    rows = [
        row(memory(identity, text), vector)
        for (identity, text), vector in zip(TICKETS.items(), vectors, strict=False)
    ]
    scope.apply(Scan(position=1, rows=rows))
    return search(scope, query, vectors[-1])


def test_dup_1_the_newer_of_two_wordings_comes_first_in_recall_only() -> None:
    scope = index(
        row(memory("m1", "Ida eats nuts nuts"), at_cosine(0.99)),
        row(memory("m2", "Ida never eats nuts", near="m1"), at_cosine(0.98)),
    )
    assert ids(search(scope, "Ida nuts", at_cosine(1))) == ["m1", "m2"]
    hits = search(scope, "Ida nuts", at_cosine(1), RECALL)
    assert ids(hits) == ["m2", "m1"]
    assert hits[1].why["newer"] < 0
    assert "newer" not in hits[0].why


def test_a_chain_of_wordings_comes_newest_first_and_a_far_better_old_one_stays() -> None:
    chain = [row(memory(f"m{number}", "code " * number, near=f"m{number - 1}")) for number in (1, 2, 3)]
    assert ids(search(index(*chain), "code", profiles=RECALL)) == ["m3", "m2", "m1"]
    scope = index(
        row(memory("m1", "zanzibar quinoa xylophone")),
        row(memory("m2", "zanzibar", near="m1")),
        *(row(memory(f"x{number}", "filler")) for number in range(200)),
    )
    assert ids(search(scope, "zanzibar quinoa xylophone", profiles=RECALL)) == ["m1", "m2"]


def test_a_wording_whose_newer_one_is_gone_is_not_held_back() -> None:
    scope = index(row(memory("m1", "code one")), row(memory("m2", "code two", near="m1")))
    scope.apply(Scan(position=2, rows=(), gone=("m2",)))
    hits = search(scope, "code", profiles=RECALL)
    assert ids(hits) == ["m1"]
    assert "newer" not in hits[0].why


def test_importance_and_recency_count_in_recall_and_not_in_search() -> None:
    scope = index(
        row(memory("m1", "kettle", importance=0.9)),
        row(memory("m2", "kettle", importance=0.1)),
        row(memory("m3", "kettle", importance=0.1, occurred_at=NOW - timedelta(days=30))),
    )
    assert ids(search(scope, "kettle")) == ["m3", "m2", "m1"]
    hits = search(scope, "kettle", profiles=RECALL)
    assert ids(hits) == ["m1", "m2", "m3"]
    assert hits[0].why["importance"] == pytest.approx(0.4)
    assert [hit.why["recency"] for hit in hits] == pytest.approx([0.5, 0.5, 0.25])


def test_an_answer_is_found_through_the_question_before_it() -> None:
    scope = index(
        row(turn("m1", "Which instrument did you pick?", 1, "Ann")),
        row(turn("m2", "Cello.", 2, "Bea")),
        row(turn("m3", "Nice weather today.", 9, "Ann")),
    )
    hits = search(scope, "instrument")
    assert set(ids(hits)) == {"m1", "m2"}
    facts = index(row(memory("m1", "Which instrument did you pick?")), row(memory("m2", "Cello.")))
    assert ids(search(facts, "instrument")) == ["m1"]


def test_the_turns_of_a_named_speaker_gain_unless_all_are_named() -> None:
    scope = index(
        *(row(turn(f"m{n}", "kettle", 10 * n, name)) for n, name in enumerate(("Ann Lee", "Bea", "user"), 1))
    )
    assert {hit.id: hit.why.get("speaker") for hit in search(scope, "What did Ann say of the kettle?")} == {
        "m1": 2.5,
        "m2": None,
        "m3": None,
    }
    assert all("speaker" not in hit.why for hit in search(scope, "Ann and Bea and the kettle"))
    assert all("speaker" not in hit.why for hit in search(scope, "the user's kettle"))


def test_the_words_of_a_speakers_name_do_not_count_unless_nothing_else_is_asked() -> None:
    scope = index(row(turn("m1", "Bea has a kettle", 1, "Ann")), row(turn("m2", "tea", 20, "Bea")))
    assert ids(search(scope, "Bea's tea")) == ["m2"]
    assert ids(search(scope, "Bea?")) == ["m1"]


def test_a_speakers_name_counts_as_a_word_in_what_is_not_a_turn() -> None:
    turns = [row(turn(f"m{number}", "tea is fine", 10 * number, "Bea")) for number in (1, 2)]
    scope = index(*turns, row(memory("m3", "Bea keeps bees")), row(memory("m4", "nothing else")))
    assert ids(search(scope, "Bea's bread")) == ["m3"]


def test_what_the_user_said_gains_when_the_question_says_i() -> None:
    scope = index(
        row(turn("m1", "kettle", 1, origin=Origin.USER)),
        row(turn("m2", "kettle", 20, origin=Origin.ASSISTANT)),
        row(turn("m3", "kettle", 40, "Ann", origin=Origin.USER)),
    )
    assert {hit.id: hit.why.get("role") for hit in search(scope, "What did I say of my kettle?")} == {
        "m1": 3.0,
        "m2": None,
        "m3": None,
    }


def test_times_gain_when_the_question_asks_when_and_dates_when_it_names_one() -> None:
    scope = index(
        row(turn("m1", "The kettle broke yesterday", 1, occurred_at=datetime(2025, 5, 7, tzinfo=UTC))),
        row(turn("m2", "The kettle broke", 20, occurred_at=datetime(2025, 9, 7, tzinfo=UTC))),
    )
    assert {hit.id: hit.why.get("when") for hit in search(scope, "When did the kettle break?")}[
        "m1"
    ] == pytest.approx(2.6)
    assert [hit.why.get("dates") for hit in search(scope, "the kettle in May 2025")] == [6.0, None]


def test_a_switched_off_leg_leaves_no_part() -> None:
    scope = index(
        row(turn("m1", "I saw the blue kettle", 1), at_cosine(0.9)), row(turn("m2", "tea", 2), at_cosine(0.1))
    )
    everything = search(scope, "blue kettle", at_cosine(1))[0].why
    assert set(everything) == {"words", "cosine", "pairs", "manner", "told"}
    for part, off in (
        ("words", "words"),
        ("cosine", "cosine"),
        ("pairs", "pairs"),
        ("manner", "first_person"),
        ("told", "told"),
    ):
        turns = replace(SEARCH.turns, **{off: 0.0})
        assert part not in search(scope, "blue kettle", at_cosine(1), replace(SEARCH, turns=turns))[0].why


def test_the_lowest_id_of_a_shared_turn_is_the_neighbour_and_the_next_one_follows() -> None:
    scope = index(row(turn("m1", "cello", 2)), row(turn("m3", "other", 1)), row(turn("m2", "instrument", 1)))
    assert "m1" in ids(search(scope, "instrument"))
    scope.apply(Scan(position=2, rows=[row(turn("m0", "nothing", 1))]))
    assert "m1" not in ids(search(scope, "instrument"))
    scope.apply(Scan(position=3, rows=(), gone=["m0"]))
    assert "m1" in ids(search(scope, "instrument"))


def test_the_filters_bounds_are_exact() -> None:
    scope = index(
        row(memory("expired", "kettle", expires_at=NOW)),
        row(memory("expiring", "kettle", expires_at=NOW + timedelta(microseconds=1))),
        row(memory("future", "kettle", valid_from=NOW + timedelta(microseconds=1))),
        row(memory("begins", "kettle", valid_from=NOW)),
        row(memory("ended", "kettle", valid_until=NOW)),
        row(memory("old", "kettle", superseded_by="begins")),
    )
    assert set(ids(search(scope, "kettle"))) == {"expiring", "begins"}
    later = Filters(as_of=NOW + timedelta(microseconds=1), include_superseded=True)
    assert set(ids(search(scope, "kettle", filters=later))) == {"future", "begins", "old"}
    at = Filters(since=NOW, until=NOW + timedelta(microseconds=1))
    assert set(ids(search(scope, "kettle", filters=at))) == {"expiring", "begins"}
    assert ids(search(scope, "kettle", filters=Filters(until=NOW))) == []


def test_of_kinds_counts_expired_ones_too() -> None:
    scope = index(row(memory("a", "x", expires_at=NOW - timedelta(days=1))), row(turn("b", "y", 1)))
    view = scope.view()
    assert [view.ids[place] for place in of_kinds(view, {MemoryKind.SEMANTIC}).nonzero()[0].tolist()] == ["a"]
    assert of_kinds(view, ()).sum() == 2


def test_a_reset_forgets_everything_before() -> None:
    scope = index(row(memory("a", "kettle")))
    scope.apply(Scan(position=5, rows=[row(memory("b", "pot"))], reset=True))
    assert (len(scope), search(scope, "kettle")) == (1, [])


def test_a_scan_that_cannot_be_read_changes_nothing() -> None:
    scope = index(row(memory("a", "kettle")))
    before = search(scope, "kettle")
    bad = IndexRow(id="b", packed=b"\xff", vector=None, embedder=None)
    with pytest.raises(StoreCorrupt):
        scope.apply(Scan(position=2, rows=[row(memory("c", "kettle")), bad], gone=["a"]))
    assert search(scope, "kettle") == before


def test_an_id_twice_in_one_scan_is_the_later_one() -> None:
    scope = index(row(memory("a", "kettle")), row(memory("a", "pot")), row(memory("b", "pan")))
    assert len(scope) == 2
    assert ids(search(scope, "pot")) == ["a"]
    assert search(scope, "kettle") == []


def test_replacing_over_and_over_keeps_the_index_small() -> None:
    scope = index(*(row(memory(f"m{number}", f"word{number} kettle")) for number in range(20)))
    small = scope.nbytes
    for turn_number in range(300):
        scope.apply(Scan(position=2, rows=[row(memory("m0", f"word{turn_number} kettle"))]))
    assert len(scope) == 20
    assert scope.nbytes < 10 * small
    assert len(scope.view().ids) <= 200
    scope.apply(Scan(position=3, rows=(), gone=[f"m{number}" for number in range(20)]))
    assert (len(scope), search(scope, "kettle")) == (0, [])
