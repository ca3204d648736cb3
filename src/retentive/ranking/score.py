"""The ranking: every living memory of a scope scored, exactly, from an index view and a question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from retentive.ranking import priors
from retentive.ranking.dates import nearness
from retentive.ranking.features import ORIGINS, microseconds
from retentive.ranking.filters import passing
from retentive.ranking.lexical import occurrences, pairs_leg, per_row, terms, words_leg
from retentive.ranking.products import cosine
from retentive.ranking.profiles import Profiles
from retentive.ranking.question import Question
from retentive.ranking.retention import Uses
from retentive.ranking.stuffing import stuffed
from retentive.ranking.view import Floats, IndexView, Mask
from retentive.ranking.window import NEXT, NEXT_BUT_ONE, Neighbourhood, share
from retentive.trust import trust
from retentive.types import Filters

STEP = 2.0**-22
"""Parts of a score are multiples of this: their sums are exact, in any order and on every Python."""

_LEAST_SPREAD = 0.02
_FEW = 2
_ROUNDING = 1e-3
_MAX_WORDINGS = 8
_WORDING_GAP = 0.01
_EARNED = ("words", "cosine", "pairs")
_TRUST = np.array([trust(origin) for origin in ORIGINS])


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which part of the ranking is asked for: `limit` from `offset` on of what passes the filters at `now`.

    Memories that score less than `min_score` are left out first; None leaves out none. `uses` says how often
    memories were used and when last, for profiles in which importance fades.
    """

    now: datetime
    filters: Filters = field(default_factory=Filters)
    limit: int = 10
    offset: int = 0
    min_score: float | None = None
    uses: Uses = field(default_factory=dict[str, tuple[int, int]])


@dataclass(frozen=True, slots=True)
class Scored:
    """A memory's id and score, and the parts of the score by name, those of 0 left out; they add up to it.

    `row` is where it stands in the view that was ranked.
    """

    id: str
    score: float
    why: Mapping[str, float]
    row: int


def rank(view: IndexView, question: Question, profiles: Profiles, wanted: Wanted) -> list[Scored]:
    """The memories that answer the question, best first; of equal scores the newer id first.

    A memory is found when a word of the question, or one of like meaning, stands in it or next to it in its
    thread, or when its cosine is above the profile's `min_cosine`. Weights of words and the scale of cosines
    come from the whole living scope, whatever the filters: a filtered ranking is the full one with rows
    struck out.
    """
    if not view.live or wanted.limit <= 0:
        return []
    legs = _Legs(view, question, profiles, wanted)
    rows = np.flatnonzero(legs.found & passing(view, wanted.filters, wanted.now))
    exact = legs.exact(_best(legs.total, rows, wanted.offset + wanted.limit))
    order = exact.order(view.ids)
    if wanted.min_score is not None:
        order = [at for at in order if exact.totals[at] >= wanted.min_score]
    return [exact.scored(at, view.ids) for at in order[wanted.offset : wanted.offset + wanted.limit]]


