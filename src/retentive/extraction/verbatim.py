"""Extraction without a model: what the user said, word for word."""

from collections.abc import Sequence

from retentive.extraction.base import Excerpt, Statement
from retentive.extraction.small_talk import nothing_to_keep
from retentive.types import MemoryKind


class VerbatimExtractor:
    """Keeps each turn of the user's as an episodic memory, but for small talk.

    Needs no model and no network. Such memories are ranked with their neighbours in the thread.
    """

    needs_model = False

    async def extract(self, excerpt: Excerpt) -> Sequence[Statement]:
        """One statement for each turn of the user's that is not small talk, in their order."""
        return [
            Statement(content=turn.content, kind=MemoryKind.EPISODIC, turns=(turn.seq,))
            for turn in excerpt.turns
            if turn.role == "user" and not nothing_to_keep([turn])
        ]
