"""How good a ranked list is, and how that is averaged."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

METRICS = ("ndcg@10", "recall@5", "recall@10", "recall@20", "hit@10", "mrr")
DEPTH = 20
ADVERSARIAL = "adversarial"

Values: TypeAlias = Mapping[str, float]
Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How well one question was answered: `values` are those of METRICS, each from 0 to 1."""

    corpus: str
    category: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The means in percent, by metric. `per_category` is in alphabetical order."""

    macro: Values
    micro: Values
    per_category: Mapping[str, Values]


def judge(hits: Sequence[str], gold: Collection[str]) -> tuple[float, ...]:
    """The METRICS of a ranked list, best first, each from 0 to 1; only its first DEPTH ids count.

    An id that comes again counts where it came first. NDCG has gain 1 for each right id, and the ideal list
    has all right ids in front. MRR is 0 if no right id is among the first DEPTH.

    Raises:
        ValueError: there is no right id.
    """
    right = set(gold)
    if not right:
        raise ValueError("a question without evidence cannot be judged")
    ranked = list(dict.fromkeys(hits))[:DEPTH]
    places = [place for place, hit in enumerate(ranked, start=1) if hit in right]
    gained = sum(1 / math.log2(place + 1) for place in places if place <= 10)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(right), 10) + 1))
    recall = [sum(place <= k for place in places) / len(right) for k in (5, 10, 20)]
    hit = float(bool(places) and places[0] <= 10)
    return (gained / ideal, *recall, hit, 1 / places[0] if places else 0.0)


def table(judged: Sequence[Judged]) -> Table:
    """The means: of each category, of the categories' means (macro), and of the questions (micro).

    Where there is a category "adversarial", micro leaves it out, unless there is no other.
    """
    categories = categories_of(judged)
    sums, counts = totals(judged, categories)
    macro, micro, each = means(sums, counts, in_micro(categories))
    return Table(
        macro=percent(macro),
        micro=percent(micro),
        per_category={category: percent(row) for category, row in zip(categories, each, strict=True)},
    )


def categories_of(judged: Sequence[Judged]) -> list[str]:
    """The categories, in alphabetical order."""
    return sorted({one.category for one in judged})


def in_micro(categories: Sequence[str]) -> NDArray[np.bool_]:
    """Which categories' questions micro takes in."""
    kept = np.array([category != ADVERSARIAL for category in categories])
    return kept if kept.any() else ~kept


def totals(judged: Sequence[Judged], categories: Sequence[str]) -> tuple[Array, Array]:
    """The sums of the metrics by category, and the number of questions."""
    sums, counts = np.zeros((len(categories), len(METRICS))), np.zeros(len(categories))
    row = {category: at for at, category in enumerate(categories)}
    for one in judged:
        sums[row[one.category]] += one.values
        counts[row[one.category]] += 1
    return sums, counts


def means(sums: Array, counts: Array, kept: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
    """Macro, micro and per category, from sums (..., categories, metrics) and counts (..., categories).

    A category without a question has no mean (NaN) and no part in macro; likewise micro without questions.
    """
    with np.errstate(invalid="ignore"):
        each = sums / counts[..., None]
        present = (counts > 0)[..., None]
        macro = np.where(present, each, 0.0).sum(axis=-2) / present.sum(axis=-2)
        micro = sums[..., kept, :].sum(axis=-2) / counts[..., kept].sum(axis=-1)[..., None]
    return macro, micro, each


def percent(row: Array) -> Values:
    """The metrics by name, in percent with two decimals."""
    return {name: round(100 * float(value), 2) for name, value in zip(METRICS, row, strict=True)}
