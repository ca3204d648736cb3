"""How far the means could be off: percentile intervals from resampled conversations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from retentive.evaluation.metrics import (
    METRICS,
    Array,
    Judged,
    categories_of,
    in_micro,
    means,
    percent,
    totals,
)

RESAMPLES = 2_000
LEVEL = 95

Bounds: TypeAlias = Mapping[str, tuple[float, float]]
Unit: TypeAlias = Literal["corpora", "questions"]
_BLOCK = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Lower and upper bound in percent, by metric. `over` says what was drawn, by row.

    Its keys are "macro", "micro" and the categories: "corpora" where the row's questions come from several
    corpora, else "questions".
    """

    macro: Bounds
    micro: Bounds
    per_category: Mapping[str, Bounds]
    over: Mapping[str, Unit]


def intervals(judged: Sequence[Judged], *, seed: int, resamples: int = RESAMPLES) -> Intervals:
    """The intervals of the means that `metrics.table` gives; the same for the same seed.

    Corpora are drawn with replacement, as many as there are, each with all its questions; the interval is the
    middle LEVEL percent. Where a row rests on one corpus only, questions are drawn instead, which leaves out
    how much conversations differ: such an interval is too narrow.
    """
    categories = categories_of(judged)
    by_corpus = _grouped(judged)
    whole = _bounds(
        by_corpus if len(by_corpus) > 1 else [[one] for one in judged], categories, seed, resamples
    )
    over: dict[str, Unit] = {"macro": "corpora", "micro": "corpora"}
    if len(by_corpus) == 1:
        over = {"macro": "questions", "micro": "questions"}
    per_category: dict[str, Bounds] = {}
    for category in categories:
        own = [one for one in judged if one.category == category]
        is_shared = len({one.corpus for one in own}) > 1
        over[category] = "corpora" if is_shared else "questions"
        groups = _grouped(own) if is_shared else [[one] for one in own]
        per_category[category] = _bounds(groups, [category], seed, resamples)[0]
    return Intervals(macro=whole[0], micro=whole[1], per_category=per_category, over=over)


def _grouped(judged: Iterable[Judged]) -> list[list[Judged]]:
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(one.corpus, []).append(one)
    return list(groups.values())


def _bounds(
    groups: Sequence[Sequence[Judged]], categories: Sequence[str], seed: int, resamples: int
) -> tuple[Bounds, Bounds]:
    """The bounds of macro and micro over these categories."""
    summed = [totals(group, categories) for group in groups]
    sums, counts = np.stack([one[0] for one in summed]), np.stack([one[1] for one in summed])
    kept, draw = in_micro(categories), np.random.default_rng(seed)
    evenly = np.full(len(groups), 1 / len(groups))
    macros: list[Array] = []
    micros: list[Array] = []
    for begin in range(0, resamples, _BLOCK):
        times = draw.multinomial(len(groups), evenly, size=min(_BLOCK, resamples - begin)).astype(np.float64)
        macro, micro, _ = means(np.tensordot(times, sums, 1), times @ counts, kept)
        macros.append(macro)
        micros.append(micro)
    return _percentiles(np.concatenate(macros)), _percentiles(np.concatenate(micros))


def _percentiles(drawn: Array) -> Bounds:
    drawn = drawn[~np.isnan(drawn).any(axis=-1)]
    tail = (100 - LEVEL) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail], axis=0)
    lower, upper = percent(low), percent(high)
    return {name: (lower[name], upper[name]) for name in METRICS}
