"""What a turn gains or loses by what it is, and by what the question asks for, apart from its words."""

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.features import ENDS_ASKING, FIRST_PERSON, ORIGINS, TIME_WORDS
from retentive.ranking.lexical import per_row, word_weights
from retentive.ranking.profiles import Profiles
from retentive.ranking.question import Question
from retentive.ranking.retention import Uses
from retentive.ranking.view import Floats, IndexView, Mask
from retentive.types import Origin

_ASKERS = frozenset({"", "user", "human"})


def manner(view: IndexView, profiles: Profiles) -> Floats:
    """What each row gains by speaking of "I" or naming a time, and loses by ending with a question."""
    return view.keep(("manner", profiles), lambda: _manner(view, profiles))


def _manner(view: IndexView, profiles: Profiles) -> Floats:
    own, timed, asking = (view.flag(flag) for flag in (FIRST_PERSON, TIME_WORDS, ENDS_ASKING))
    gain = per_row(view, profiles, "first_person") * own + per_row(view, profiles, "time_words") * timed
    loss = per_row(view, profiles, "asking") * asking + per_row(view, profiles, "asking_only") * (
        asking & ~own
    )
    return (gain - loss).astype(np.float32)


def told(view: IndexView, profiles: Profiles) -> Floats | None:
    """How much each row says, from 0 to 1: the weights of its words added up, enough being `told_enough`.

    "Wow, that is awesome!" answers nothing, however well it fits. None where no profile asks for it.
    """
    if not np.any(per_row(view, profiles, "told")):
        return None
    return view.keep(("told", profiles), lambda: _told(view, profiles))


def _told(view: IndexView, profiles: Profiles) -> Floats:
    weights = word_weights(view)[view.tokens]
    said = np.bincount(view.token_rows, weights=weights, minlength=view.size)
    return np.minimum(1.0, said / per_row(view, profiles, "told_enough")).astype(np.float32)


def retained(view: IndexView, now: int, uses: Uses, half_life_s: np.float32 | float | Floats) -> Floats:
    """How much of each memory is retained, from 1 (just used) to 0: R = 2 ** (-t / (h * (1 + n))).

    t is the time since it was last used (or changed, where it never was), n how often it was used, h the half
    life of what was never used. `uses` gives n and, in microseconds, when last, by id.

    The exponential forgetting curve that goes back to Ebbinghaus (1885), with the reinforcement of MemoryBank
    (Zhong, Guo, Gao, Ye and Wang 2023, arXiv:2305.10250): R = e ** (-t / S), where each recall adds one to
    the strength S and sets t to 0.
    """
    count, last = used(view, uses)
    idle = np.maximum(now - last, 0).astype(np.float32)
    return np.exp2(-idle / (np.float32(1e6) * half_life_s * (1.0 + count))).astype(np.float32)


def used(view: IndexView, uses: Uses) -> tuple[Floats, NDArray[np.int64]]:
    """For each row how often it was used, and when it was last used or changed, in microseconds."""
    count, last = np.zeros(view.size, dtype=np.float32), view.column("updated").copy()
    if uses:
        rows = view.keep("row of", lambda: _row_of(view))
        for memory_id, (times, moment) in uses.items():
            if (row := rows.get(memory_id)) is not None:
                count[row] = times
                last[row] = max(moment, int(last[row]))
    return count, last


def _row_of(view: IndexView) -> dict[str, int]:
    return {view.ids[row]: row for row in np.flatnonzero(view.alive).tolist()}


def answers_when(view: IndexView, question: Question) -> Mask | None:
    """The rows that name a time, if the question asks when; else None."""
    return view.flag(TIME_WORDS) if question.asks_when else None


def spoken_by_named(view: IndexView, question: Question) -> Mask | None:
    """The rows whose speaker the question names; None if it names none of them, or all."""
    named = [number for number, words in view.names.items() if words & question.named]
    if not named or len(named) == len(view.names):
        return None
    return np.isin(view.speaker, named)


def said_by_asker(view: IndexView, question: Question) -> Mask | None:
    """The rows that the user said, as a role and not as a named person, if the question says "I"."""
    return view.keep("user said", lambda: _user_said(view)) if question.of_asker else None


def _user_said(view: IndexView) -> Mask:
    roles = [number for number, name in enumerate(view.speakers) if name.casefold() in _ASKERS]
    return (view.column("origin") == ORIGINS.index(Origin.USER)) & np.isin(view.speaker, roles)
