"""A scope as it is at one moment, as `rank` reads it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.features import ASKS, IS_TURN, NO_TIME
from retentive.ranking.postings import Numbers, Postings
from retentive.ranking.vocabulary import Vocabulary
from retentive.text import tokens

_T = TypeVar("_T")
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

ROLES = frozenset({"user", "assistant", "system", "narrator", "tool", "human", "ai"})
NAME_CHARS = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndexView:
    """Immutable. Row 0 is no memory; some others may be dead.

    `older` has rows (newer, older wording).
    `successor_of` gives, by the row of each superseded memory, the id of the one that took its place.

    What is worked out from it for a profile is kept in it, so the second question costs less than the first.
    """

    size: int
    live: int
    ids: Sequence[str]
    heads: NDArray[Any]
    alive: Mask
    rated: Mask
    makers: NDArray[np.int32]
    embedders: Sequence[str | None]
    lengths: NDArray[np.int32]
    begins: NDArray[np.intp]
    neighbours: NDArray[np.intp]
    norms: Floats
    vectors: Floats | None
    tokens: Numbers
    token_rows: Numbers
    postings: Postings
    vocabulary: Vocabulary
    words: int
    holding: NDArray[np.int64]
    speaker: NDArray[np.int32]
    speakers: Sequence[str]
    speaking: Sequence[bool]
    tagged: Mapping[str, list[int]]
    older: NDArray[np.intp]
    successor_of: Mapping[int, str]
    _kept: dict[object, Any] = field(default_factory=dict[object, Any], init=False, repr=False)

    def __len__(self) -> int:
        return self.live

    @property
    def outdated(self) -> Mapping[str | None, int]:
        """How many living memories each other embedder has embedded; under None those that none has, yet.

        They are found by their words alone.
        """
        return self.keep("outdated", self._count_outdated)

    def outdated_ids(self, *, of: Sequence[str | None] | None = None) -> list[str]:
        """The ids of the memories that `outdated` counts, sorted; `of` those embedders alone."""
        wanted = [
            number for number, name in enumerate(self.embedders) if number and (of is None or name in of)
        ]
        return sorted(
            self.ids[row] for row in np.flatnonzero(self.alive & np.isin(self.makers, wanted)).tolist()
        )

    def _count_outdated(self) -> dict[str | None, int]:
        counts = np.bincount(self.makers[self.alive], minlength=len(self.embedders)).tolist()
        return {
            name: counts[number] for number, name in enumerate(self.embedders) if number and counts[number]
        }

    def keep(self, key: object, make: Callable[[], _T]) -> _T:
        """What `make` gives, made once for each key."""
        if key not in self._kept:
            self._kept[key] = make()
        return cast("_T", self._kept[key])

    def column(self, name: str) -> NDArray[Any]:
        """One fixed field of all rows, contiguous."""
        return self.keep(name, lambda: np.ascontiguousarray(self.heads[name]))

    def flag(self, flag: int) -> Mask:
        """Which rows have the flag."""
        return self.keep(("flag", flag), lambda: (self.column("flags") & flag) != 0)

    @property
    def successors(self) -> Mapping[str, str]:
        """By the id of each superseded memory the id of the one that took its place, there still or not."""
        return self.keep(
            "successors", lambda: {self.ids[row]: other for row, other in self.successor_of.items()}
        )

    @property
    def turns(self) -> Mask:
        """Which rows are turns of conversations."""
        return self.flag(IS_TURN)

    @property
    def has_turns(self) -> bool:
        """Whether a living row is a turn."""
        return self.keep("has turns", lambda: bool((self.turns & self.alive).any()))

    @property
    def has_others(self) -> bool:
        """Whether a living row is not a turn."""
        return self.keep("has others", lambda: bool((self.alive & ~self.turns).any()))

    @property
    def happened(self) -> NDArray[np.int64]:
        """When each memory happened, or was created where that is not known, in microseconds since 1970."""
        return self.keep("happened", self._happened)

    @property
    def days(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """The days on which memories happened, counted from 1970-01-01, ascending; each row's place there."""
        return self.keep("days", lambda: np.unique(self.happened // 86_400_000_000, return_inverse=True))

    @property
    def questions_before(self) -> Floats:
        """From 0 to 1 for each row: whether the turn just before asks something, and how short it is."""
        return self.keep("questions before", self._questions_before)

    @property
    def names(self) -> Mapping[int, frozenset[str]]:
        """The words of the name of each speaker of a living row; roles are no names."""
        return self.keep("names", self._names)

    @property
    def all_names(self) -> frozenset[str]:
        """The words of all `names`."""
        return self.keep("all names", lambda: frozenset[str]().union(*self.names.values()))

    def _happened(self) -> NDArray[np.int64]:
        occurred = self.column("occurred")
        happened = np.where(occurred == NO_TIME, self.column("created"), occurred)
        happened[0] = happened[-1]
        return happened

    def _questions_before(self) -> Floats:
        short = np.clip((30.0 - self.lengths) / 15.0, 0.0, 1.0).astype(np.float32)
        return (short * self.flag(ASKS))[self.neighbours[0]]

    def _names(self) -> Mapping[int, frozenset[str]]:
        found: dict[int, frozenset[str]] = {}
        for number, (name, speaks) in enumerate(zip(self.speakers, self.speaking, strict=True)):
            words = frozenset(word for word in tokens(name) if len(word) >= NAME_CHARS)
            if speaks and words and name.casefold() not in ROLES:
                found[number] = words
        return found
