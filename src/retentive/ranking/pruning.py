"""Which memories of a scope a policy lets go of, and why. Their older versions are not its matter."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from retentive.ranking.features import KINDS, NO_TIME, SUPERSEDED, microseconds
from retentive.ranking.priors import retained, used
from retentive.ranking.retention import RetentionPolicy, RetentionRule, Uses
from retentive.ranking.view import Floats, IndexView, Mask
from retentive.types import MemoryKind

EXPIRED, REPLACED, AGE, IDLE, IMPORTANCE, KEEP_TOP = RULES = (
    "expired",
    "superseded",
    "age",
    "idle",
    "importance",
    "keep_top",
)
_US: Final = timedelta(microseconds=1)


def condemned(view: IndexView, policy: RetentionPolicy, now: datetime, uses: Uses) -> dict[str, str]:
    """By the id of each memory that goes, the first of `RULES` that says so.

    A memory that was superseded for a time to come is neither an older version yet, nor looked at by a rule.
    """
    moment = microseconds(now)
    found: dict[str, Mask] = {EXPIRED: view.alive & _before(view.column("expires"), moment)}
    replaced = view.alive & view.flag(SUPERSEDED)
    found[REPLACED] = _replaced(view, policy.purge_superseded_after, moment) & replaced
    found |= {name: np.zeros(view.size, dtype=np.bool_) for name in RULES[2:]}
    left = view.alive & ~replaced & ~found[EXPIRED]
    kind = view.column("kind")
    for kinds, rule in _rules(policy):
        rows = left & np.isin(kind, [KINDS.index(each) for each in kinds])
        for name, mask in _by_rule(view, rule, rows, (moment, uses)).items():
            found[name] |= mask
    reasons: dict[str, str] = {}
    for name in RULES:
        for row in np.flatnonzero(found[name]).tolist():
            reasons.setdefault(view.ids[row], name)
    return reasons


def _rules(policy: RetentionPolicy) -> list[tuple[Sequence[MemoryKind], RetentionRule]]:
    """Each rule with the kinds it is for; the policy's own is for the kinds that have none."""
    rest = [kind for kind in MemoryKind if kind not in policy.kinds]
    return [(rest, policy), *(([kind], rule) for kind, rule in policy.kinds.items())]


def _by_rule(view: IndexView, rule: RetentionRule, rows: Mask, at: tuple[int, Uses]) -> dict[str, Mask]:
    """The rows that the rule lets go of, by its parts; keep_top counts what no other part takes."""
    now, uses = at
    created = view.column("created")
    may_go = rows & (created <= now - rule.min_age // _US)
    found: dict[str, Mask] = {}
    if rule.max_age is not None:
        found[AGE] = may_go & (created < now - rule.max_age // _US)
    if rule.max_idle is not None:
        found[IDLE] = may_go & (used(view, uses)[1] < now - rule.max_idle // _US)
    if rule.min_importance is None and rule.keep_top is None:
        return found
    importance = _importance(view, rule, now, uses)
    if rule.min_importance is not None:
        found[IMPORTANCE] = may_go & (importance < np.float32(rule.min_importance))
    if rule.keep_top is not None:
        gone = np.logical_or.reduce([np.zeros(view.size, dtype=np.bool_), *found.values()])
        found[KEEP_TOP] = may_go & _beyond(view, importance, rows & ~gone, rule.keep_top)
    return found


def _importance(view: IndexView, rule: RetentionRule, now: int, uses: Uses) -> Floats:
    importance = view.column("importance")
    if rule.half_life is None:
        return importance
    return importance * retained(view, now, uses, rule.half_life.total_seconds())


def _beyond(view: IndexView, importance: Floats, rows: Mask, count: int) -> Mask:
    """Those of the rows that are not among the `count` most important, the newer ones first in a tie."""
    mask = np.zeros(view.size, dtype=np.bool_)
    newest_first = sorted(np.flatnonzero(rows).tolist(), key=view.ids.__getitem__, reverse=True)
    ordered = np.array(newest_first, dtype=np.intp)
    mask[ordered[np.argsort(-importance[ordered], kind="stable")[count:]]] = True
    return mask


def _replaced(view: IndexView, after: timedelta | None, now: int) -> Mask:
    """Whose place was taken long enough ago, and who holds no more."""
    if after is None:
        return np.zeros(view.size, dtype=np.bool_)
    when, until = view.column("superseded"), view.column("valid_until")
    since = np.where(when == NO_TIME, view.column("updated"), when)
    return (since <= now - after // _US) & ((until == NO_TIME) | (until <= now))


def _before(times: NDArray[Any], now: int) -> Mask:
    return (times != NO_TIME) & (times <= now)
