"""How likely it is that a scope speaks at all of what is asked: a guess at "off topic", nothing more.

It tells questions about something else apart. It cannot tell that a question on a topic which does come up
has no answer: no score of this ranking can (measured: AUC .48 to .62). Nor that what it asks about one person
was said of another: the words are there.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.lexical import SOFT_FLOOR, Term, terms
from retentive.ranking.products import cosines
from retentive.ranking.profiles import Profiles
from retentive.ranking.question import Question
from retentive.ranking.score import Scored, Wanted, rank
from retentive.ranking.view import Floats, IndexView

COVERED_BY = 10
SOFT = 0.5

MIDDLE, SLOPE = 0.47, 7.3
"""Fitted on five conversations of LoCoMo: their questions against those of the next with the names swapped.

On the other five: AUC .84; below .2 lie 7% of their own questions and 44% of the others; below .3 15%, 66%.
What the first five cover together and the cosine were tried beside it, and gain nothing (AUC .84 as well).
"""


def rank_and_judge(
    view: IndexView, question: Question, profiles: Profiles, wanted: Wanted
) -> tuple[list[Scored], float]:
    """What `rank` gives, and the confidence in it: the same whatever limit, offset and `min_score` are.

    0 where nothing passes the filters and bears on the question.
    """
    count = max(wanted.offset + wanted.limit, COVERED_BY)
    ranked = rank(view, question, profiles, replace(wanted, limit=count, offset=0, min_score=None))
    sure = confidence(coverage(view, question, [one.row for one in ranked])) if ranked else 0.0
    if wanted.min_score is not None:
        ranked = [one for one in ranked if one.score >= wanted.min_score]
    return ranked[wanted.offset : wanted.offset + wanted.limit], sure


def confidence(covered: float) -> float:
    """From 0 to 1 how likely the memories speak of what is asked, when that much of it is covered."""
    return 1.0 / (1.0 + math.exp(-SLOPE * (covered - MIDDLE)))


def coverage(view: IndexView, question: Question, best: Sequence[int]) -> float:
    """How much of the question the best single one of the first `COVERED_BY` memories holds, from 0 to 1.

    `best` are the rows of its ranking, the first one first. Words count by their weight; those of like
    meaning in part. 0 where there is nothing to compare: no memories, no words in the question.
    """
    asked = terms(view, question)
    weight = np.array([term.idf for term in asked])
    if not best or weight.sum() <= 0:
        return 0.0
    words = np.asarray(view.vocabulary.word_vectors.words([term.surface for term in asked]), dtype=np.float32)
    found = [
        np.maximum(_held(asked, inside), _alike(view, words, inside))
        for inside in (_tokens(view, row) for row in best[:COVERED_BY])
    ]
    return min(float((np.array(found) @ weight).max() / weight.sum()), 1.0)


def _tokens(view: IndexView, row: int) -> NDArray[np.int64]:
    begin = int(view.begins[row])
    return view.tokens[begin : begin + int(view.lengths[row])].astype(np.int64)


def _held(asked: Sequence[Term], inside: NDArray[np.int64]) -> Floats:
    """For each term 1 where its stem stands among the words, else 0."""
    words = set(inside.tolist())
    return np.array([not words.isdisjoint(term.words) for term in asked], dtype=np.float32)


def _alike(view: IndexView, words: Floats, inside: NDArray[np.int64]) -> Floats:
    """For each term from 0 to `SOFT` how like in meaning the nearest of the words is."""
    vectors = view.vocabulary.vectors
    if vectors is None or not len(inside):
        return np.zeros(len(words), dtype=np.float32)
    nearest = cosines(words, vectors.array[inside]).max(axis=1)
    return (SOFT * np.clip((nearest - SOFT_FLOOR) / (1.0 - SOFT_FLOOR), 0.0, 1.0)).astype(np.float32)
