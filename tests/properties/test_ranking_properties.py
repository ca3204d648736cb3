"""The ranking against the recipe written out as plain loops, and the laws that any ranking here keeps."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from random import Random
from typing import Any, cast

import numpy as np
import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from retentive.ranking.features import features, pack
from retentive.ranking.profiles import RECALL, SEARCH
from retentive.ranking.question import question
from retentive.ranking.scope_index import ScopeIndex
from retentive.ranking.score import Scored, Wanted, rank
from retentive.ranking.view import IndexView
from retentive.stores.base import IndexRow, Scan
from retentive.text import STOP_WORDS
from retentive.types import Filters, MemoryItem, MemoryKind, Origin, Scope, Source

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SCOPE = Scope("test")
MODEL = "double/8"
EVERYTHING = Wanted(now=NOW, limit=1_000)
_WORDS = (
    "kettle kettles blue leaks roof garden walked walking train ticket piano violin the a is was i my "
    "yesterday birthday year recently ann cara bread soup river mountain window? really?"
)
VOCABULARY = _WORDS.split()
QUESTION_WORDS = (
    "when",
    "did",
    "my",
    "ann",
    "bea",
    "kettle",
    "walks",
    "piano",
    "river",
    "roof",
    "blue",
    "bread",
    "lake",
)


class HashedWords:
    """Eight numbers made of a word's hash; words that begin with "x" are unknown."""

    def words(self, words: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(words), 8), dtype=np.float32)
        for row, word in enumerate(words):
            if not word.startswith("x"):
                rows[row] = unit_vector(word)
        return rows


@cache
def unit_vector(seed: str) -> NDArray[np.float32]:
    random = Random(blake2b(seed.encode(), digest_size=8).digest())
    vector = np.array([random.gauss(0.1, 1.0) for _ in range(8)], dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


@dataclass(frozen=True)
class Stored:
    item: MemoryItem
    vector: NDArray[np.float32] | None


def made_up(random: Random) -> list[Stored]:
    """Up to 14 memories: turns of two threads, close together, and plain statements of every kind."""
    return [one_made_up(random, number) for number in range(random.choice([1, 2, 5, 10, 14, 14]))]


def one_made_up(random: Random, number: int) -> Stored:
    is_turn = random.random() < 0.7
    words = random.choices(VOCABULARY, k=random.choice([0, 2, 5, 9, 9, 40]))
    source = Source(
        thread=random.choice(["one", "one", "one", "two"]),
        turns=(random.choice([number % 8 + 1, number % 8 + 1, random.randint(1, 8)]),),
        speaker=random.choice([None, "Ann", "Bea Cara", "user", "Dan"]),
    )
    item = MemoryItem(
        id=f"m{number:03}",
        scope=SCOPE,
        kind=MemoryKind.EPISODIC if is_turn else random.choice(list(MemoryKind)),
        content=" ".join(words) or "?",
        importance=random.choice([0.0, 0.25, 0.5, 1.0]),
        tags=tuple(tag for tag in ("red", "green") if random.random() < 0.5),
        created_at=datetime(2026, 5, 1, tzinfo=UTC) + timedelta(hours=number),
        updated_at=datetime(2026, 5, 1, tzinfo=UTC),
        occurred_at=random.choice(
            [None, datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=random.randint(0, 21_600))]
        ),
        expires_at=random.choice([None, None, NOW - timedelta(seconds=1), NOW + timedelta(days=1)]),
        valid_from=random.choice([None, None, None, NOW + timedelta(days=1)]),
        source=source if is_turn else None,
        origin=random.choice([Origin.USER, Origin.ASSISTANT]),
        success=random.choice([None, True, False]),
        superseded_by=random.choice([None, None, None, "m999"]),
    )
    return Stored(item, unit_vector(f"{number} {item.content}") if random.random() < 0.8 else None)


def memories() -> st.SearchStrategy[list[Stored]]:
    return st.integers(0, 2**32).map(lambda seed: made_up(Random(seed)))


