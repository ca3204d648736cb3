"""Which texts are stuffed with the words of the question, to be found for it whatever they say.

An honest text says a word of the question once or twice (the turns of LoCoMo repeat them 6 times at most,
for every fifth question); a text made to be found repeats them ten times and more. Counted is how often a
word of the question stands in a text again, after its first time: above `SPARED` repeats it counts for
something, at `ENOUGH` for all, and only where the repeats make up much of the text: a long text on a
subject names it often.
"""

from collections.abc import Sequence

import numpy as np

from retentive.ranking.lexical import Occurrences, Term
from retentive.ranking.view import Floats, IndexView

SPARED, ENOUGH = 6, 10
LEAST_SHARE, FULL_SHARE = 0.15, 0.18


def stuffed(view: IndexView, terms: Sequence[Term], found: Occurrences) -> Floats | None:
    """From 0 (honest) to 1 (stuffed) for each row; None where all are 0.

    As everywhere, a speaker's name is no word of what is asked of turns.
    """
    again = np.diff(found.terms * view.size + found.rows, prepend=-1) == 0
    is_name = np.array([term.is_name for term in terms], dtype=np.bool_)
    again &= ~(is_name[found.terms] & view.turns[found.rows])
    repeats = np.bincount(found.rows[again], minlength=view.size).astype(np.float32)
    if not np.any(repeats > SPARED):
        return None
    share = repeats / np.maximum(view.lengths, 1)
    by_count = np.clip((repeats - SPARED) / (ENOUGH - SPARED), 0.0, 1.0)
    by_share = np.clip((share - LEAST_SHARE) / (FULL_SHARE - LEAST_SHARE), 0.0, 1.0)
    return (by_count * by_share).astype(np.float32)
