"""What a reembed tells: apart from the work, which needs numpy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reembedded:
    """What a reembed did.

    `embedder` is the fingerprint that all are to have, `before` how many had which other one, or none (under
    None). `moved` counts the memories that have new vectors, `failed` those that could not be moved, by the
    reason; `left` those that still have another fingerprint at the end, failed or written meanwhile.
    """

    embedder: str
    before: Mapping[str | None, int]
    moved: int = 0
    failed: Mapping[str, int]
    left: int = 0

    @property
    def scanned(self) -> int:
        """How many memories were to be moved when it began."""
        return sum(self.before.values())