questions = st.integers(0, 2**32).map(
    lambda seed: " ".join(Random(seed).sample(QUESTION_WORDS, Random(seed).randint(1, len(QUESTION_WORDS))))
)
date_tails = st.sampled_from(["", " in May 2025", " on 7 March 2025", " on 30 December", " in December"])
some_filters = st.builds(
    Filters,
    kinds=st.frozensets(st.sampled_from(MemoryKind), max_size=2),
    tags=st.frozensets(st.sampled_from(["red", "green", "nowhere"]), max_size=2),
    since=st.sampled_from([None, datetime(2025, 1, 1, tzinfo=UTC)]),
    until=st.sampled_from([None, datetime(2025, 9, 1, tzinfo=UTC), datetime(2026, 5, 2, tzinfo=UTC)]),
    as_of=st.sampled_from([None, NOW - timedelta(days=2), NOW + timedelta(days=2)]),
    success=st.sampled_from([None, True, False]),
    include_superseded=st.booleans(),
)


def row(stored: Stored) -> IndexRow:
    vector = None if stored.vector is None else stored.vector.tobytes()
    return IndexRow(id=stored.item.id, packed=pack(features(stored.item)), vector=vector, embedder=MODEL)


def indexed(stored: Sequence[Stored]) -> IndexView:
    index = ScopeIndex(HashedWords(), MODEL)
    index.apply(Scan(position=1, rows=[row(one) for one in stored], reset=True))
    return index.view()


def ranked(stored: Sequence[Stored], text: str, wanted: Wanted = EVERYTHING) -> list[Scored]:
    return rank(indexed(stored), question(text, unit_vector("question " + text)), RECALL, wanted)


# ---- the recipe, memory by memory, word by word


def kept_words(text: str) -> list[str]:
    found = [word.split("'")[0] for word in re.findall(r"[a-z0-9]+(?:'[a-z0-9]+)?", text.lower())]
    return [word for word in found if word not in STOP_WORDS]


@cache
def stemmed(word: str) -> str:
    return cast("str", cast("Any", Stemmer).Stemmer("english").stemWord(word))


def dot(one: NDArray[np.float32] | None, other: NDArray[np.float32] | None) -> float:
    if one is None or other is None:
        return 0.0
    return sum(float(a) * float(b) for a, b in zip(one, other, strict=True))


@cache
def cosine_of_words(one: str, other: str) -> float:
    first, second = HashedWords().words([one, other])
    return dot(first, second)


