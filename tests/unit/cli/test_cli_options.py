from datetime import UTC, datetime, timedelta

import pytest

from retentive.cli import options
from retentive.errors import InvalidInput


@pytest.mark.parametrize("text", ["5", " 5 ", "5.0", "05", "5.000"])
def test_a_whole_number_may_be_written_in_several_ways(text: str) -> None:
    assert options.whole_number("limit", text) == 5


@pytest.mark.parametrize(
    "text",
    [
        "five",
        "",
        "true",
        "null",
        "-1",
        "-0.5",
        "5.5",
        "[5]",
        "1000001",
        "1e3",
        "5_0",
        "\u0665",
        "9" * 30,
        "0x5",
    ],
)
def test_api_1_an_odd_number_is_refused_with_its_field_and_range(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"limit must be a whole number from 0 to 1,000"):
        options.whole_number("limit", text)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "much", ""])
def test_a_number_is_finite(text: str) -> None:
    with pytest.raises(InvalidInput, match="min-score must be a finite number"):
        options.number("min-score", text)


def test_a_time_is_the_instant_in_utc() -> None:
    expected = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
    assert options.moment("since", "2026-03-01T09:30:00+01:00") == expected
    assert options.moment("since", " 2026-03-01T08:30Z ") == expected


@pytest.mark.parametrize("text", ["2026-03-01T09:30:00", "2026-03-01"])
def test_a_naive_time_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"has no time zone; add one: 2026-03-01T\d\d:\d\d:00Z for UTC"):
        options.moment("occurred-at", text)


def test_what_is_no_time_is_refused_with_an_example() -> None:
    with pytest.raises(InvalidInput, match="a time like 2026-03-01T09:30:00"):
        options.moment("since", "yesterday")


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90s", timedelta(seconds=90)),
        ("30m", timedelta(minutes=30)),
        ("12h", timedelta(hours=12)),
        (" 7 D ", timedelta(days=7)),
        ("2w", timedelta(weeks=2)),
    ],
)
def test_a_span_is_a_number_and_a_unit(text: str, span: timedelta) -> None:
    assert options.lifetime("ttl", text) == span


@pytest.mark.parametrize("text", ["7", "d", "7 days", "-7d", "1.5h", "7y", "", "999999999999w"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="ttl"):
        options.lifetime("ttl", text)


def test_a_json_object_is_given_as_it_was() -> None:
    assert options.json_object("metadata", '{"page": 3, "é": [null, 9007199254740993]}') == {
        "page": 3,
        "é": [None, 9007199254740993],
    }


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[1]", '"x"', "null", '{"a": NaN}', '{"a": 1e999}', '{"a": 1, "a": 2}', "[" * 100_000),
        *('{"a": "\\u0000"}', '{"a": "\\ud800"}', '{"a": ' + "9" * 5_000 + "}"),
    ],
)
def test_what_is_no_strict_json_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="metadata"):
        options.json_object("metadata", text)
