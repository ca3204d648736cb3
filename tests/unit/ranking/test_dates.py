"""Dates named in questions, and how near memories are to them."""

from datetime import date

import numpy as np
import pytest

from retentive.ranking.dates import NamedDate, dates_in, nearness


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What happened on 7 May 2023?", [NamedDate(5, 7, 2023)]),
        ("What happened on May 7th, 2023?", [NamedDate(5, 7, 2023)]),
        ("What happened on the 7th of May?", [NamedDate(5, 7)]),
        ("Who came in June 2022?", [NamedDate(6, None, 2022)]),
        ("Who came in Sept. 2022?", [NamedDate(9, None, 2022)]),
        ("Who came in May?", [NamedDate(5)]),
        ("May I ask what may happen in march formation?", [NamedDate(3)]),
        ("May I ask?", []),
        ("They march on", []),
        ("Between January and 3 February 2024", [NamedDate(1), NamedDate(2, 3, 2024)]),
        ("the log of 2023-05-07", [NamedDate(5, 7, 2023)]),
        ("the log of 2023-05", [NamedDate(5, None, 2023)]),
        ("version 2023-55-99", []),
        ("2023年5月7日に何をした?", [NamedDate(5, 7, 2023)]),
        ("5月の予定", [NamedDate(5)]),
        ("31 February 2024", [NamedDate(2, None, 2024)]),
        ("in 2022", []),
        ("nothing here", []),
        ("December December", [NamedDate(12)]),
    ],
)
def test_dates_are_read_from_questions(text: str, expected: list[NamedDate]) -> None:
    assert list(dates_in(text)) == expected


def days(*dates: date) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array([day.toordinal() - date(1970, 1, 1).toordinal() for day in dates], dtype=np.int64)


def near(named: NamedDate, *dates: date) -> list[float]:
    return nearness((named,), days(*dates)).tolist()


def test_a_day_fades_over_three_weeks_and_begins_two_days_early() -> None:
    at = [date(2023, 5, day) for day in (4, 5, 6, 7, 8, 14, 15, 28, 29)]
    assert near(NamedDate(5, 7, 2023), *at) == pytest.approx([0, 0.3, 0.3, 1, 0.8, 0.8, 0.5, 0.5, 0])


def test_a_month_counts_whole_and_the_next_one_in_part() -> None:
    at = [
        date(2023, 4, 30),
        date(2023, 5, 1),
        date(2023, 5, 31),
        date(2023, 6, 1),
        date(2023, 6, 30),
        date(2023, 7, 1),
    ]
    assert near(NamedDate(5), *at) == pytest.approx([0, 1, 1, 0.4, 0.4, 0])


def test_a_stated_year_must_agree_but_december_spills_into_january() -> None:
    assert near(
        NamedDate(12, None, 2022), date(2022, 12, 5), date(2023, 1, 5), date(2023, 12, 5)
    ) == pytest.approx([1, 0.4, 0])
    assert near(NamedDate(12, 30, 2022), date(2023, 1, 3), date(2021, 12, 30)) == pytest.approx([0.8, 0])


def test_without_a_year_every_year_fits() -> None:
    assert near(NamedDate(12, 30), date(2021, 12, 30), date(2024, 1, 1), date(1999, 12, 31)) == pytest.approx(
        [1, 0.8, 0.8]
    )


def test_29_february_fits_leap_years_only() -> None:
    assert near(NamedDate(2, 29), date(2024, 2, 29), date(2023, 3, 1)) == pytest.approx([1, 0])


def test_any_year_of_the_calendar_is_fine() -> None:
    assert np.isfinite(nearness((NamedDate(12), NamedDate(1, 1)), days(date.min, date.max))).all()


def test_no_dates_and_no_days_give_nothing() -> None:
    assert nearness((), days(date(2023, 1, 1))).tolist() == [0]
    assert nearness((NamedDate(5),), days()).tolist() == []