class Recipe:
    """Step numbers are those of the recipe: docs/guide/recall.md."""

    def __init__(self, stored: list[Stored]) -> None:
        self.stored = stored
        self.words = [kept_words(one.item.content) for one in stored]
        self.stems = [[stemmed(word) for word in words] for words in self.words]
        self.neighbours = {
            (i, step): self.neighbour_of(i, step) for i in range(len(stored)) for step in (-1, 1, -2, 2)
        }
        self.mean = sum(max(len(words), 30) for words in self.words) / len(stored)

    def norm(self, i: int) -> float:  # step 3
        return 0.1 + 0.9 * max(len(self.words[i]), 30) / self.mean

    def neighbour(self, i: int, step: int) -> int | None:
        return self.neighbours[i, step]

    def neighbour_of(self, i: int, step: int) -> int | None:
        item = self.stored[i].item
        if not item.is_turn or item.source is None:
            return None
        there = [
            j
            for j, other in enumerate(self.stored)
            if other.item.is_turn
            and other.item.source is not None
            and other.item.source.thread == item.source.thread
            and other.item.source.turns[0] == item.source.turns[0] + step
        ]
        return min(there, key=lambda j: self.stored[j].item.id) if there else None

    def is_turn(self, i: int) -> bool:
        return self.stored[i].item.is_turn

    def terms(self, text: str, *, names_too: bool = False) -> list[tuple[str, str]]:  # step 7
        names: set[str] = set()
        for one in self.stored:
            if one.item.source and one.item.source.speaker and one.item.source.speaker != "user":
                names |= {part for part in one.item.source.speaker.lower().split() if len(part) >= 3}
        words = kept_words(text)
        plain = [word for word in words if word not in names] or words
        chosen: dict[str, str] = {}
        for word in plain:
            chosen.setdefault(stemmed(word), word)
        for word in words if names_too else []:
            chosen.setdefault(stemmed(word), word)
        return list(chosen.items())

    def idf(self, stem: str) -> float:  # step 2
        holding = sum(stem in stems for stems in self.stems)
        return math.log(1 + (len(self.stored) - holding + 0.5) / (holding + 0.5))

    def match(self, i: int | None, stem: str, word: str, *, soft: bool) -> float:  # step 8
        if i is None:
            return 0.0
        best = float(self.stems[i].count(stem))
        if soft and self.words[i]:
            best = max([best, *(0.5 * self.alike(stem, word, other) for other in self.words[i])])
        return best / self.norm(i)

    def alike(self, stem: str, word: str, other: str) -> float:  # ours: a more common word counts for less
        likeness = min(1.0, max(0.0, (cosine_of_words(word, other) - 0.2) / 0.8))
        return likeness * min(1.0, self.idf(stemmed(other)) / max(0.1, self.idf(stem)))

    def told(self, i: int) -> float:  # ours
        return 1.5 * min(1.0, sum(self.idf(stem) for stem in self.stems[i]) / 50) if self.is_turn(i) else 0.0

    def with_neighbours(self, i: int, stem: str, word: str, *, soft: bool) -> float:  # steps 6 and 9
        own = self.match(i, stem, word, soft=soft)
        back, on, back_two, on_two = (
            self.match(self.neighbour(i, step), stem, word, soft=soft) for step in (-1, 1, -2, 2)
        )
        share = min(1.0, 25 / max(1, len(self.words[i])))
        before = self.neighbour(i, -1)
        answers = 0.0
        if before is not None and "?" in self.stored[before].item.content:
            answers = min(1.0, max(0.0, (30 - len(self.words[before])) / 15))
        return own + share * (0.3 * (1 + answers) * back + 0.2 * on + 0.15 * (back_two + on_two))

    def lexical(self, i: int, terms: list[tuple[str, str]]) -> float:  # step 10
        sums = {True: 0.0, False: 0.0}
        for stem, word in terms:
            for soft in sums:
                x = self.with_neighbours(i, stem, word, soft=soft)
                sums[soft] += self.idf(stem) * 1.9 * x / (0.9 + x)
        weight = min(1.0, 6 / max(1, len(terms)))
        return weight * sums[True] + (1 - weight) * sums[False]

    def cosine(self, i: int, asked: NDArray[np.float32]) -> float:  # step 5
        own = self.stored[i].vector
        if own is None:
            return 0.0
        window = [float(value) for value in own]
        share = min(1.0, 20 / max(1, len(self.words[i])))
        for step, weight in ((-1, 0.7), (1, 0.7), (-2, 0.4), (2, 0.4)):
            j = self.neighbour(i, step)
            other = None if j is None else self.stored[j].vector
            if other is not None:
                window = [a + share * weight * float(b) for a, b in zip(window, other, strict=True)]
        return sum(a * float(b) for a, b in zip(window, asked, strict=True)) / math.hypot(*window)

    def pairs(self, i: int, terms: list[tuple[str, str]]) -> float:  # step 12
        total = 0.0
        for (one, _), (other, _) in pairwise(terms):
            places = [
                [at for at, stem in enumerate(self.stems[i]) if stem == wanted] for wanted in (one, other)
            ]
            apart = [abs(a - b) for a in places[0] for b in places[1] if abs(a - b) <= 3]
            if apart:
                total += 0.3 * min(self.idf(one), self.idf(other)) / min(apart)
        return total

    def stuffed(self, i: int, terms: list[tuple[str, str]]) -> float:  # ours: repeats of the question's words
        wanted = {stem for stem, _ in terms}
        repeats = sum(max(0, self.stems[i].count(stem) - 1) for stem in wanted)
        share = repeats / max(1, len(self.stems[i]))
        return min(1.0, max(0.0, (repeats - 6) / 4)) * min(1.0, max(0.0, (share - 0.15) / 0.03))

    def priors(self, i: int, text: str) -> float:  # steps 6, 13, 14, 15
        item = self.stored[i].item
        if not self.is_turn(i):
            return 0.0
        speaks_of_itself = bool(re.search(r"\b(i|my)\b", item.content))
        times = bool(re.search(r"\b(yesterday|birthday|year|recently)\b", item.content))
        asks = item.content.endswith("?")
        total = (
            self.told(i)
            + 2.0 * speaks_of_itself
            + 0.6 * times
            - 0.6 * asks
            - 3.0 * (asks and not speaks_of_itself)
        )
        total += 2.6 * (times and "when" in text.split())
        speaker = item.source.speaker if item.source else None
        if "my" in text.split() and speaker in (None, "user") and item.origin is Origin.USER:
            total += 3.0
        everybody = {
            one.item.source.speaker for one in self.stored if one.item.source and one.item.source.speaker
        }
        named = {
            name for name in everybody if name != "user" and set(name.lower().split()) & set(text.split())
        }
        if named and named != everybody - {"user"} and speaker in named:
            total += 2.5
        return total

    def happened(self, i: int) -> datetime:
        return self.stored[i].item.occurred_at or self.stored[i].item.created_at

    def dates(self, i: int, tail: str) -> float:  # step 16
        at = self.happened(i)
        if tail == " in May 2025":
            return {(2025, 5): 1.0, (2025, 6): 0.4}.get((at.year, at.month), 0.0)
        if tail == " in December":
            return {12: 1.0, 1: 0.4}.get(at.month, 0.0)
        targets = {
            " on 7 March 2025": [(2025, 3, 7)],
            " on 30 December": [(y, 12, 30) for y in range(2020, 2030)],
        }
        best = 0.0
        for target in targets.get(tail, []):
            late = (at.date() - datetime(*target, tzinfo=UTC).date()).days
            worth = [
                w
                for low, high, w in ((0, 0, 1.0), (1, 7, 0.8), (8, 21, 0.5), (-2, -1, 0.3))
                if low <= late <= high
            ]
            best = max([best, *worth])
        return best

    def scores(self, text: str, tail: str, asked: NDArray[np.float32]) -> dict[str, float]:
        terms, with_names = self.terms(text + tail), self.terms(text + tail, names_too=True)
        rated = [i for i, one in enumerate(self.stored) if one.vector is not None]
        cosines = [self.cosine(i, asked) for i in range(len(self.stored))]
        mean = sum(cosines[i] for i in rated) / len(rated) if rated else 0.0
        spread = math.sqrt(sum((cosines[i] - mean) ** 2 for i in rated) / len(rated)) if rated else 0.0
        found: dict[str, float] = {}
        for i, one in enumerate(self.stored):
            lexical = self.lexical(i, terms if self.is_turn(i) else with_names)
            if lexical <= 0 and dot(one.vector, asked) <= 0.1 and cosines[i] <= 0.1:
                continue
            pairs, meant = self.pairs(i, terms), 0.0
            if i in rated:  # step 11; ours: damped where memories are few or the spread is tiny
                damped = len(rated) / (len(rated) + 2) / max(spread, 0.02)
                meant = 0.8 * (cosines[i] - mean) * damped
            score = lexical + pairs + meant + self.priors(i, text) + 6.0 * self.dates(i, tail)
            score -= self.stuffed(i, terms if self.is_turn(i) else with_names) * (
                lexical + pairs + max(0.0, meant) + 1.0
            )
            age_s = max(0.0, (NOW - self.happened(i)).total_seconds())
            score += 0.5 * (2 * one.item.importance - 1) + 0.5 * 2 ** (-age_s / (30 * 86_400))
            found[one.item.id] = score
        return found


