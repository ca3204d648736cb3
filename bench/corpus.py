"""The texts that are measured with: sentences of real English words, made from a pinned seed.

The words and their order of frequency are those of the WordPiece vocabulary that ships with the default
embedder (its whole words, in its order); they are drawn by Zipf's law. Each sentence has 15 to 20 words and
speaks of a person, a place and a number, as what people tell an agent does.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from retentive.embedders.static import FOLDER
from retentive.text import surfaces

SEED = 20_261_130
ZIPF_SHIFT = 2.7  # Mandelbrot's shift of the rank, the usual one for English
FIRST_WORD = "the"  # before it the vocabulary has special pieces, letters and other scripts

_PEOPLE = (
    "Amara Bruno Chiara Dmitri Elena Farid Greta Hamid Ingrid Jorge Keiko Lucas Mara Nadia Oskar Priya "
    "Quentin Rosa Stefan Tomas Ulrike Viktor Wanda Ximena Yusuf Zofia Aoife Bashir Celine Diego Emeka Freya"
)
_PLACES = (
    "Lisbon Osaka Nairobi Bergen Austin Turin Leeds Lyon Quito Perth Ghent Porto Cork Malmo Tampa Graz "
    "Dakar Jaipur Bristol Utrecht Gdansk Sofia Riga Basel"
)


@cache
def frequent_words() -> list[str]:
    """English words, the most frequent first."""
    pieces = (FOLDER / "vocab.txt").read_text(encoding="utf-8").splitlines()
    pieces = pieces[pieces.index(FIRST_WORD) :]
    return [piece for piece in pieces if piece.isascii() and piece.isalpha() and len(piece) > 1]


def sentences(count: int, *, seed: int = SEED) -> list[str]:
    """`count` sentences, the same for the same seed; with a number in each, hardly ever two alike."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(12, 18, size=count)
    drawn = iter(_zipf(rng, int(lengths.sum())))
    people = rng.choice(_PEOPLE.split(), size=count).tolist()
    places = rng.choice(_PLACES.split(), size=count).tolist()
    numbers = rng.integers(2, 10_000, size=count).tolist()
    made: list[str] = []
    for length, person, place, number in zip(lengths.tolist(), people, places, numbers, strict=True):
        words = [next(drawn) for _ in range(length)]
        made.append(f"{person} {' '.join(words)} {number} in {place}.")
    return made


def questions(texts: Sequence[str], count: int, *, seed: int = SEED) -> list[str]:
    """`count` questions of 6 to 8 words, each after some words of one of the texts."""
    rng = np.random.default_rng(seed + 1)
    made: list[str] = []
    for at in rng.integers(0, len(texts), size=count).tolist():
        words = surfaces(texts[at])
        kept = rng.permutation(len(words))[: int(rng.integers(3, 6))]
        asked = [words[place] for place in sorted(kept.tolist())]
        made.append(f"what did {' '.join(asked)} {' '.join(_zipf(rng, 1))}?")
    return made


def _zipf(rng: np.random.Generator, count: int) -> list[str]:
    words = frequent_words()
    weights = 1.0 / (np.arange(len(words)) + 1.0 + ZIPF_SHIFT)
    ends = np.cumsum(weights)
    return [words[at] for at in np.searchsorted(ends, rng.random(count) * ends[-1]).tolist()]
