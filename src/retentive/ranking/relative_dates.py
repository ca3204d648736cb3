"""What days a text means by "yesterday" or "two weeks ago", once it is known when it was said. English."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final, TypeAlias

from retentive.errors import InvalidInput

_Days: TypeAlias = tuple[date, date]  # the first, and the one after the last

_UNITS = "days?|weeks?|months?|years?"
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TWELVE = (
    "one", "two", "three", "four", "five", "six",
    "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_NUMBERS: Final = {word: number for number, word in enumerate(_TWELVE, start=1)} | {"a": 1, "an": 1}
_COUNT = rf"\d{{1,3}}|{'|'.join(_NUMBERS)}"
_SINGLE: Final = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}
_PHRASE: Final = re.compile(
    rf"\b(?:(?P<single>{'|'.join(sorted(_SINGLE, key=len, reverse=True))})"
    rf"|(?P<ago>{_COUNT})\s+(?P<ago_unit>{_UNITS})\s+ago"
    rf"|in\s+(?P<ahead>{_COUNT})\s+(?P<ahead_unit>{_UNITS})"
    rf"|(?P<which>last|this|next)\s+(?P<span>week|weekend|month|year|{'|'.join(_WEEKDAYS)}))\b",
    re.IGNORECASE,
)
_WHICH: Final = {"last": -1, "this": 0, "next": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedDate:
    """A phrase of a text and the time it means: from `start` up to `end`, which is no longer part of it."""

    phrase: str
    start: datetime
    end: datetime


def resolve_dates(text: str, at: datetime) -> list[ResolvedDate]:
    """What the relative dates in a text mean that was said at `at`, in the order they stand there.

    Whole days, weeks (from Monday), months and years, by the calendar of the zone of `at`. "Two weeks ago" is
    that day, "two months ago" that month. "Last Friday" is the latest one before that day, "next Friday" the
    first one after it, "this Friday" that of the week. A phrase that leads out of the calendar is left out;
    so is a weekday alone, as it may lie on either side.

    Raises:
        InvalidInput: `at` has no time zone.
    """
    if at.utcoffset() is None:
        raise InvalidInput("at has no time zone; pass an aware datetime, for example one with tzinfo=UTC")
    found: list[ResolvedDate] = []
    for match in _PHRASE.finditer(text):
        try:
            start, end = _days(match, at.date())
            found.append(ResolvedDate(phrase=match[0], start=_midnight(start, at), end=_midnight(end, at)))
        except (OverflowError, ValueError):
            continue
    return found


def _midnight(day: date, at: datetime) -> datetime:
    return datetime.combine(day, time(), tzinfo=at.tzinfo)


def _days(match: re.Match[str], today: date) -> _Days:
    if match["single"]:
        return _one(today + timedelta(days=_SINGLE[" ".join(match["single"].lower().split())]))
    if match["ago"]:
        return _away(today, -_number(match["ago"]), match["ago_unit"])
    if match["ahead"]:
        return _away(today, _number(match["ahead"]), match["ahead_unit"])
    which, span = _WHICH[match["which"].lower()], match["span"].lower()
    return _SPANS[span](today, which) if span in _SPANS else _weekday(today, which, _WEEKDAYS.index(span))


def _number(text: str) -> int:
    return _NUMBERS.get(text.lower()) or int(text)


def _away(today: date, count: int, unit: str) -> _Days:
    unit = unit.lower().rstrip("s")
    if unit in ("day", "week"):
        return _one(today + timedelta(days=count * (7 if unit == "week" else 1)))
    return _SPANS[unit](today, count)


def _one(day: date) -> _Days:
    return day, day + timedelta(days=1)


def _week(today: date, count: int) -> _Days:
    monday = today - timedelta(days=today.weekday() - 7 * count)
    return monday, monday + timedelta(days=7)


def _weekend(today: date, count: int) -> _Days:
    _, end = _week(today, count)
    return end - timedelta(days=2), end


def _month(today: date, count: int) -> _Days:
    return _month_start(today, count), _month_start(today, count + 1)


def _month_start(today: date, count: int) -> date:
    later, index = divmod(today.month - 1 + count, 12)
    return date(today.year + later, index + 1, 1)


def _year(today: date, count: int) -> _Days:
    return date(today.year + count, 1, 1), date(today.year + count + 1, 1, 1)


def _weekday(today: date, which: int, weekday: int) -> _Days:
    if which == 0:
        return _one(today + timedelta(days=weekday - today.weekday()))
    if which > 0:
        return _one(today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1))
    return _one(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1))


_SPANS: Final[Mapping[str, Callable[[date, int], _Days]]] = {
    "week": _week,
    "weekend": _weekend,
    "month": _month,
    "year": _year,
}
