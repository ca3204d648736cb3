"""A question, prepared once for ranking: its words, its vector, and what it asks about."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.dates import NamedDate, dates_in
from retentive.text import Word, fold, tokens, words

MAX_WORDS = 64

_WHEN = re.compile(
    r"\b(?:when|how long|what (?:date|day|month|year|time)|which (?:year|month|day)"
    r"|how many (?:days|weeks|months|years))\b"
)
_ASKER = re.compile(r"\b(?:i|my|me)\b")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What is asked. `named` are all its words, stop words too: speakers' names are looked for there."""

    text: str
    words: tuple[Word, ...]
    named: frozenset[str]
    vector: NDArray[np.float32] | None
    dates: tuple[NamedDate, ...]
    asks_when: bool
    of_asker: bool


def question(text: str, vector: NDArray[np.float32] | None = None) -> Question:
    """The question made ready. `vector` is its unit vector; None or zeros leave the cosine out.

    Of a very long text only the first `MAX_WORDS` kept words are looked for.
    """
    folded = fold(text)
    usable = vector is not None and bool(np.isfinite(vector).all()) and bool(vector.any())
    return Question(
        text=text,
        words=tuple(words(text)[:MAX_WORDS]),
        named=frozenset(tokens(text)),
        vector=np.ascontiguousarray(vector, dtype=np.float32) if usable else None,
        dates=dates_in(text),
        asks_when=_WHEN.search(folded) is not None,
        of_asker=_ASKER.search(folded) is not None,
    )
