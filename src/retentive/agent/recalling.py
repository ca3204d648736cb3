"""Recall for a run: within its budget of hits, tokens and time, and never the end of the run."""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from retentive.errors import RetentiveError
from retentive.memory import Memory
from retentive.ranking.render import parse
from retentive.recall import Recall
from retentive.types import MemoryHit, MemoryKind, Origin

EMBEDDER_SHARE: Final = 0.7
"""The part of the time for recall that the embedder may take; what is left is for the words alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallBudget:
    """What a recall in a run may give and take: memories, tokens (an estimate), ms; and from whom."""

    hits: int
    tokens: int
    ms: float
    kinds: tuple[MemoryKind, ...] | None = None
    min_trust: Origin | None = None


async def recall_within(
    memory: Memory, text: str, user_id: str | None, budget: RecallBudget, failed: Callable[[str, str], None]
) -> Recall:
    """What bears on the text, best first, within the budget; empty and `degraded` where that fails.

    A slow or failing embedder leaves the words to decide. A store that cannot be read, or not in time, leaves
    nothing; `failed` is told the verb and why.
    """
    limit_s = budget.ms / 1_000
    started = time.perf_counter()
    try:
        async with asyncio.timeout(limit_s):
            return await memory.recall(
                text,
                user_id=user_id,
                kinds=budget.kinds,
                min_trust=budget.min_trust,
                limit=budget.hits,
                patience_s=limit_s * EMBEDDER_SHARE,
            )
    except TimeoutError:
        why = f"no answer within {time.perf_counter() - started:.1f} s; the run goes on without"
    except RetentiveError as error:
        why = f"{type(error).__name__}: {error}"
    failed("recall", why)
    return Recall((), query=text, degraded={"recall": why})


def shown(recall: Recall, known: Callable[[MemoryHit], bool], tokens: int) -> tuple[Recall, str]:
    """The hits that the model is shown, and the block that shows them; empty when none is.

    Left out are those the request holds anyway (`known`), repeats of a text, and what does not fit.
    """
    hits = _first_of_each(hit for hit in recall if not known(hit))
    block = _part(recall, hits).render(tokens)
    contents = set(parse(block))
    return _part(recall, [hit for hit in hits if hit.content in contents]), block


def _first_of_each(hits: Iterable[MemoryHit]) -> list[MemoryHit]:
    first: dict[str, MemoryHit] = {}
    for hit in hits:
        first.setdefault(hit.content.strip(), hit)
    return list(first.values())


def _part(recall: Recall, hits: list[MemoryHit]) -> Recall:
    return Recall(
        hits,
        query=recall.query,
        degraded=recall.degraded,
        confidence=recall.confidence,
        abstained=recall.abstained,
    )
