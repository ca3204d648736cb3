"""How likely it is that a scope speaks at all of what is asked: a guess at "off topic", nothing more.

It tells questions about something else apart. It cannot tell that a question on a topic which does come up
has no answer: no score of this ranking can (measured: AUC .48 to .62).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.lexical import SOFT_FLOOR, Term, terms
from retentive.ranking.products import cosines
from retentive.ranking.question import Question
from retentive.ranking.view import Floats, IndexView

COVERED_BY = 10
JOINED_BY = 5
SOFT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The logistic model over the three signals; fitted, not derived."""

    covered: float
    joined: float
    cosine: float
    bias: float


POTION = Weights(covered=3.31, joined=2.80, cosine=7.19, bias=-7.62)
"""Fitted with potion-base-8M on the questions of LoCoMo, asked of their own and of other conversations.

With the vectors that ship, of 1,540 questions, half of them of another conversation with the speakers' names
swapped: AUC .84; below .2 lie 2% of the right questions and 24% of the others, below .3 6% and 42%.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What the confidence is made of.

    Attributes:
        covered: how much of the question, by weight of its words, the best single one of the first
            COVERED_BY memories holds; words of like meaning count in part. 0 to 1.
        joined: how much of it the first JOINED_BY hold together; a word that none of them holds counts as
            its highest cosine with one of theirs. At most 1.
        cosine: the highest cosine of the question with a single living memory; 0 without vectors.
    """

    covered: float
    joined: float
    cosine: float


def confidence(signals: Signals, weights: Weights = POTION) -> float:
    """From 0 to 1 how likely the memories speak of what is asked."""
    logit = (
        weights.covered * signals.covered
        + weights.joined * signals.joined
        + weights.cosine * signals.cosine
        + weights.bias
    )
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else 1.0 - 1.0 / (1.0 + math.exp(logit))


def signals(view: IndexView, question: Question, best: Sequence[str]) -> Signals:
    """The signals of a question whose ranking begins with the ids in `best`, the first one first.

    Zeros where there is nothing to compare: no memories, no words in the question.
    """
    rows = _rows_of(view, best[:COVERED_BY])
    asked = terms(view, question)
    covered = joined = 0.0
    weight = np.array([term.idf for term in asked])
    if rows and weight.sum() > 0:
        weight /= weight.sum()
        held = np.array([_held(view, asked, row) for row in rows])
        alike = np.array([_alike(view, asked, row) for row in rows])
        soft = SOFT * np.clip((alike - SOFT_FLOOR) / (1.0 - SOFT_FLOOR), 0.0, 1.0)
        covered = float((np.maximum(held, soft) @ weight).max())
        joined = float(np.maximum(held, alike)[:JOINED_BY].max(axis=0) @ weight)
    return Signals(covered=covered, joined=joined, cosine=_nearest(view, question))


def _rows_of(view: IndexView, ids: Sequence[str]) -> list[int]:
    wanted = set(ids)
    found = {name: row for row, name in enumerate(view.ids) if name in wanted and view.alive[row]}
    return [found[name] for name in ids if name in found]


def _tokens(view: IndexView, row: int) -> NDArray[np.int64]:
    begin = int(view.begins[row])
    return view.tokens[begin : begin + int(view.lengths[row])].astype(np.int64)


def _held(view: IndexView, asked: Sequence[Term], row: int) -> Floats:
    """For each term 1 where its stem stands in the row, else 0."""
    inside = set(_tokens(view, row).tolist())
    return np.array([not inside.isdisjoint(term.words) for term in asked], dtype=np.float32)


def _alike(view: IndexView, asked: Sequence[Term], row: int) -> Floats:
    """For each term the highest cosine with a word of the row."""
    vocabulary, inside = view.vocabulary, _tokens(view, row)
    if vocabulary.vectors is None or not len(inside):
        return np.zeros(len(asked), dtype=np.float32)
    words = np.asarray(vocabulary.word_vectors.words([term.surface for term in asked]), dtype=np.float32)
    return np.minimum(cosines(words, vocabulary.vectors.array[inside]).max(axis=1), 1.0)


def _nearest(view: IndexView, question: Question) -> float:
    rated = view.rated & view.alive
    if view.vectors is None or question.vector is None or not rated.any():
        return 0.0
    return float((view.vectors @ question.vector)[rated].max())
