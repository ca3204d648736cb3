"""A redaction of a sealed thread is an honest change; without the key nobody makes one, or undoes one."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from retentive import InvalidInput, StoreUnavailable, Tampered
from retentive.encryption import Encryption, FolderRing
from retentive.guards import Guards
from retentive.integrity import FolderAnchor, Head, Integrity, SealedThreadStore, adopt, audit, sealed_threads
from retentive.stores.base import KeepsFiles, LogRead, NewTurn, Redacts
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.wrapped import able
from retentive.types import REDACTED

KEY = b"k" * 32
AT = datetime(2026, 3, 8, 12, tzinfo=UTC)
ALL = ("one", "two", "three", "four")


class Refusing(FolderAnchor):
    """Keeps no head of redactions, as if its writer were killed before it."""

    async def advance(self, name: str, head: Head) -> Head:
        if head.label and json.loads(head.label)[1] == "redactions":
            raise StoreUnavailable("the anchor is away")
        return await super().advance(name, head)


def sealed(folder: Path, anchor: FolderAnchor | None = None) -> SealedThreadStore:
    settings = Integrity(key=KEY, anchor=anchor or FolderAnchor(folder / "anchor"))
    return sealed_threads(JsonlThreadStore(folder / "t"), settings)


def log(folder: Path) -> Path:
    return folder / "t" / "ns" / "t.jsonl"


async def say(store: SealedThreadStore, *texts: str) -> None:
    since = (await store.turns("ns", "t")).position
    turns = [NewTurn(id=f"{since + n}", role="user", content=text, at=AT) for n, text in enumerate(texts)]
    await store.append("ns", "t", turns, since)


async def contents(store: SealedThreadStore) -> list[str]:
    return [turn.content for turn in (await store.turns("ns", "t")).turns]


def change_line(folder: Path, number: int, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the turn of this number, as somebody with an editor does."""
    lines = log(folder).read_text().splitlines()
    for index, line in enumerate(lines):
        turn = json.loads(line)
        if turn.get("seq") == number:
            change(turn)
            lines[index] = json.dumps(turn)
    log(folder).write_text("\n".join(lines) + "\n")


async def test_a_redacted_thread_is_genuine_to_everybody_and_goes_on(tmp_path: Path) -> None:
    store, reader = sealed(tmp_path), sealed(tmp_path)
    await say(store, *ALL)
    assert await contents(reader) == list(ALL)
    assert [turn.content for turn in await store.redact("ns", "t", [2, 3], AT)] == ["two", "three"]
    left = ["one", REDACTED, REDACTED, "four"]
    assert await contents(store) == await contents(reader) == await contents(sealed(tmp_path)) == left
    await say(reader, "five")
    await store.redact("ns", "t", [5], AT)
    assert await contents(sealed(tmp_path)) == [*left, REDACTED]
    assert b"two" not in log(tmp_path).read_bytes()
    integrity = Integrity(key=KEY, anchor=FolderAnchor(tmp_path / "anchor"))
    assert (await audit(InMemoryStore(), JsonlThreadStore(tmp_path / "t"), integrity)).is_clean


@pytest.mark.parametrize("redacted", [[1], [4], [2, 3], [1, 2, 3, 4]])
@pytest.mark.parametrize("reads_first", [True, False])
async def test_what_was_redacted_does_not_come_back(
    tmp_path: Path, redacted: list[int], reads_first: bool
) -> None:
    store, reader = sealed(tmp_path), sealed(tmp_path)
    await say(store, *ALL)
    old = log(tmp_path).read_bytes()
    await store.redact("ns", "t", redacted, AT)
    if reads_first:
        await contents(reader)
    log(tmp_path).write_bytes(old)
    for one in (store, reader, sealed(tmp_path)):
        with pytest.raises(Tampered) as refused:
            await one.turns("ns", "t")
        assert refused.value.kind == "rolled back"


