"""One boundary, one rule: what cannot be kept exactly everywhere is refused with its place."""

import enum
import json
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retentive.checks import (
    MAX_INT_BITS,
    MAX_LIMIT,
    MAX_METADATA_DEPTH,
    MAX_METADATA_VALUES,
    MAX_TAGS,
    MAX_TEXT_CHARS,
    check_label,
    check_limit,
    check_metadata,
    check_tags,
    check_text,
    check_time,
    check_unit,
)
from retentive.codec import to_json
from retentive.errors import InvalidInput


class Colour(enum.Enum):
    RED = "red"


class Shade(enum.StrEnum):
    DARK = "dark"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "text", ["a", " a ", "a\nb\t", "🦀", "e\u0301", "a\u2028", "x" * MAX_TEXT_CHARS], ids=range(7)
)
def test_text_is_kept_exactly(text: str) -> None:
    assert check_text("content", text) is text


@pytest.mark.parametrize(
    "value",
    ["", "  \n\u3000", "a\x00b", "\ud83e", "a\udd80", "x" * (MAX_TEXT_CHARS + 1), None, b"a", 5, ["a"]],
    ids=range(10),
)
def test_text_that_not_every_store_can_keep_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^content"):
        check_text("content", value)


@given(
    st.dictionaries(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5), json_values)
)
def test_json_comes_back_equal_copied_and_writable(value: dict[str, Any]) -> None:
    copy = check_metadata("metadata", value)
    assert copy == value
    assert json.loads(to_json(copy)) == value


def test_metadata_is_a_deep_copy_and_tuples_become_lists() -> None:
    inner: list[Any] = ["a"]
    copy = check_metadata("metadata", OrderedDict[str, Any](tags=inner, pair=(1, 2)))
    inner.append("b")
    assert copy == {"tags": ["a"], "pair": [1, 2]}
    assert type(copy) is dict
    assert check_metadata("metadata", None) == {}


@pytest.mark.parametrize("number", [2**63, -(2**64), 10**300])
def test_big_integers_are_kept(number: int) -> None:
    assert json.loads(to_json(check_metadata("metadata", {"n": number}))) == {"n": number}


@pytest.mark.parametrize(
    "value",
    [
        b"\xff\xfe",
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        date(2026, 1, 2),
        UUID(int=1),
        Decimal("10.10"),
        Colour.RED,
        Shade.DARK,
        {3, 1},
        PurePosixPath("a"),
        float("nan"),
        float("inf"),
        1 << MAX_INT_BITS,
        "a\x00b",
        "\ud83e",
        object(),
    ],
    ids=range(15),
)
def test_what_json_cannot_hold_is_refused_with_its_place(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"metadata\.answers\[1\]\.x"):
        check_metadata("metadata", {"answers": [0, {"x": value}]})


@pytest.mark.parametrize(
    "value", [[], "a", 5, {1: "a"}, {None: 1}, {"a\x00": 1}, {"\ud83e": 1}, {Shade.DARK: 1}]
)
def test_metadata_that_is_no_json_object_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match="metadata"):
        check_metadata("metadata", value)


def test_metadata_is_bounded_in_depth_and_size_and_circles_are_refused() -> None:
    deep: Any = 1
    for _ in range(MAX_METADATA_DEPTH):
        deep = [deep]
    with pytest.raises(InvalidInput, match="deeper"):
        check_metadata("metadata", {"a": [deep]})
    with pytest.raises(InvalidInput, match="values"):
        check_metadata("metadata", {"a": [0] * MAX_METADATA_VALUES})
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(InvalidInput, match="deeper"):
        check_metadata("metadata", {"a": circle})


def test_tags_are_kept_once_each_in_order() -> None:
    assert check_tags(["b", "a", "b"]) == ("b", "a")
    assert check_tags(None) == check_tags([]) == ()


@pytest.mark.parametrize(
    "value", ["billing", 5, [1], [""], ["a\nb"], ["x" * 129], [f"t{n}" for n in range(MAX_TAGS + 1)]]
)
def test_tags_that_are_no_list_of_labels_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match="tag"):
        check_tags(value)


def test_a_label_is_short_and_printable() -> None:
    assert check_label("key", "order 7: émile") == "order 7: émile"
    for bad in ("", "a\tb", "x" * 129, 5):
        with pytest.raises(InvalidInput, match=r"^key"):
            check_label("key", bad)


def test_a_time_is_given_back_in_utc() -> None:
    india = timezone(timedelta(hours=5, minutes=30))
    moment = check_time("occurred_at", datetime(2026, 3, 8, 10, 30, tzinfo=india))
    assert moment == datetime(2026, 3, 8, 5, tzinfo=UTC)
    assert moment.tzinfo is UTC


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 3, 8, 10, 30),  # noqa: DTZ001
        date(2026, 3, 8),
        "2026-03-08T10:30:00Z",
        0,
        None,
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
    ],
    ids=range(6),
)
def test_a_time_without_zone_or_of_another_type_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^occurred_at"):
        check_time("occurred_at", value)


@pytest.mark.parametrize("value", [0, 1, 0.5])
def test_a_unit_is_a_number_from_0_to_1(value: float) -> None:
    assert check_unit("importance", value) == value


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), True, "0.5", None])
def test_any_other_unit_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^importance"):
        check_unit("importance", value)


@pytest.mark.parametrize("value", [0, 1, MAX_LIMIT])
def test_a_limit_is_a_whole_number_from_0(value: int) -> None:
    assert check_limit("limit", value) == value


@pytest.mark.parametrize("value", [-1, MAX_LIMIT + 1, 2.0, "3", True, None])
def test_any_other_limit_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^limit"):
        check_limit("limit", value)


def test_metadata_holds_a_bounded_amount_of_text() -> None:
    assert check_metadata("metadata", {"k": "x" * 99_000})
    with pytest.raises(InvalidInput, match="100,000 characters"):
        check_metadata("metadata", {str(n): "x" * 1_000 for n in range(101)})
