"""What an extractor must do: read an excerpt of a conversation and give what is worth keeping of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from retentive.types import MemoryItem, MemoryKind, Turn

EXTRACTED_KINDS = (MemoryKind.SEMANTIC, MemoryKind.EPISODIC, MemoryKind.PROCEDURAL)
"""The kinds that an extractor may give; the others end by themselves: nobody would find them."""


class Decision(StrEnum):
    """How a statement stands to what is known already."""

    NEW = "new"
    RESTATES = "restates"
    SUPERSEDES = "supersedes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing worth keeping, as an extractor gives it. It is checked before anything is written.

    `turns` are the numbers of the turns it comes from. `target` is the id of the known memory that it
    restates or supersedes; None for a new one. Who said it is not the extractor's to say: that follows from
    the turns.
    """

    content: str
    kind: MemoryKind | str = MemoryKind.SEMANTIC
    importance: float = 0.5
    subject: str | None = None
    turns: Sequence[int] = ()
    decision: Decision | str = Decision.NEW
    target: str | None = None
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A stretch of a conversation to draw from.

    `turns` are what to draw from, `before` what was said just before them: it helps to understand, and was
    drawn from already. `known` are living memories of the same scope, nearest first. `model` is the run's
    own, for an extractor that has none; None where there is no run.
    """

    turns: Sequence[Turn]
    before: Sequence[Turn] = ()
    known: Sequence[MemoryItem] = ()
    model: object | None = None


class Extractor(Protocol):
    """Finds what is worth keeping."""

    needs_model: bool
    """Whether it asks a model; if so, it is not asked about small talk."""

    async def extract(self, excerpt: Excerpt) -> Sequence[Statement]:
        """The statements of an excerpt, the most important first; empty when nothing is worth keeping.

        Raises:
            ExtractionError: it could not tell; the same excerpt will come again.
            InvalidInput: it cannot be asked at all, such as without a model.
        """
        ...
