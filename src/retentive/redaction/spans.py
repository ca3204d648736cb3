"""Putting marks in the place of parts of a text."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from retentive.redaction.base import Redacted


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A part of a text, from `start` up to `end`, and what it is."""

    start: int
    end: int
    kind: str


def without(text: str, spans: Iterable[Span]) -> Redacted:
    """The text with `[kind]` in the place of each span; of those that overlap one mark for all of them.

    That one says what the earliest, and of several the longest, is.
    """
    pieces: list[str] = []
    kinds: Counter[str] = Counter()
    done = 0
    for span in sorted(spans, key=lambda one: (one.start, -one.end, one.kind)):
        if span.start >= done:
            pieces += [text[done : span.start], f"[{span.kind}]"]
            kinds[span.kind] += 1
        done = max(done, span.end)
    return Redacted("".join([*pieces, text[done:]]), dict(kinds)) if kinds else Redacted(text)
