"""The words leg: BM25 over a memory and its neighbours, with words of like meaning counting in part."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.products import cosines
from retentive.ranking.profiles import Profiles
from retentive.ranking.question import Question
from retentive.ranking.view import Floats, IndexView
from retentive.ranking.window import Neighbourhood

SOFT_FLOOR = 0.2
LEAST_WEIGHT = 0.1
_CELLS_AT_ONCE = 2**17
_TERM = 2**40


@dataclass(frozen=True, slots=True)
class Term:
    """A question word as the scope knows it: the words of its stem (none: unknown), and its weight.

    A speaker's name says whose turns are asked for, not what is in them: it counts in other memories only.
    """

    surface: str
    words: tuple[int, ...]
    idf: float
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Where the terms stand, by term and then place, ascending. A place is one in `IndexView.tokens`."""

    terms: NDArray[np.int64]
    places: NDArray[np.int64]
    rows: NDArray[np.intp]


def terms(view: IndexView, question: Question) -> list[Term]:
    """The question's words, one a stem, in order. If all are names of speakers, all count as plain words."""
    names = view.all_names
    if not any(word.surface not in names for word in question.words):
        names = frozenset[str]()
    elif not view.has_others:
        return [_term(view, *word, is_name=False) for word in _stems(question, names).items()]
    plain = _stems(question, names)
    return [
        _term(view, stem, plain.get(stem, surface), is_name=stem not in plain)
        for stem, surface in _stems(question, frozenset()).items()
    ]


def _stems(question: Question, without: frozenset[str]) -> dict[str, str]:
    """The first word of each stem, in order."""
    stems: dict[str, str] = {}
    for word in question.words:
        if word.surface not in without:
            stems.setdefault(word.stem, word.surface)
    return stems


def _term(view: IndexView, stem: str, surface: str, *, is_name: bool) -> Term:
    number = view.vocabulary.stem_number(stem)
    known = 0 <= number < len(view.holding)
    holding = int(view.holding[number]) if known else 0
    words = tuple(view.vocabulary.words_of(number, view.words)) if known else ()
    return Term(surface, words, float(np.log1p((view.live - holding + 0.5) / (holding + 0.5))), is_name)


