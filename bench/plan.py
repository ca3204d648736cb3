"""What a run is given."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where to put data, and whether to be quick about it. `work` is removed at the end, `kept` is not."""

    work: Path
    kept: Path
    quick: bool
    seed: int

    def pick(self, full: T, quick: T) -> T:
        """The first, or the second when quick."""
        return quick if self.quick else full
