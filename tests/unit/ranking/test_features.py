"""What is packed beside a memory."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retentive.errors import StoreCorrupt
from retentive.ranking.features import (
    ASKS,
    ENDS_ASKING,
    FIRST_PERSON,
    HEAD,
    IS_TURN,
    KINDS,
    NO_TIME,
    ORIGINS,
    SUPERSEDED,
    TIME_WORDS,
    features,
    is_current,
    microseconds,
    pack,
    split_tags,
    unpack_many,
)
from retentive.types import MemoryItem, MemoryKind, Origin, Scope, Source

AT = datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC)


def memory(content: str = "x", **fields: object) -> MemoryItem:
    given_fields: dict[str, object] = {
        "id": "m1",
        "scope": Scope("n"),
        "kind": MemoryKind.SEMANTIC,
        "content": content,
        "created_at": AT,
        "updated_at": AT,
    }
    return MemoryItem(**(given_fields | fields))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("content", "flags"),
    [
        ("I walked home", FIRST_PERSON),
        ("That's our kettle", FIRST_PERSON),
        ("Inside the ship", 0),
        ("We'll come next week", FIRST_PERSON | TIME_WORDS),
        ("Back in 2023", TIME_WORDS),
        ("Room 2150", 0),
        ("Really?", ENDS_ASKING | ASKS),
        ("Really? Yes.", ASKS),
        ("本当\uff1f", ENDS_ASKING | ASKS),
        ("هل هذا صحيح؟ ", ENDS_ASKING | ASKS),
    ],
)
def test_flags_say_what_a_text_does(content: str, flags: int) -> None:
    assert features(memory(content)).flags == flags


def test_only_an_episode_with_a_thread_and_a_turn_is_a_turn() -> None:
    source = Source(thread="t", turns=(4, 5), speaker="Ann")
    turn = features(memory(kind=MemoryKind.EPISODIC, source=source, superseded_by="m2"))
    assert (turn.flags, turn.thread, turn.turn, turn.speaker) == (IS_TURN | SUPERSEDED, "t", 4, "Ann")
    assert not features(memory(source=source)).flags & IS_TURN


def test_what_is_packed_comes_back() -> None:
    item = memory(
        "The café leaks; the café!",
        kind=MemoryKind.PROCEDURAL,
        importance=0.75,
        tags=("red wine", "ñ"),
        occurred_at=AT - timedelta(days=3),
        valid_from=datetime.min.replace(tzinfo=UTC),
        valid_until=datetime.max.replace(tzinfo=UTC),
        source=Source(thread="läuft 7", turns=(2**31 - 1,), speaker="Бea"),
        origin=Origin.TOOL,
        success=False,
        near="m0",
    )
    columns = unpack_many([pack(features(memory("other"))), pack(features(item))])
    head = columns.heads[1]
    assert columns.words[1] == ["cafe", "leaks", "cafe"]
    assert (columns.threads[1], columns.speakers[1], columns.nears[1]) == ("läuft 7", "Бea", "m0")
    assert split_tags(columns.tags[1]) == ["red wine", "ñ"]
    assert KINDS[head["kind"]] is MemoryKind.PROCEDURAL
    assert ORIGINS[head["origin"]] is Origin.TOOL
    assert (float(head["importance"]), int(head["success"]), int(head["turn"])) == (0.75, 0, 2**31 - 1)
    assert int(head["occurred"]) == microseconds(AT - timedelta(days=3))
    assert int(head["valid_from"]) == microseconds(datetime.min.replace(tzinfo=UTC))
    assert int(head["valid_until"]) == microseconds(datetime.max.replace(tzinfo=UTC))
    assert int(head["expires"]) == NO_TIME
    assert int(columns.heads[0]["success"]) == -1
    assert split_tags(columns.tags[0]) == []


def test_what_the_first_version_packed_is_still_read_beside_the_new() -> None:
    new = pack(features(memory("café leaks", near="m0", tags=("a", "b"), valid_from=AT)))
    size = HEAD.itemsize - 16
    tail = new[HEAD.itemsize :].rpartition(b"\x1f")[0]
    first = b"\x01" + new[1:size] + tail
    after = memory("tea", superseded_by="m9", superseded_at=AT, planned_until=AT + timedelta(days=1))
    columns = unpack_many([pack(features(after)), first, new])
    assert columns.successors == ("m9", "", "")
    assert (columns.words[1], columns.nears[1], columns.tags[1]) == (columns.words[2], "m0", columns.tags[2])
    for name in HEAD.names or ():
        assert name == "packing" or columns.heads[name][1] == columns.heads[name][2], name
    assert columns.heads["superseded"].tolist() == [microseconds(AT), NO_TIME, NO_TIME]
    assert columns.heads["planned_until"].tolist() == [microseconds(AT + timedelta(days=1)), NO_TIME, NO_TIME]
    with pytest.raises(StoreCorrupt, match="damaged"):
        unpack_many([first + b"\x1fmore"])


def test_nothing_packed_gives_empty_columns() -> None:
    columns = unpack_many([])
    assert len(columns.heads) == len(columns.words) == len(columns.tags) == 0


def test_microseconds_are_exact_and_do_not_depend_on_the_zone() -> None:
    assert microseconds(AT) == 1_772_600_767_000_089
    assert microseconds(AT.astimezone(timezone(timedelta(hours=9)))) == microseconds(AT)


def test_another_version_and_damage_are_named() -> None:
    packed = pack(features(memory("some words")))
    assert is_current(packed)
    for bad in (b"", b"\x63" + packed[1:], packed[: HEAD.itemsize - 1]):
        assert not is_current(bad)
        with pytest.raises(StoreCorrupt, match="another version"):
            unpack_many([packed, bad])
    for bad in (packed[: HEAD.itemsize], packed[: HEAD.itemsize] + b"\xff\xff"):
        with pytest.raises(StoreCorrupt, match="damaged"):
            unpack_many([packed, bad])


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="\x1c\x1d\x1e\x1f", codec="utf-8")))
def test_any_text_and_label_can_be_packed(content: str, label: str) -> None:
    content = content.encode("utf-8", "ignore").decode()
    columns = unpack_many([pack(features(memory(content, source=Source(speaker=label), tags=("a", "b"))))])
    assert list(columns.words[0]) == list(features(memory(content)).words)
    assert columns.speakers[0] == label
    assert split_tags(columns.tags[0]) == ["a", "b"]
