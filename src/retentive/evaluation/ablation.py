"""The parts of the ranking, each of which can be switched off to see what it is worth."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from retentive.engine import default_profiles
from retentive.errors import InvalidInput
from retentive.evaluation.contenders import Retentive, Reweighted
from retentive.ranking.profiles import RECALL, Profiles

PARTS: Mapping[str, Mapping[str, Any]] = {
    "words": {"words": 0.0},
    "soft match": {"soft": 0.0},
    "cosine": {"cosine": 0.0},
    "pairs": {"pairs": 0.0},
    "neighbours": {"before": 0.0, "after": 0.0, "second": 0.0, "answer": 0.0, "windowed": False},
    "neighbours' words": {"before": 0.0, "after": 0.0, "second": 0.0, "answer": 0.0},
    "neighbours' cosine": {"windowed": False},
    "next but one": {"second": 0.0},
    "question to answer": {"answer": 0.0},
    "first person": {"first_person": 0.0},
    "how much is told": {"told": 0.0},
    "questions": {"asking": 0.0, "asking_only": 0.0},
    "time words": {"time_words": 0.0, "when": 0.0},
    "speaker": {"speaker": 0.0},
    "role": {"role": 0.0},
    "dates": {"dates": 0.0},
    "importance": {"importance": 0.0},
    "recency": {"recency": 0.0},
    "newer wording": {"newer": 0.0},
    "stuffing": {"stuffed": 0.0},
}


def without(part: str, profiles: Profiles = RECALL) -> Profiles:
    """The profiles with one of PARTS switched off in both.

    Raises:
        InvalidInput: there is no such part.
    """
    if part not in PARTS:
        raise InvalidInput(f"no part is called {part!r}; there are {', '.join(PARTS)}")
    off = PARTS[part]
    return Profiles(turns=replace(profiles.turns, **off), others=replace(profiles.others, **off))


def ablated(base: Retentive) -> list[Reweighted]:
    """A contender for each part, with the part's name, that lacks it."""
    profiles = default_profiles(base.embedder)
    return [Reweighted(part, base, without(part, profiles)) for part in PARTS]
