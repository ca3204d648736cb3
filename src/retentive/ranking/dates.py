"""Dates named in a question, and how near to them a memory happened."""

import re
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_FULL = {name: number for number, name in enumerate(_NAMES, start=1)}
_MONTHS = _FULL | {name[:3]: number for name, number in _FULL.items()} | {"sept": 9}
# "may", "march" and "mar" are ordinary words too: alone they count only after one of these.
_ORDINARY = frozenset({"may", "march", "mar"})
_LEADING = frozenset(
    [
        "in",
        "of",
        "since",
        "until",
        "till",
        "by",
        "last",
        "this",
        "next",
        "during",
        "early",
        "late",
        "mid",
        "before",
        "after",
        "around",
    ]
)

_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = r"(?P<{0}>[0-3]?[0-9])(?:st|nd|rd|th)?"
_YEAR = r"(?P<{0}>(?:19|20)[0-9]{{2}})"
_NAMED = re.compile(
    rf"(?:\b{_DAY.format('before')}\s+(?:of\s+)?)?\b(?P<month>{_MONTH})\b\.?"
    rf"(?:\s+(?:the\s+)?{_DAY.format('after')}(?![0-9:]))?(?:\s*,?\s*(?:of\s+)?{_YEAR.format('year')}\b)?"
)
_ISO = re.compile(rf"\b{_YEAR.format('year')}-(?P<month>[01]?[0-9])(?:-{_DAY.format('day')})?\b")
_HAN = re.compile(
    r"(?:(?P<year>(?:19|20)[0-9]{2})年)?(?P<month>[01]?[0-9])月(?:(?P<day>[0-3]?[0-9])[日号號])?"
)
_WORD_BEFORE = re.compile(r"(\w+)\W*$")

MAX_YEARS = 200
_DAYS_NEAR = ((0, 0, 1.0), (1, 7, 0.8), (8, 21, 0.5), (-2, -1, 0.3))
_SAME_MONTH, _NEXT_MONTH = 1.0, 0.4


@dataclass(frozen=True, slots=True)
class NamedDate:
    """A month, perhaps with a day, perhaps with a year."""

    month: int
    day: int | None = None
    year: int | None = None


def dates_in(text: str) -> tuple[NamedDate, ...]:
    """The dates that the question names, each once, in order; a year or a weekday alone is none."""
    lowered = text.lower()
    found = [named for match in _NAMED.finditer(lowered) if (named := _named(match, lowered))]
    for pattern in (_ISO, _HAN):
        for match in pattern.finditer(lowered):
            named = _checked(int(match["month"]), _number(match["day"]), _number(match["year"]))
            if named:
                found.append(named)
    return tuple(dict.fromkeys(found))


def nearness(dates: tuple[NamedDate, ...], days: NDArray[np.int64]) -> NDArray[np.float32]:
    """For each day (counted from 1970-01-01) from 0 to 1 how well it fits the best of the dates.

    With a day: the same day 1, one to seven days later .8, eight to 21 later .5, one or two earlier .3. With
    a month alone: that month 1, the one after .4. A stated year must agree.
    """
    best = np.zeros(len(days), dtype=np.float32)
    if not dates or not len(days):
        return best
    first, last = (_day(int(day)).year for day in (days.min(), days.max()))
    for named in dates:
        years = [named.year] if named.year else range(max(first - 1, last + 1 - MAX_YEARS), last + 2)
        for year in years:
            for begin, end, value in _spans(named, year):
                inside = (days >= begin) & (days <= end)
                np.maximum(best, np.float32(value) * inside, out=best)
    return best


def _named(match: re.Match[str], text: str) -> NamedDate | None:
    month = match["month"]
    day = _number(match["before"]) or _number(match["after"])
    year = _number(match["year"])
    if month in _ORDINARY and day is None and year is None:
        before = _WORD_BEFORE.search(text, 0, match.start("month"))
        if before is None or before[1] not in _LEADING:
            return None
    return _checked(_MONTHS[month], day, year)


def _checked(month: int, day: int | None, year: int | None) -> NamedDate | None:
    """The date, if there is such a month; a day that the month never has is left out."""
    if not 1 <= month <= 12:
        return None
    return NamedDate(month, day if day and _ordinal(2000, month, day) is not None else None, year)


def _spans(named: NamedDate, year: int) -> list[tuple[int, int, float]]:
    """The first and last day of each stretch that fits the date in that year, with what it is worth."""
    if named.day is not None:
        target = _ordinal(year, named.month, named.day)
        return (
            []
            if target is None
            else [(target + low, target + high, value) for low, high, value in _DAYS_NEAR]
        )
    begin, middle, end = (_month_start(year, named.month + later) for later in (0, 1, 2))
    return [(begin, middle - 1, _SAME_MONTH), (middle, end - 1, _NEXT_MONTH)]


def _month_start(year: int, month: int) -> int:
    later, index = divmod(month - 1, 12)
    return _ordinal(year + later, index + 1, 1) or 0


def _ordinal(year: int, month: int, day: int) -> int | None:
    try:
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None


def _day(days: int) -> date:
    return date.fromordinal(min(max(days + _EPOCH, 1), date.max.toordinal()))


def _number(text: str | None) -> int | None:
    return int(text) if text else None


_EPOCH = date(1970, 1, 1).toordinal()