def occurrences(view: IndexView, terms: list[Term]) -> Occurrences:
    """Every place where a term's stem stands."""
    numbered = [(word, number) for number, term in enumerate(terms) for word in term.words]
    found = [view.postings.places_of(word) + np.int64(number * _TERM) for word, number in numbered]
    tail = view.tokens[view.postings.until :]
    if len(tail) and numbered:
        words, numbers = np.array(sorted(numbered), dtype=np.int64).T
        at = np.minimum(np.searchsorted(words, tail), len(words) - 1)
        places = np.flatnonzero(words[at] == tail)
        found.append(numbers[at[places]] * _TERM + places + view.postings.until)
    keys = np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)
    places = keys % _TERM
    return Occurrences(keys // _TERM, places, view.token_rows[places].astype(np.intp))


def words_leg(view: IndexView, terms: list[Term], found: Occurrences, profiles: Profiles) -> Floats:
    """What the words add to each row's score before the leg's weight; 0 exactly where nothing matches."""
    score = np.zeros(view.size, dtype=np.float32)
    if not terms:
        return score
    weights = _Weights.of(view, profiles)
    soft_share = weights.soft_share(terms)
    names = np.array([term.is_name for term in terms])
    alike = _alike(view, terms) if weights.is_soft else None
    idf = np.array([term.idf for term in terms], dtype=np.float32)[:, None]
    keys = found.terms * view.size + found.rows
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    keys, counts = keys[firsts], np.diff(firsts, append=len(keys)).astype(np.float32)
    step = max(1, _CELLS_AT_ONCE // view.size)
    for begin in range(0, len(terms), step):
        end = min(begin + step, len(terms))
        low, high = np.searchsorted(keys, (begin * view.size, end * view.size))
        at, times = keys[low:high] - begin * view.size, counts[low:high]
        cells = np.zeros((end - begin, view.size), dtype=np.float32)
        if alike is None or np.any(soft_share < 1.0):
            cells.reshape(-1)[at] = times
            blended = weights.saturated(cells)
            if alike is not None:
                blended *= 1.0 - soft_share
                blended += soft_share * _soft(view, alike[begin:end], weights, (at, times))
        else:
            blended = _soft(view, alike[begin:end], weights, (at, times))
        blended *= idf[begin:end]
        blended[names[begin:end]] *= ~view.turns
        score += blended.sum(axis=0)
    return score


def pairs_leg(view: IndexView, terms: list[Term], found: Occurrences, distance: int) -> Floats:
    """For each row, the sum over adjoining question words, names apart, of the lesser weight by distance."""
    score = np.zeros(view.size, dtype=np.float32)
    plain = [term for term in terms if not term.is_name]
    place_of = np.cumsum([not term.is_name for term in terms]) - 1
    counted = np.flatnonzero(~np.array([term.is_name for term in terms])[found.terms])
    order = counted[np.argsort(found.places[counted])]
    places, numbers, rows = found.places[order], place_of[found.terms[order]], found.rows[order]
    met: list[NDArray[np.int64]] = []
    for lag in range(1, distance + 1):
        apart = places[lag:] - places[:-lag]
        beside = np.abs(numbers[lag:] - numbers[:-lag]) == 1
        at = np.flatnonzero((apart <= distance) & beside & (rows[lag:] == rows[:-lag]))
        if len(at):
            pair = np.minimum(numbers[at], numbers[at + lag])
            met.append((rows[at] * len(plain) + pair) * (distance + 1) + apart[at])
    if met:
        keys = np.sort(np.concatenate(met))
        cells = keys // (distance + 1)
        nearest = np.flatnonzero(np.diff(cells, prepend=-1))
        lesser = np.array([min(one.idf, other.idf) for one, other in pairwise(plain)])
        gains = lesser[cells[nearest] % len(plain)] / (keys[nearest] % (distance + 1))
        np.add.at(score, cells[nearest] // len(plain), gains.astype(np.float32))
    return score


class _Weights:
    """The profiles' constants as arrays over rows, or as plain numbers where one profile scores all rows."""

    def __init__(self, view: IndexView, profiles: Profiles) -> None:
        self._view, self._profiles = view, profiles
        self.soft = self._pick("soft")
        self._soft_words = self._pick("soft_words")
        self.is_soft = bool(np.any(self.soft))
        self._saturation = self._pick("saturation")
        self._grown = np.float32(1.0) + self._saturation
        lengths = view.lengths.astype(np.float32)
        floored = np.maximum(lengths, self._pick("length_floor"))
        mean = float(floored.sum(where=view.alive, dtype=np.float64)) / max(view.live, 1)
        length = self._pick("length")
        self._inverse_norm = (1.0 / ((1.0 - length) + length * floored / max(mean, 1e-9))).astype(np.float32)
        needs = np.minimum(1.0, self._pick("neighbour_words") / np.maximum(lengths, 1.0))
        before = needs * self._pick("before") * (1.0 + self._pick("answer") * view.questions_before)
        shares = [before, needs * self._pick("after"), *[needs * self._pick("second")] * 2]
        self._neighbours = Neighbourhood(view.neighbours, [share.astype(np.float32) for share in shares])

    @staticmethod
    def of(view: IndexView, profiles: Profiles) -> "_Weights":
        return view.keep(("words", profiles), lambda: _Weights(view, profiles))

    def soft_share(self, terms: list[Term]) -> np.float32 | Floats:
        """How much soft matches count in each row, by how many terms count there; exact ones are the rest."""
        plain = sum(not term.is_name for term in terms)
        count = np.float32(plain) if plain == len(terms) else np.where(self._view.turns, plain, len(terms))
        return np.minimum(np.float32(1.0), self._soft_words / np.asarray(count, dtype=np.float32))

    def saturated(self, cells: Floats) -> Floats:
        """The matches (in place), made relative to length, with the neighbours' added, saturated."""
        cells *= self._inverse_norm
        total = cells
        if self._neighbours:
            total = cells.copy()
            self._neighbours.add_to(total, cells)
        rest = total + self._saturation
        total *= self._grown
        total /= rest
        return total

    def _pick(self, name: str) -> np.float32 | Floats:
        return per_row(self._view, self._profiles, name)


def per_row(view: IndexView, profiles: Profiles, name: str) -> np.float32 | Floats:
    """A profile's constant for each row; one number where all living rows have the same."""
    turn, other = np.float32(getattr(profiles.turns, name)), np.float32(getattr(profiles.others, name))
    if turn == other or not view.has_others:
        return turn
    return np.where(view.turns, turn, other) if view.has_turns else other


def word_weights(view: IndexView) -> Floats:
    """The weight (idf) of the stem of each word of the scope."""
    return view.keep("word weights", lambda: _word_weights(view))


def _word_weights(view: IndexView) -> Floats:
    holding = view.holding.astype(np.float32)
    stems = np.log1p((view.live - holding + np.float32(0.5)) / (holding + np.float32(0.5)))
    return stems[view.vocabulary.stem_of.array[: view.words]]


def _alike(view: IndexView, terms: list[Term]) -> Floats:
    """For each term and each word of the scope from 0 to 1 how alike they are, 0 below `SOFT_FLOOR`.

    A word that is more common here than the term counts for less, in proportion of their weights: that "good"
    stands somewhere says little about who was asked for as "kind".
    """
    vocabulary = view.vocabulary
    if vocabulary.vectors is None:
        return np.zeros((len(terms), view.words), dtype=np.float32)
    asked = np.asarray(vocabulary.word_vectors.words([term.surface for term in terms]), dtype=np.float32)
    alike = cosines(asked, vocabulary.vectors.array[: view.words])
    alike -= np.float32(SOFT_FLOOR)
    alike *= np.float32(1.0 / (1.0 - SOFT_FLOOR))
    np.clip(alike, 0.0, 1.0, out=alike)
    weights = np.array([max(term.idf, LEAST_WEIGHT) for term in terms], dtype=np.float32)
    alike *= np.minimum(1.0, word_weights(view) / weights[:, None])
    return alike


def _soft(
    view: IndexView, alike: Floats, weights: _Weights, exact: tuple[NDArray[np.int64], Floats]
) -> Floats:
    """The saturated matches of some terms (rows of `alike`), where alike words count in part."""
    cells = np.zeros((len(alike), view.size), dtype=np.float32)
    flat = cells.reshape(-1)
    tail = alike[:, view.tokens[view.postings.until :]]
    alike = alike[:, : view.postings.words]
    which = np.flatnonzero(alike)
    values = alike.reshape(-1)[which] if alike.flags.c_contiguous else alike.ravel()[which]
    ascending = np.argsort(values)
    numbers, words = np.divmod(which[ascending], max(1, alike.shape[1]))
    view.postings.spread(words, numbers * view.size, values[ascending], flat)
    number, place = np.nonzero(tail)
    rows = view.token_rows[view.postings.until :][place]
    np.maximum.at(flat, number * view.size + rows, tail[number, place])
    cells *= weights.soft
    at, times = exact
    flat[at] = np.maximum(flat[at], times)
    return weights.saturated(cells)
