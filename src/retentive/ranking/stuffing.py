"""Which texts are stuffed with the words of the question, to be found for it whatever they say.

An honest text says a word of the question once or twice (the turns of LoCoMo repeat them 6 times at most,
for every fifth question); a text made to be found repeats them ten times and more. Counted is how often a
word of the question stands in a text again, after its first time: above `SPARED` repeats it counts for
something, at `ENOUGH` for all, and only where the repeats make up much of the text: a long text on a
subject names it often.

Of what a tool, a document or another system said far fewer repeats are enough, in a text that is made of
little else: whoever stuffs a text has it come in that way, and a short one needs few repeats to be first.
"""

from collections.abc import Sequence

import numpy as np

from retentive.ranking.features import ORIGINS
from retentive.ranking.lexical import Occurrences, Term
from retentive.ranking.view import Floats, IndexView
from retentive.trust import trust
from retentive.types import Origin

SPARED, ENOUGH = 6, 10
LEAST_SHARE, FULL_SHARE = 0.15, 0.18
SPARED_FOREIGN, ENOUGH_FOREIGN = 2, 5
LEAST_SHARE_FOREIGN, FULL_SHARE_FOREIGN = 0.25, 0.35

_FOREIGN = [number for number, origin in enumerate(ORIGINS) if trust(origin) <= trust(Origin.TOOL)]


def stuffed(view: IndexView, terms: Sequence[Term], found: Occurrences) -> Floats | None:
    """From 0 (honest) to 1 (stuffed) for each row; None where all are 0.

    As everywhere, a speaker's name is no word of what is asked of turns.
    """
    again = np.diff(found.terms * view.size + found.rows, prepend=-1) == 0
    is_name = np.array([term.is_name for term in terms], dtype=np.bool_)
    again &= ~(is_name[found.terms] & view.turns[found.rows])
    repeats = np.bincount(found.rows[again], minlength=view.size).astype(np.float32)
    if not np.any(repeats > SPARED_FOREIGN):
        return None
    share = (repeats / np.maximum(view.lengths, 1)).astype(np.float32)
    foreign = view.keep("foreign", lambda: np.isin(view.column("origin"), _FOREIGN))
    how_much = np.where(
        foreign,
        _between(repeats, SPARED_FOREIGN, ENOUGH_FOREIGN)
        * _between(share, LEAST_SHARE_FOREIGN, FULL_SHARE_FOREIGN),
        _between(repeats, SPARED, ENOUGH) * _between(share, LEAST_SHARE, FULL_SHARE),
    ).astype(np.float32)
    return how_much if how_much.any() else None


def _between(values: Floats, least: float, most: float) -> Floats:
    """0 up to the least, 1 from the most on, even in between."""
    return np.clip((values - least) / (most - least), 0.0, 1.0)
