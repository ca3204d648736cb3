"""What is worth keeping, as values: pure, without numpy, so that `import retentive` stays light."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeAlias

from retentive import checks
from retentive.errors import InvalidInput
from retentive.types import MemoryKind

Uses: TypeAlias = Mapping[str, tuple[int, int]]
"""By id how often a memory was used, and when last, in microseconds since 1970."""

_SPANS: Final = ("max_age", "max_idle", "min_age", "half_life")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRule:
    """When a memory is let go of: as soon as one of these says so. None and zero ask for nothing.

    Attributes:
        max_age: Longer ago than this it was stored.
        max_idle: Longer ago than this it was last used or changed. Uses are known where the Memory was made
            with `track_use`; else only changes are.
        min_importance: Its importance is below this.
        keep_top: Of the memories of a scope that a rule is for, all but so many of the most important; of
            equally important ones the newer stay.
        min_age: What was stored less long ago than this stays, whatever the rules say.
        half_life: Let importance fade before `min_importance` and `keep_top` look at it: to half when a
            memory was not used for so long, and more slowly the more often it was (see
            `ranking.priors.retained`). None takes it as it is stored.

    Raises:
        InvalidInput: a value that can mean nothing.
    """

    max_age: timedelta | None = None
    max_idle: timedelta | None = None
    min_importance: float | None = None
    keep_top: int | None = None
    min_age: timedelta = timedelta(0)
    half_life: timedelta | None = None

    def __post_init__(self) -> None:
        for name in _SPANS:
            _check_span(name, getattr(self, name), zero=name == "min_age")
        if self.min_importance is not None:
            checks.check_unit("min_importance", self.min_importance)
        if self.keep_top is not None and (type(self.keep_top) is not int or self.keep_top < 0):
            raise InvalidInput(f"keep_top must be a whole number from 0, not {self.keep_top!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy(RetentionRule):
    """Rules for a scope. What has expired is always let go of, first.

    The rules look at memories whose place nobody took. Older versions go before or with the one that took
    their place; alone they go only by `purge_superseded_after`.

    Attributes:
        kinds: Rules of their own for some kinds; the other fields are for the rest. `RetentionRule()` keeps
            all of a kind.
        purge_superseded_after: Older versions, and what `consolidate` merged, go this long after another
            memory took their place. None keeps them.

    Raises:
        InvalidInput: a value that can mean nothing.

    Example:
        >>> from datetime import timedelta
        >>> policy = RetentionPolicy(
        ...     max_age=timedelta(days=90), kinds={MemoryKind.PROCEDURAL: RetentionRule()}
        ... )
        >>> policy.rule_of(MemoryKind.PROCEDURAL).max_age is None
        True
    """

    kinds: Mapping[MemoryKind, RetentionRule] = field(default_factory=dict[MemoryKind, RetentionRule])
    purge_superseded_after: timedelta | None = None

    def __post_init__(self) -> None:
        RetentionRule.__post_init__(self)
        _check_span("purge_superseded_after", self.purge_superseded_after, zero=True)
        for kind, rule in self.kinds.items():
            if kind not in list(MemoryKind) or not isinstance(rule, RetentionRule):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidInput(
                    f"kinds gives a RetentionRule for each kind ({', '.join(MemoryKind)}), "
                    f"not {rule!r} for {kind!r}"
                )
        object.__setattr__(self, "kinds", {MemoryKind(kind): rule for kind, rule in self.kinds.items()})

    def rule_of(self, kind: MemoryKind) -> RetentionRule:
        """The rule for memories of the kind."""
        return self.kinds.get(kind, self)


def _check_span(name: str, value: object, *, zero: bool) -> None:
    if value is None:
        return
    least = timedelta(0)
    if not isinstance(value, timedelta) or value < least or (value == least and not zero):
        raise InvalidInput(
            f"{name} must be a timedelta above zero, such as timedelta(days=90), not {value!r}"
        )