def _best(total: Floats, rows: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """The rows that may be among the `count` best: those, and any that rounding could put among them."""
    if len(rows) <= count:
        return rows
    scores = total[rows]
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    return rows[scores >= least - _ROUNDING]


@dataclass(frozen=True, slots=True)
class _Exact:
    """Some rows with the parts of their scores, rounded to `STEP`, and the sums of those."""

    rows: NDArray[np.intp]
    parts: Mapping[str, NDArray[np.float64]]
    totals: NDArray[np.float64]

    def order(self, ids: Sequence[str]) -> list[int]:
        """Which of the rows come first: higher score, then newer id."""
        names = [ids[int(row)] for row in self.rows]
        newest_first = sorted(range(len(names)), key=names.__getitem__, reverse=True)
        by_score = np.argsort(-self.totals[newest_first], kind="stable")
        return [newest_first[at] for at in by_score.tolist()]

    def scored(self, at: int, ids: Sequence[str]) -> Scored:
        why = {name: float(part[at]) for name, part in self.parts.items() if part[at]}
        row = int(self.rows[at])
        return Scored(ids[row], float(self.totals[at]), why, row)


def _window(view: IndexView) -> tuple[Neighbourhood, Floats]:
    """How to add the neighbours' cosines, and what to multiply the sums with."""
    shares = share(view.lengths) * view.rated
    weights = (NEXT * shares, NEXT * shares, NEXT_BUT_ONE * shares, NEXT_BUT_ONE * shares)
    scale = 1.0 / np.maximum(view.norms, 1e-6)
    return Neighbourhood(view.neighbours, weights), scale.astype(np.float32)


class _Legs:
    """The parts of every row's score, and their sum."""

    def __init__(self, view: IndexView, question: Question, profiles: Profiles, wanted: Wanted) -> None:
        self._view, self._profiles = view, profiles
        self.parts: dict[str, Floats] = {}
        self.total = np.zeros(view.size, dtype=np.float32)
        asked = terms(view, question)
        found = occurrences(view, asked)
        words = words_leg(view, asked, found, profiles)
        self.found: Mask = words > 0
        self._add("words", words, "words")
        self._add_cosine(question)
        distance = max(profiles.turns.pair_distance, profiles.others.pair_distance)
        if len(asked) > 1 and np.any(self._weight("pairs")):
            self._add("pairs", pairs_leg(view, asked, found, distance), "pairs")
        if len(found.terms):
            self._take_from_stuffed(stuffed(view, asked, found))
        self._add("manner", priors.manner(view, profiles), None)
        self._add("told", priors.told(view, profiles), "told")
        self._add("when", priors.answers_when(view, question), "when")
        self._add("speaker", priors.spoken_by_named(view, question), "speaker")
        self._add("role", priors.said_by_asker(view, question), "role")
        if question.dates and np.any(self._weight("dates")):
            days, day_of = view.days
            self._add("dates", nearness(question.dates, days)[day_of], "dates")
        self._add_static(microseconds(wanted.now), wanted.uses)
        self._put_newer_first()

    def exact(self, rows: NDArray[np.intp]) -> _Exact:
        """The parts of these rows, rounded, so that what is equal scores equal wherever it is stored."""
        parts = {
            name: np.rint(part[rows].astype(np.float64) / STEP) * STEP for name, part in self.parts.items()
        }
        totals = np.zeros(len(rows))
        for part in parts.values():
            totals += part
        return _Exact(rows, parts, totals)

    def _weight(self, name: str) -> np.float32 | Floats:
        return per_row(self._view, self._profiles, name)

    def _add(self, name: str, part: NDArray[np.float32] | Mask | None, weight: str | None) -> None:
        """Add a part, times its weight in each row's profile; None adds nothing."""
        if part is None:
            return
        weighted = part if weight is None else self._weight(weight) * part
        self.parts[name] = weighted.astype(np.float32, copy=False)
        self.total += self.parts[name]

    def _add_cosine(self, question: Question) -> None:
        """Add the cosines, in standard deviations from their mean; without a vector a memory stays there.

        Few memories tell little of how far cosines spread, and a tiny spread is noise: both count for less.
        """
        view, vectors = self._view, self._view.vectors
        if vectors is None or question.vector is None or len(question.vector) != vectors.shape[1]:
            return
        own = cosine(question.vector, vectors)
        cosines = self._windowed(own)
        least = self._weight("min_cosine")
        self.found |= (own > least) | (cosines > least)
        rated = view.keep("rated", lambda: view.rated & view.alive)
        count = view.keep("rated count", lambda: int(np.count_nonzero(rated)))
        if not count:
            return
        off = (cosines - np.float32(cosines.sum(where=rated, dtype=np.float64) / count)) * rated
        spread = float(np.sqrt(np.dot(off, off) / count))
        scale = count / (count + _FEW) / max(spread, _LEAST_SPREAD)
        self._add("cosine", off * np.float32(scale), "cosine")

    def _windowed(self, own: Floats) -> Floats:
        """The cosines with the window vectors, where the profile asks for them and there are neighbours."""
        view, windowed = self._view, self._weight("windowed")
        if not view.has_turns or not np.any(windowed):
            return own
        neighbours, scale = view.keep("window", lambda: _window(view))
        cosines = own.copy()
        neighbours.add_to(cosines, own)
        cosines *= scale
        return cosines if np.all(windowed) else np.where(windowed > 0, cosines, own)

    def _take_from_stuffed(self, how_much: Floats | None) -> None:
        """Take back what words and vector earned a stuffed text, and one point more: others go before it."""
        if how_much is None:
            return
        earned = sum(np.maximum(self.parts[name], 0.0) for name in _EARNED if name in self.parts)
        self._add("stuffed", -how_much * (earned + np.float32(1.0)), "stuffed")

    def _add_static(self, now: int, uses: Uses) -> None:
        """Add importance, what it has lost by fading, and recency."""
        view = self._view
        if np.any(self._weight("importance")):
            self._add("importance", (2.0 * view.column("importance") - 1.0).astype(np.float32), "importance")
        fading = self._weight("importance") * self._weight("fading")
        if np.any(fading):
            kept = priors.retained(view, now, uses, self._weight("fading_half_life_s"))
            lost = 2.0 * fading * view.column("importance") * (1.0 - kept)
            self._add("fading", -lost.astype(np.float32), None)
        if np.any(self._weight("recency")):
            half_life = self._weight("half_life_s") * np.float32(1e6)
            age = np.maximum(now - view.happened, 0).astype(np.float32)
            self._add("recency", np.exp2(-age / half_life).astype(np.float32), "recency")

    def _put_newer_first(self) -> None:
        """Put an older wording just behind the newer one that differs in a fact, if their scores are near.

        A newer one that is trusted less goes behind the older one instead.
        """
        width = self._weight("newer")
        if not len(self._view.older) or not np.any(width):
            return
        newer, older = self._by_trust(*self._view.older.T)
        both = self.found[newer] & self.found[older]
        newer, older = newer[both], older[both]
        near = np.broadcast_to(width, self.total.shape)[older]
        total = self.total.copy()
        for _ in range(_MAX_WORDINGS):
            behind = (total[older] > total[newer] - _WORDING_GAP) & (self.total[older] - total[newer] <= near)
            if not behind.any():
                break
            np.minimum.at(total, older[behind], total[newer[behind]] - np.float32(_WORDING_GAP))
        self._add("newer", total - self.total, None)

    def _by_trust(
        self, newer: NDArray[np.intp], older: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Of each pair the one to come first, and the other."""
        trusted = _TRUST[self._view.column("origin")]
        keep = trusted[newer] >= trusted[older]
        return np.where(keep, newer, older), np.where(keep, older, newer)
