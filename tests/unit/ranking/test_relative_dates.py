from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from retentive import InvalidInput
from retentive.ranking.relative_dates import resolve_dates

TUESDAY = datetime(2026, 3, 3, 15, 30, tzinfo=UTC)


def days(text: str, at: datetime = TUESDAY) -> list[tuple[str, str, str]]:
    return [(one.phrase, f"{one.start.date()}", f"{one.end.date()}") for one in resolve_dates(text, at)]


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("yesterday", "2026-03-02", "2026-03-03"),
        ("The day before yesterday", "2026-03-01", "2026-03-02"),
        ("tonight", "2026-03-03", "2026-03-04"),
        ("the day after tomorrow", "2026-03-05", "2026-03-06"),
        ("last night", "2026-03-02", "2026-03-03"),
        ("three days ago", "2026-02-28", "2026-03-01"),
        ("2 weeks ago", "2026-02-17", "2026-02-18"),
        ("a month ago", "2026-02-01", "2026-03-01"),
        ("in 10 months", "2027-01-01", "2027-02-01"),
        ("in one day", "2026-03-04", "2026-03-05"),
        ("two years ago", "2024-01-01", "2025-01-01"),
        ("last week", "2026-02-23", "2026-03-02"),
        ("this weekend", "2026-03-07", "2026-03-09"),
        ("next month", "2026-04-01", "2026-05-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("last Tuesday", "2026-02-24", "2026-02-25"),
        ("last monday", "2026-03-02", "2026-03-03"),
        ("next Tuesday", "2026-03-10", "2026-03-11"),
        ("next Friday", "2026-03-06", "2026-03-07"),
        ("this Sunday", "2026-03-08", "2026-03-09"),
    ],
)
def test_a_phrase_means_whole_days(phrase: str, start: str, end: str) -> None:
    assert days(f"I saw her {phrase}, I think.") == [(phrase, start, end)]


@pytest.mark.parametrize(
    "text", ["", "on Friday", "days ago", "yesterdays", "in 3 minutes", "the last of us", "9999 years ago"]
)
def test_what_is_not_sure_is_left_out(text: str) -> None:
    assert days(text) == []


def test_what_leads_out_of_the_calendar_is_left_out() -> None:
    first = datetime.combine(date.min, TUESDAY.time(), tzinfo=UTC)
    assert days("yesterday or last year, not tomorrow", first) == [("tomorrow", "0001-01-02", "0001-01-03")]


def test_several_stand_in_the_order_of_the_text() -> None:
    assert [phrase for phrase, _, _ in days("Tomorrow? No: yesterday, or 3 days ago.")] == [
        "Tomorrow", "yesterday", "3 days ago",
    ]  # fmt: skip


def test_the_day_is_that_of_the_speaker_s_zone() -> None:
    tokyo = timezone(timedelta(hours=9))
    (found,) = resolve_dates("today", TUESDAY.astimezone(tokyo))
    assert found.start == datetime(2026, 3, 4, tzinfo=tokyo)
    with pytest.raises(InvalidInput, match="zone"):
        resolve_dates("today", TUESDAY.replace(tzinfo=None))
