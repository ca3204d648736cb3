"""What a recall gives: hits, best first, and what it could not do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

from retentive.ranking.render import render
from retentive.types import MemoryHit


class Recall(Sequence[MemoryHit]):
    """Hits, best first. Equal to a list of the same hits, so `== []` says that nothing was found.

    `degraded` names each leg that could not take part and why; it is empty when all did. `confidence` is from
    0 to 1 how likely the memories speak of what was asked; None where no `min_confidence` was passed.
    `abstained` says that it was below that, and so there are no hits.
    """

    __slots__ = ("_hits", "abstained", "confidence", "degraded", "query")

    def __init__(
        self,
        hits: Sequence[MemoryHit],
        *,
        query: str,
        degraded: Mapping[str, str],
        confidence: float | None = None,
        abstained: bool = False,
    ) -> None:
        self._hits = tuple(hits)
        self.query = query
        self.degraded = dict(degraded)
        self.confidence = confidence
        self.abstained = abstained

    @overload
    def __getitem__(self, index: int) -> MemoryHit: ...
    @overload
    def __getitem__(self, index: slice) -> list[MemoryHit]: ...
    def __getitem__(self, index: int | slice) -> MemoryHit | list[MemoryHit]:
        return list(self._hits[index]) if isinstance(index, slice) else self._hits[index]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[MemoryHit]:
        return iter(self._hits)

    def render(self, max_tokens: int | None = None) -> str:
        """The hits as a block for a prompt: delimited, escaped, each with when, who and kind, best first.

        It goes to the model as data, in the user's part of one request. `max_tokens` bounds the whole block
        by an estimate; memories are left out whole. None takes all; without hits the text is empty.
        """
        return render(self, max_tokens)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Recall):
            return self._hits == other._hits
        if isinstance(other, (list, tuple)):
            return list(self._hits) == list(other)  # pyright: ignore[reportUnknownArgumentType]
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        found = ", ".join(f"{hit.content[:40]!r} {hit.score:.2f}" for hit in self._hits[:3])
        more = "" if len(self._hits) <= 3 else f", ... {len(self._hits) - 3} more"
        said = f", confidence={self.confidence:.2f}" if self.confidence is not None else ""
        said += ", abstained=True" if self.abstained else ""
        said += f", degraded={self.degraded}" if self.degraded else ""
        return f"Recall([{found}{more}]{said})"
