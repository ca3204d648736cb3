"""What is written as JSON is read back equal; what cannot be read says so."""

import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retentive.codec import (
    item_from_dict,
    item_from_json,
    item_to_dict,
    item_to_json,
    time_from_text,
    time_to_text,
    turn_from_dict,
    turn_to_dict,
)
from retentive.errors import StoreCorrupt
from retentive.types import MemoryItem, MemoryKind, Origin, Scope, Source, Turn

NOON = datetime(2026, 3, 8, 12, tzinfo=UTC)
SMALL = MemoryItem(
    id="m1",
    scope=Scope("ns"),
    kind=MemoryKind.SEMANTIC,
    content="🦀 \u2028",
    created_at=NOON,
    updated_at=NOON,
)
FULL = MemoryItem(
    id="m2",
    scope=Scope("ns", "ann"),
    kind=MemoryKind.EPISODIC,
    content="content",
    importance=0.0,
    tags=("b", "a"),
    metadata={"big": 2**63, "deep": [1, {"x": None}]},
    created_at=NOON,
    updated_at=NOON + timedelta(microseconds=1),
    occurred_at=NOON,
    valid_from=NOON,
    valid_until=NOON,
    expires_at=NOON,
    source=Source(thread="t", turns=(3, 4), speaker="Ann", document="d", place="p. 5"),
    origin=Origin.TOOL,
    success=False,
    supersedes="m0",
    superseded_by="m3",
    near="m4",
    embedder="e",
)
TURN = Turn(seq=1, id="t1", role="user", content="hi", at=NOON, metadata={"a": [1]})


@pytest.mark.parametrize("item", [SMALL, FULL], ids=["small", "full"])
def test_a_memory_comes_back_equal(item: MemoryItem) -> None:
    assert item_from_json(item_to_json(item)) == item
    assert item_from_dict(item_to_dict(item)) == item
    assert "\n" not in item_to_json(item)


def test_what_is_none_or_empty_is_left_out_but_for_the_user() -> None:
    written = item_to_dict(SMALL)
    assert set(written) == {
        *(
            "id",
            "namespace",
            "user_id",
            "kind",
            "content",
            "origin",
            "importance",
            "created_at",
            "updated_at",
        ),
    }
    assert written["user_id"] is None


def test_a_turn_comes_back_equal() -> None:
    assert turn_from_dict(turn_to_dict(TURN)) == TURN
    bare = replace(TURN, metadata={})
    assert "metadata" not in turn_to_dict(bare)
    assert turn_from_dict(turn_to_dict(bare)) == bare


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])))
def test_a_time_comes_back_as_the_same_instant_in_utc(moment: datetime) -> None:
    if not datetime(2, 1, 1, tzinfo=UTC) < moment < datetime(9998, 1, 1, tzinfo=UTC):
        return
    text = time_to_text(moment)
    assert time_from_text(text) == moment
    assert time_from_text(text).utcoffset() == timedelta(0)


@given(st.datetimes(min_value=datetime(1000, 1, 1)), st.datetimes(min_value=datetime(1000, 1, 1)))  # noqa: DTZ001
def test_times_as_text_sort_as_times(one: datetime, two: datetime) -> None:
    one, two = one.replace(tzinfo=UTC), two.replace(tzinfo=UTC)
    assert (time_to_text(one) < time_to_text(two)) == (one < two)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone cannot be set there")
def test_a_time_without_zone_is_never_taken_for_the_machine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TZ", "Asia/Kolkata")
    time.tzset()
    try:
        with pytest.raises(ValueError, match="no zone"):
            time_from_text("2026-03-08T10:30:00")
        with pytest.raises(StoreCorrupt, match="no zone"):
            turn_from_dict(turn_to_dict(TURN) | {"at": "2026-03-08T10:30:00"})
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "change",
    [{"id": None}, {"kind": "odd"}, {"origin": "odd"}, {"created_at": "yesterday"}, {"created_at": 5}]  # noqa: RUF005
    + [{"namespace": "a/b"}, {"tags": 5}],
    ids=range(7),
)
def test_a_memory_that_cannot_be_read_says_so(change: dict[str, Any]) -> None:
    written: dict[str, Any] = {**item_to_dict(FULL), **change}
    if change == {"id": None}:
        del written["id"]
    with pytest.raises(StoreCorrupt):
        item_from_dict(written)


def test_text_that_is_no_json_says_so() -> None:
    with pytest.raises(StoreCorrupt, match="not JSON"):
        item_from_json('{"id":')


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 0},
        {"seq": True},
        {"seq": "1"},
        {"seq": 1.0},
        {"id": 5},
        {"role": None},
        {"content": []},
        {"at": ""},
    ],
)
def test_a_turn_that_cannot_be_read_says_so(change: dict[str, Any]) -> None:
    with pytest.raises(StoreCorrupt, match="not a turn"):
        turn_from_dict(turn_to_dict(TURN) | change)
