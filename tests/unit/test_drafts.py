"""The rules about a memory's fields that need no store."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from inspect import signature

import pytest

from retentive import InvalidInput, Memory, MemoryItem, MemoryKind, NewMemory, Origin, Scope, Source
from retentive.drafts import (
    check_edit,
    check_filters,
    check_id,
    check_kind,
    clean_query,
    key_of,
    make_item,
    text_to_embed,
)
from retentive.types import UNSET, Filters

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def made(draft: NewMemory) -> MemoryItem:
    return make_item(draft, Scope("default"), NOW, {}, lambda: "m1")


def test_remember_takes_what_a_new_memory_has_with_the_same_defaults() -> None:
    remember = {
        name: parameter.default
        for name, parameter in signature(Memory.remember).parameters.items()
        if name not in {"self", "user_id", "content"}
    }
    assert remember == {field.name: field.default for field in fields(NewMemory) if field.name != "content"}


def test_an_item_has_its_id_and_times_and_no_vector_yet() -> None:
    item = made(NewMemory(content="tea"))
    assert item == MemoryItem(
        id="m1",
        scope=Scope("default"),
        kind=MemoryKind.SEMANTIC,
        content="tea",
        created_at=NOW,
        updated_at=NOW,
        origin=Origin.USER,
    )


def test_an_id_is_spent_only_on_what_is_accepted() -> None:
    spent: list[int] = []

    def count() -> str:
        spent.append(1)
        return "m"

    with pytest.raises(InvalidInput):
        make_item(NewMemory(content="tea", key=" "), Scope("default"), NOW, {}, count)
    assert spent == []


def test_equal_statements_have_one_key_and_others_not() -> None:
    tea = made(NewMemory(content="Tea at five."))
    assert key_of(tea) == key_of(made(NewMemory(content=" tea at  five")))
    different = [
        tea,
        made(NewMemory(content="Tea at six.")),
        made(NewMemory(content="Tea at five.", valid_from=NOW)),
        made(NewMemory(content="Tea at five.", valid_until=NOW)),
        *(made(NewMemory(content="Tea at five.", kind="episodic", source=source)) for source in turns()),
    ]
    assert len({key_of(item) for item in different}) == len(different)


def turns() -> list[Source]:
    return [
        Source(thread="a", turns=(1,)),
        Source(thread="a", turns=(2,)),
        Source(thread="a", turns=(1, 2)),
        Source(thread="b", turns=(1,)),
    ]


def test_a_fact_from_a_turn_is_keyed_by_its_text_alone() -> None:
    facts = [made(NewMemory(content="Ann likes tea.", source=source)) for source in turns()]
    assert len({key_of(fact) for fact in facts}) == 1


def test_a_superseded_memory_holds_no_text() -> None:
    assert key_of(replace(made(NewMemory(content="tea")), superseded_by="m2")) is None


def test_the_speaker_leads_what_is_embedded() -> None:
    assert text_to_embed(made(NewMemory(content="Tea?", source=Source(speaker="Ann")))) == "Ann: Tea?"
    assert text_to_embed(made(NewMemory(content="Tea?", source=Source(document="d")))) == "Tea?"


def test_kinds_are_named_or_members() -> None:
    assert check_kind("working") is check_kind(MemoryKind.WORKING) is MemoryKind.WORKING
    for bad in ("Working", "", None, 1):
        with pytest.raises(InvalidInput, match="working, short_term, episodic, semantic, procedural"):
            check_kind(bad)


def test_filters_are_one_value_however_they_are_written() -> None:
    wanted = Filters(kinds=frozenset([MemoryKind.SEMANTIC]), tags=frozenset(["a", "b"]), since=NOW)
    east = NOW.astimezone().replace(tzinfo=None)
    assert check_filters(kinds="semantic", tags=["b", "a", "b"], since=NOW) == wanted
    assert check_filters(kinds=[MemoryKind.SEMANTIC], tags=("a", "b"), since=NOW) == wanted
    assert check_filters() == check_filters(kinds=[], tags=[]) == Filters()
    with pytest.raises(InvalidInput, match="time zone"):
        check_filters(since=east)


def test_an_edit_keeps_what_was_passed_and_checks_it() -> None:
    assert check_edit(content=UNSET, importance=1, tags=["a", "a"], expires_at=None) == {
        "importance": 1.0,
        "tags": ("a",),
        "expires_at": None,
    }
    with pytest.raises(InvalidInput, match="content, importance"):
        check_edit(content=UNSET)


@pytest.mark.parametrize(
    ("asked", "cleaned"),
    [("tea", "tea"), ("a\x00b", "a\ufffdb"), ("\ud8ab tea", "? tea"), ("京都 🦀", "京都 🦀"), ("", "")],
)
def test_a_query_can_always_be_looked_for(asked: str, cleaned: str) -> None:
    assert clean_query(asked).replace("\ufffd", "?") == cleaned.replace("\ufffd", "?")
    clean_query(asked).encode()


def test_an_id_is_data_and_always_text() -> None:
    assert check_id("x' OR '1'='1") == "x' OR '1'='1"
    with pytest.raises(InvalidInput):
        check_id(b"x")


def test_lifetimes_reach_no_further_than_time_does() -> None:
    with pytest.raises(InvalidInput, match="9999"):
        made(NewMemory(content="tea", ttl=timedelta(days=3_000_000)))