def lets_through(item: MemoryItem, filters: Filters) -> bool:
    at = filters.as_of or NOW
    happened = item.occurred_at or item.created_at
    return (
        (item.expires_at is None or item.expires_at > at)
        and (item.valid_from is None or item.valid_from <= at)
        and (filters.include_superseded or item.superseded_by is None)
        and (not filters.kinds or item.kind in filters.kinds)
        and filters.tags <= set(item.tags)
        and (filters.since is None or happened >= filters.since)
        and (filters.until is None or happened < filters.until)
        and (filters.success is None or item.success is filters.success)
    )


@settings(max_examples=100, deadline=None)
@given(memories(), questions, date_tails)
def test_the_ranking_is_the_recipe(stored: list[Stored], asked: str, tail: str) -> None:
    filters = Filters(include_superseded=True, as_of=NOW - timedelta(days=1))
    vector = unit_vector(asked)
    hits = rank(indexed(stored), question(asked + tail, vector), RECALL, replace(EVERYTHING, filters=filters))
    scores = Recipe(stored).scores(asked, tail, vector)
    passing = {one.item.id for one in stored if lets_through(one.item, filters)}
    expected = {
        memory: pytest.approx(score, abs=1e-4) for memory, score in scores.items() if memory in passing
    }
    assert {hit.id: hit.score for hit in hits} == expected


@settings(max_examples=40, deadline=None)
@given(memories(), questions, some_filters)
def test_a_filtered_ranking_is_the_full_one_with_rows_struck_out(
    stored: list[Stored], asked: str, filters: Filters
) -> None:
    alive = Filters(include_superseded=True, as_of=filters.as_of)
    full = ranked(stored, asked, replace(EVERYTHING, filters=alive))
    passing = {one.item.id for one in stored if lets_through(one.item, filters)}
    assert ranked(stored, asked, replace(EVERYTHING, filters=filters)) == [
        hit for hit in full if hit.id in passing
    ]


