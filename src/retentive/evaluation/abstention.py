"""What `min_confidence` would do: good questions that it loses, and others that it catches.

Each corpus is asked its own questions and those of the next, in which the speakers' names are swapped for
its own: else the names alone would give them away. Some of those may have an answer there by chance.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle

import numpy as np

from retentive.checks import Json
from retentive.errors import InvalidInput
from retentive.evaluation.contenders import Retentive
from retentive.evaluation.dataset import Corpus

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True, slots=True)
class Curve:
    """The confidence in each question: those with an answer, and those about something else."""

    answered: list[float] = field(default_factory=list[float])
    off_topic: list[float] = field(default_factory=list[float])

    def lost(self, least: float) -> float:
        """Percent of the questions with an answer that `min_confidence=least` leaves without hits."""
        return _below(self.answered, least)

    def caught(self, least: float) -> float:
        """Percent of the questions about something else that it leaves without hits."""
        return _below(self.off_topic, least)

    def auc(self) -> float:
        """How often one with an answer has more confidence than one without, a tie being half; .5 is luck."""
        others = np.sort(self.off_topic)
        ranks = [np.searchsorted(others, self.answered, side=side) for side in ("left", "right")]
        return float(np.mean(ranks) / max(len(others), 1))

    def to_json(self) -> dict[str, Json]:
        """The counts, the AUC, and what is lost and caught at each of THRESHOLDS."""
        return {
            "answered": len(self.answered),
            "off_topic": len(self.off_topic),
            "auc": round(self.auc(), 3),
            "below": {
                f"{least:g}": {"lost": round(self.lost(least), 1), "caught": round(self.caught(least), 1)}
                for least in THRESHOLDS
            },
        }


class Doubting:
    """A contender that notes into `curve` how sure the memories of a Retentive are of each question."""

    name = "confidence"

    def __init__(self, base: Retentive, corpora: Sequence[Corpus]) -> None:
        """Take what the base remembers, and its corpora in the order of the run.

        Raises:
            InvalidInput: fewer than two of them have questions.
        """
        asked = [corpus for corpus in corpora if corpus.questions]
        if len(asked) < 2:
            raise InvalidInput(
                "the confidence is measured with the questions of another corpus: take two or more"
            )
        self.curve = Curve()
        self._base = base
        self._next: Mapping[str, Corpus] = {
            corpus.name: asked[(at + 1) % len(asked)] for at, corpus in enumerate(asked)
        }

    async def remember(self, corpus: Corpus) -> None:
        """Ask the questions of the next corpus."""
        memory, other = self._base.memory, self._next[corpus.name]
        for question in other.questions:
            text = swapped(question.text, speakers(other), speakers(corpus))
            found = await memory.recall(text, limit=1, min_confidence=0.0)
            self.curve.off_topic.append(found.confidence or 0.0)

    async def recall(self, question: str, limit: int) -> Sequence[str]:
        """What `Memory.recall` finds."""
        found = await self._base.memory.recall(question, limit=limit, min_confidence=0.0)
        self.curve.answered.append(found.confidence or 0.0)
        return [row for hit in found for row in self._base.rows.get(hit.id, ())][:limit]

    async def forget(self) -> None:
        """Nothing: the memories are the base's."""


def speakers(corpus: Corpus) -> list[str]:
    """The names of those who speak, in the order in which they first do."""
    return list(dict.fromkeys(row.speaker for row in corpus.rows if row.speaker))


def swapped(text: str, names: Sequence[str], others: Sequence[str]) -> str:
    """The text with each of the names replaced by one of the others; the same where there are none."""
    if not names or not others:
        return text
    to = {name.casefold(): other for name, other in zip(names, cycle(others), strict=False)}
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"\b(?:{either})\b", lambda found: to[found[0].casefold()], text, flags=re.IGNORECASE)


def _below(values: Sequence[float], least: float) -> float:
    return 100.0 * sum(value < least for value in values) / max(len(values), 1)