async def test_one_of_several_redactions_does_not_come_back_alone(tmp_path: Path) -> None:
    store = sealed(tmp_path)
    await say(store, *ALL)
    old = [json.loads(line) for line in log(tmp_path).read_text().splitlines()]
    await store.redact("ns", "t", [2], AT)
    await store.redact("ns", "t", [3], AT)
    change_line(tmp_path, 2, lambda turn: turn.update(old[1]))
    with pytest.raises(Tampered, match="there again"):
        await sealed(tmp_path).turns("ns", "t")


async def test_without_the_key_nobody_redacts(tmp_path: Path) -> None:
    await say(sealed(tmp_path), *ALL)
    await JsonlThreadStore(tmp_path / "t").redact("ns", "t", [2], AT)
    with pytest.raises(Tampered):
        await sealed(tmp_path).turns("ns", "t")


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "when": lambda turn: turn["metadata"].update(redacted_at="2020-01-01T00:00:00.000000Z"),
    "role": lambda turn: turn.update(role="assistant"),
    "id": lambda turn: turn.update(id="another"),
    "content": lambda turn: turn.update(content="said after all"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_what_is_left_of_a_turn_is_sealed(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    store = sealed(tmp_path)
    await say(store, *ALL)
    await store.redact("ns", "t", [2], AT)
    change_line(tmp_path, 2, change)
    with pytest.raises(Tampered):
        await sealed(tmp_path).turns("ns", "t")


async def test_what_is_left_of_two_turns_does_not_trade_places(tmp_path: Path) -> None:
    store = sealed(tmp_path)
    await say(store, *ALL)
    await store.redact("ns", "t", [2, 3], AT)
    lines = [json.loads(line) for line in log(tmp_path).read_text().splitlines()]
    turns = {line["seq"]: line for line in lines if "seq" in line}
    change_line(tmp_path, 2, lambda turn: turn.update({**turns[3], "seq": 2}))
    change_line(tmp_path, 3, lambda turn: turn.update({**turns[2], "seq": 3}))
    with pytest.raises(Tampered):
        await sealed(tmp_path).turns("ns", "t")


async def test_a_kill_before_the_anchor_leaves_a_genuine_redaction_that_the_next_reader_anchors(
    tmp_path: Path,
) -> None:
    store = sealed(tmp_path, Refusing(tmp_path / "anchor"))
    await say(store, *ALL)
    with pytest.raises(StoreUnavailable):
        await store.redact("ns", "t", [2], AT)
    assert await contents(sealed(tmp_path)) == ["one", REDACTED, "three", "four"]
    integrity = Integrity(key=KEY, anchor=FolderAnchor(tmp_path / "anchor"))
    assert (await audit(InMemoryStore(), JsonlThreadStore(tmp_path / "t"), integrity)).is_clean


async def test_an_old_copy_is_told_once_a_reader_has_anchored_the_redaction(tmp_path: Path) -> None:
    store = sealed(tmp_path, Refusing(tmp_path / "anchor"))
    await say(store, *ALL)
    old = log(tmp_path).read_bytes()
    with pytest.raises(StoreUnavailable):
        await store.redact("ns", "t", [2], AT)
    await contents(sealed(tmp_path))
    log(tmp_path).write_bytes(old)
    with pytest.raises(Tampered, match="there again"):
        await sealed(tmp_path).turns("ns", "t")


async def test_a_thread_that_was_changed_is_not_redacted(tmp_path: Path) -> None:
    store = sealed(tmp_path)
    await say(store, *ALL)
    changed = log(tmp_path).read_bytes().replace(b"four", b"five")
    log(tmp_path).write_bytes(changed)
    for one in (store, sealed(tmp_path)):
        with pytest.raises(Tampered):
            await one.redact("ns", "t", [2], AT)
        assert log(tmp_path).read_bytes() == changed


async def test_redactions_and_appends_of_several_stores_are_all_kept(tmp_path: Path) -> None:
    await say(sealed(tmp_path), *ALL)
    stores = [sealed(tmp_path) for _ in range(4)]

    async def append(store: SealedThreadStore, name: str) -> LogRead:
        return await store.append("ns", "t", [NewTurn(id=name, role="user", content=name, at=AT)], 0)

    await asyncio.gather(
        *(store.redact("ns", "t", [number], AT) for number, store in enumerate(stores, start=1)),
        *(append(store, f"more {number}") for number, store in enumerate(stores)),
    )
    for store in (*stores, sealed(tmp_path)):
        found = await contents(store)
        assert found[:4] == [REDACTED] * 4
        assert sorted(found[4:]) == [f"more {number}" for number in range(4)]


async def test_turns_that_were_taken_as_found_can_be_redacted(tmp_path: Path) -> None:
    bare = JsonlThreadStore(tmp_path / "t")
    turns = [NewTurn(id=text, role="user", content=text, at=AT) for text in ALL]
    await bare.append("ns", "t", turns, 0)
    integrity = Integrity(key=KEY, anchor=FolderAnchor(tmp_path / "anchor"))
    await adopt(InMemoryStore(), bare, integrity)
    old = log(tmp_path).read_bytes()
    await sealed(tmp_path).redact("ns", "t", [1, 3], AT)
    assert await contents(sealed(tmp_path)) == [REDACTED, "two", REDACTED, "four"]
    await say(sealed(tmp_path), "five")
    assert (await audit(InMemoryStore(), bare, integrity)).is_clean
    log(tmp_path).write_bytes(old)
    with pytest.raises(Tampered):
        await sealed(tmp_path).turns("ns", "t")


async def test_a_redacted_thread_that_is_taken_as_found_stays_redacted(tmp_path: Path) -> None:
    store = sealed(tmp_path)
    await say(store, *ALL)
    await store.redact("ns", "t", [2], AT)
    change_line(tmp_path, 4, lambda turn: turn.update(content="edited"))
    await store.adopt("ns", "t")
    await store.redact("ns", "t", [1], AT)
    assert await contents(sealed(tmp_path)) == [REDACTED, REDACTED, "three", "edited"]


async def test_a_deleted_thread_leaves_no_name_and_its_next_life_begins_without_redactions(
    tmp_path: Path,
) -> None:
    anchor, store = FolderAnchor(tmp_path / "anchor"), sealed(tmp_path)
    for _ in range(2):
        await say(store, *ALL)
        await store.redact("ns", "t", [2], AT)
        assert sum(bool(head.label) for head in (await anchor.heads()).values()) == 2
        old = log(tmp_path).read_bytes()
        await store.delete("ns", "t")
        assert not any(head.label for head in (await anchor.heads()).values())
        assert await contents(store) == []
    await say(store, "anew")
    log(tmp_path).write_bytes(old)  # pyright: ignore[reportPossiblyUnboundVariable]
    with pytest.raises(Tampered):
        await sealed(tmp_path).turns("ns", "t")


class Unable:
    """A store of threads that only keeps them."""

    def __init__(self) -> None:
        store = InMemoryThreadStore()
        self.url, self.append, self.turns, self.threads = store.url, store.append, store.turns, store.threads
        self.namespaces, self.delete, self.close = store.namespaces, store.delete, store.close


async def test_guards_have_no_power_that_the_store_below_lacks(tmp_path: Path) -> None:
    guards = Guards(
        Integrity(key=KEY, anchor=FolderAnchor(tmp_path / "anchor")),
        Encryption(key=KEY, ring=FolderRing(tmp_path / "ring")),
    )
    for kind in (Guards(guards.integrity), Guards(None, guards.encryption), guards):
        store = kind.threads(Unable())
        assert able(store, Redacts) is able(store, KeepsFiles) is None
        assert isinstance(store, Redacts)
        with pytest.raises(InvalidInput, match="cannot redact"):
            await store.redact("ns", "t", [1], AT)
        assert able(kind.threads(JsonlThreadStore(tmp_path)), KeepsFiles) is not None