@settings(max_examples=40, deadline=None)
@given(memories(), questions, st.integers(0, 6), st.integers(0, 6))
def test_limit_and_offset_are_slices(stored: list[Stored], asked: str, limit: int, offset: int) -> None:
    full = ranked(stored, asked)
    assert ranked(stored, asked, Wanted(now=NOW, limit=limit, offset=offset)) == full[offset : offset + limit]


@settings(max_examples=40, deadline=None)
@given(memories(), questions, st.floats(-5, 12))
def test_min_score_keeps_exactly_those_that_reach_it(stored: list[Stored], asked: str, least: float) -> None:
    full = ranked(stored, asked)
    assert ranked(stored, asked, replace(EVERYTHING, min_score=least)) == [
        hit for hit in full if hit.score >= least
    ]


@settings(max_examples=40, deadline=None)
@given(memories(), questions)
def test_the_parts_add_up_to_the_score_and_are_finite(stored: list[Stored], asked: str) -> None:
    for hit in ranked(stored, asked):
        assert math.isfinite(hit.score)
        assert hit.score == sum(hit.why.values())
        assert all(hit.why.values())


@settings(max_examples=40, deadline=None)
@given(memories(), questions)
def test_order_is_by_score_and_then_newest_first(stored: list[Stored], asked: str) -> None:
    hits = [(hit.score, hit.id) for hit in ranked(stored, asked)]
    assert hits == sorted(hits, reverse=True)


@settings(max_examples=40, deadline=None)
@given(memories(), questions, st.randoms(use_true_random=False))
def test_any_way_of_applying_gives_the_same_ranking(stored: list[Stored], asked: str, random: Random) -> None:
    index = ScopeIndex(HashedWords(), MODEL)
    steps: list[tuple[str, Stored]] = [("put", one) for one in stored]
    for one in random.sample(stored, random.randint(0, len(stored))):
        old = replace(one.item, content=random.choice(VOCABULARY), source=None, kind=MemoryKind.SEMANTIC)
        steps.insert(random.randint(0, stored.index(one)), ("put", Stored(old, unit_vector("old"))))
    for number in range(random.choice([0, 3, 150])):
        gone = Stored(replace(stored[0].item, id=f"gone{number}"), unit_vector("gone"))
        steps.insert(0, ("put", gone))
        steps.append(("drop", gone))
    while steps:
        count = random.randint(1, 40)
        part, steps = steps[:count], steps[count:]
        kinds = [kind for kind, _ in part]
        if "drop" in kinds and kinds[0] == "put":
            steps = part[kinds.index("drop") :] + steps
            part = part[: kinds.index("drop")]
        puts = [row(one) for kind, one in part if kind == "put"]
        index.apply(Scan(position=1, rows=puts, gone=[one.item.id for kind, one in part if kind == "drop"]))
    assert len(index) == len(stored)
    asking = question(asked, unit_vector("question " + asked))
    hits = rank(index.view(), asking, RECALL, EVERYTHING)
    expected = {hit.id: pytest.approx(hit.score, abs=1e-5) for hit in ranked(stored, asked)}
    assert {hit.id: hit.score for hit in hits} == expected


@settings(max_examples=40, deadline=None)
@given(memories(), memories(), questions)
def test_a_view_stays_as_it_was(first: list[Stored], second: list[Stored], asked: str) -> None:
    index = ScopeIndex(HashedWords(), MODEL)
    index.apply(Scan(position=1, rows=[row(one) for one in first]))
    view, asking = index.view(), question(asked, unit_vector(asked))
    index.apply(Scan(position=2, rows=[row(one) for one in second], gone=[first[0].item.id]))
    index.view()
    assert rank(view, asking, SEARCH, EVERYTHING) == rank(indexed(first), asking, SEARCH, EVERYTHING)


@settings(max_examples=40, deadline=None)
@given(memories(), st.text(max_size=60))
def test_any_text_may_be_asked(stored: list[Stored], asked: str) -> None:
    hits = rank(indexed(stored), question(asked), SEARCH, EVERYTHING)
    assert all(math.isfinite(hit.score) for hit in hits)
