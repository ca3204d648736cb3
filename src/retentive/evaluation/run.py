"""The benchmark itself: each contender is given each corpus and asked its questions."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from retentive.evaluation.contenders import Contender
from retentive.evaluation.dataset import Corpus
from retentive.evaluation.metrics import DEPTH, Judged, judge


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of one contender. `recall_s` holds the time of each question, end to end, in order."""

    name: str
    judged: list[Judged] = field(default_factory=list[Judged])
    memories: int = 0
    remember_s: float = 0.0
    recall_s: list[float] = field(default_factory=list[float])

    def latency_ms(self) -> dict[str, float]:
        """Median and 95th percentile of one recall."""
        p50, p95 = np.percentile(self.recall_s, [50, 95])
        return {"p50": round(1e3 * float(p50), 3), "p95": round(1e3 * float(p95), 3)}

    def throughput(self) -> dict[str, float]:
        """Memories remembered and questions answered in a second, one after the other."""
        return {
            "remember_per_s": round(self.memories / max(self.remember_s, 1e-9), 1),
            "recall_per_s": round(len(self.recall_s) / max(sum(self.recall_s), 1e-9), 1),
        }


def steps(corpora: Sequence[Corpus], contenders: int) -> int:
    """How often `run` calls `advance` in all, counted in what it passes."""
    return contenders * sum(len(corpus.rows) + len(corpus.questions) for corpus in corpora)


async def run(
    corpora: Sequence[Corpus], contenders: Sequence[Contender], advance: Callable[[int], None]
) -> list[Outcome]:
    """What came of each contender, in order.

    On one corpus all have their turn, in order, before any lets go of it; then comes the next corpus.
    `advance` is told of each memory given and each question asked.
    """
    outcomes = [Outcome(name=contender.name) for contender in contenders]
    for corpus in corpora:
        if not corpus.questions:
            advance(steps([corpus], len(contenders)))
            continue
        try:
            for contender, outcome in zip(contenders, outcomes, strict=True):
                await _measure(contender, corpus, outcome, advance)
        finally:
            for contender in reversed(contenders):
                await contender.forget()
    return outcomes


async def _measure(
    contender: Contender, corpus: Corpus, outcome: Outcome, advance: Callable[[int], None]
) -> None:
    began = time.perf_counter()
    await contender.remember(corpus)
    outcome.remember_s += time.perf_counter() - began
    outcome.memories += len(corpus.rows)
    advance(len(corpus.rows))
    for question in corpus.questions:
        began = time.perf_counter()
        hits = await contender.recall(question.text, DEPTH)
        outcome.recall_s.append(time.perf_counter() - began)
        values = judge(hits, question.gold)
        outcome.judged.append(Judged(corpus=corpus.name, category=question.category, values=values))
        advance(1)
