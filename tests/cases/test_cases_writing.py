"""The handed cases of concurrency, deletes, updates, aliasing and resources, for memories, by their ids."""

import asyncio
import datetime as dt
import enum
import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import apsw
import pytest

from retentive import AuditLog, InvalidInput, Memory, StoreClosed
from retentive.audit import read_audit
from retentive.testing.embedders import HashingEmbedder, ScriptedEmbedder
from retentive.testing.places import KINDS_OF_STORE, Place

LIST_ALL = """
import asyncio, json, sys
from retentive import Memory
async def main():
    async with Memory(store=sys.argv[1]) as memory:
        print(json.dumps([item.content for item in await memory.list(user_id=sys.argv[2], limit=1000)]))
asyncio.run(main())
"""


def listed_elsewhere(place: Place, user: str) -> list[str]:
    """The texts as another process reads them."""
    command = [
        sys.executable,
        "-c",
        LIST_ALL,
        place.store().url.replace("sqlite:///", "sqlite:////", 1),
        user,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def asked(database: Path, statement: str) -> list[Any]:
    connection = apsw.Connection(str(database))
    rows = cast("list[Any]", connection.execute(statement).fetchall())  # pyright: ignore[reportUnknownMemberType]
    connection.close()
    return rows


def check_files(place: Place) -> None:
    """Every line of every journal is JSON, and every database is whole."""
    for path in place.folder.rglob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            json.loads(line)
    for path in place.folder.rglob("*.db"):
        assert asked(path, "PRAGMA integrity_check") == [("ok",)]


async def test_con_1_fifty_writes_and_reads_at_once_lose_and_break_nothing(place: Place) -> None:
    memory = place.open()
    texts = [f"berth {number} is reserved for boat {number}" for number in range(50)]
    writes = [memory.remember(text, user_id="u1") for text in texts]
    reads = [memory.recall("berth", user_id="u1", limit=5) for _ in range(50)]
    items, recalls = await asyncio.gather(asyncio.gather(*writes), asyncio.gather(*reads))
    assert len({item.id for item in items}) == len(recalls) == 50
    await memory.close()
    if place.keeps:
        await place.close()
        assert sorted(listed_elsewhere(place, "u1")) == sorted(texts)
    assert sorted(item.content for item in await place.open().list(user_id="u1")) == sorted(texts)
    check_files(place)


async def test_del_1_the_old_wording_is_gone_from_everywhere(place: Place) -> None:
    memory = place.open(embedder=HashingEmbedder())
    item = await memory.remember("Elin rows for Harbour Club")
    place.clock.move(seconds=1)
    changed = await memory.update(item.id, content="Elin rows for Lakeside Club")
    assert (changed.id, changed.created_at) == (item.id, item.created_at)
    assert changed.updated_at > item.updated_at
    words_only = place.open(embedder=HashingEmbedder(name="other"))
    for reader in (memory, words_only):
        assert [hit.content for hit in await reader.recall("Lakeside", limit=3)] == [changed.content]
        assert all("words" not in hit.why for hit in await reader.recall("Harbour", limit=3))
    assert await words_only.recall("Harbour", limit=3) == []
    if place.keeps:
        await place.close()
        on_disk = place.bytes_on_disk().lower()
        assert b"lakeside" in on_disk
        assert b"harbour" not in on_disk
        memory = place.open(embedder=HashingEmbedder())
    again = await memory.remember("Elin rows for Harbour Club")
    assert again.id != item.id
    assert await memory.count() == 2


async def test_del_1_the_vector_is_that_of_the_new_wording(place: Place) -> None:
    vectors = {"old": (1.0, 0.0), "new": (0.0, 1.0), "other": (0.6, 0.8), "ask": (0.0, 1.0)}
    memory = place.open(embedder=VectorsOnly(vectors, dimensions=2))
    item = await memory.remember("old")
    await memory.remember("other")
    assert [hit.content for hit in await memory.search("ask")] == ["other"]
    await memory.update(item.id, content="new")
    assert [hit.content for hit in await memory.search("ask")] == ["new", "other"]


class VectorsOnly(ScriptedEmbedder):
    """No word of it is like another."""

    def words(self, words: Any) -> Any:
        import numpy as np

        return np.zeros((len(words), self.dimensions), dtype=np.float32)


@pytest.mark.parametrize("key", [None, "mine"])
async def test_del_2_what_was_forgotten_can_be_remembered_again(memory: Memory, key: str | None) -> None:
    ids: set[str] = set()
    for _ in range(3):
        item = await memory.remember("The gate code is 7781", key=key)
        ids.add(item.id)
        assert await memory.get(item.id) == item
        await memory.forget(item.id)
        assert await memory.count() == 0
    last = await memory.remember("The gate code is 7781", key=key)
    assert list(await memory.list()) == [last]
    assert len(ids | {last.id}) == 4


async def test_del_3_nothing_is_left_of_what_was_forgotten(place: Place) -> None:
    memory = place.open()
    kinds = ["semantic"] * 10 + ["procedural"] * 5 + ["episodic"] * 5
    items = [
        await memory.remember(
            f"zebrafact{number} is on shelf {number}", user_id="u", kind=kind, tags=[f"zebratag{number}"]
        )
        for number, kind in enumerate(kinds)
    ]
    for item in items[:10]:
        assert (await memory.forget(item.id, user_id="u")).removed["rows"] == 1
    await check_left(place, range(10, 20))
    assert len((await memory.clear(user_id="u", kinds="procedural")).ids) == 5
    await check_left(place, range(15, 20))
    assert len((await memory.clear(user_id="u")).ids) == 5
    await check_left(place, range(0))
    assert not await memory.forget(items[0].id, user_id="u")
    assert not await memory.forget("nothing", user_id="u")


async def test_del_3_the_older_versions_of_what_is_forgotten_go_with_it(place: Place) -> None:
    memory = place.open()
    kept, item = await memory.remember_many(
        ["zebrafact0 is on shelf 0", "zebrafact1 is on shelf 1"], user_id="u"
    )
    for number in (2, 3):
        item = await memory.supersede(item.id, f"zebrafact{number} is on shelf {number}", user_id="u")
    receipt = await memory.forget(item.id, user_id="u")
    assert (receipt.removed["rows"], receipt.removed["history"]) == (3, 2)
    assert await memory.history(item.id, user_id="u") == []
    assert [one.id for one in await memory.list(user_id="u", include_superseded=True)] == [kept.id]
    on_disk = place.bytes_on_disk() if place.keeps else b""
    for number in (1, 2, 3):
        assert f"zebrafact{number}".encode() not in on_disk


async def test_del_3_every_receipt_is_verified(place: Place) -> None:
    memory = place.open()
    items = [await memory.remember(f"zebrafact{n} is on shelf {n}", user_id="u") for n in range(6)]
    receipts = [await memory.forget(item.id, user_id="u") for item in items[:3]]
    receipts.append(await memory.clear(user_id="u"))
    for receipt in receipts:
        verdict = await memory.verify_forgotten(receipt)
        assert verdict, verdict


async def test_del_3_the_audit_log_and_the_counts_of_use_keep_no_words(place: Place, tmp_path: Path) -> None:
    log = tmp_path / "audit" / "audit.jsonl"
    memory = place.open(audit=AuditLog(log), track_use=True)
    items = [
        await memory.remember(f"zebrafact{n} is on shelf {n}", user_id="u", tags=[f"zebratag{n}"])
        for n in range(6)
    ]
    await memory.recall("Where is zebrafact1?", user_id="u")
    receipt = await memory.forget(items[1].id, user_id="u")
    assert await memory.verify_forgotten(receipt)
    await memory.clear(user_id="u")
    await memory.close()
    verbs = [entry.verb for entry in read_audit(log) if entry is not None and items[1].id in entry.ids]
    assert verbs == ["remember", "recall", "forget"]
    written = log.read_bytes() + (place.bytes_on_disk() if place.keeps else b"")
    assert b"zebra" not in written
    assert await place.open().scopes() == []


async def check_left(place: Place, left: range) -> None:
    reader = place.open()
    assert await reader.count(user_id="u") == len(left)
    found = await reader.recall("zebrafact shelf", user_id="u", limit=100)
    assert {hit.content for hit in found} <= {f"zebrafact{number} is on shelf {number}" for number in left}
    on_disk = place.bytes_on_disk() if place.keeps else b""
    for number in range(20):
        for word in (f"zebrafact{number} ", f'zebratag{number}"'):
            assert (word.encode() in on_disk) == (number in left and place.keeps), word
    for path in place.folder.rglob("*.db"):
        assert asked(path, "SELECT count(*), count(vector), count(packed) FROM memories") == [
            (len(left),) * 3
        ]
        assert asked(path, "SELECT count(*) FROM scopes") == [(1 if left else 0,)]


async def test_jsn_1_nobody_changes_a_memory_through_an_alias(place: Place) -> None:
    memory = place.open()
    meta: dict[str, Any] = {"tags": ["a"]}
    item = await memory.remember("x", metadata=meta)
    meta["tags"].append("b")
    read = await memory.get(item.id)
    assert read is not None
    read.metadata["tags"].append("c")  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess, reportUnknownMemberType]
    item.metadata["tags"].append("d")  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess, reportUnknownMemberType]
    for reader in (memory, place.open()):
        again = await reader.get(item.id)
        assert again is not None
        assert again.metadata == {"tags": ["a"]}
    assert (await memory.remember("y")).metadata == {}


class Colour(enum.Enum):
    RED = "red"


NOT_JSON: list[Any] = [
    b"\xff\xfe",
    dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
    dt.date(2026, 1, 2),
    uuid.UUID(int=1),
    Decimal("10.10"),
    Colour.RED,
    {3, 1},
    Path("a"),
    {1: "a"},
    object(),
]


@pytest.mark.parametrize("value", NOT_JSON, ids=lambda value: type(value).__name__)
async def test_jsn_2_what_json_cannot_hold_is_refused_with_its_place(memory: Memory, value: Any) -> None:
    await memory.remember("there before")
    with pytest.raises(InvalidInput, match=r"metadata\.deep\[1\]"):
        await memory.remember("x", metadata={"deep": [0, value]})
    item = await memory.remember("y")
    with pytest.raises(InvalidInput, match=r"metadata\.deep\[1\]"):
        await memory.update(item.id, metadata={"deep": [0, value]})
    assert await memory.count() == 2
    assert await memory.get(item.id) == item


async def test_jsn_2_what_json_can_hold_comes_back_equal(place: Place) -> None:
    given = {"n": 2**63, "m": -(2**63) - 1, "t": (1, 2), "f": 0.1, "s": "\u2028🦀"}
    item = await place.open().remember("x", metadata=given)
    read = await place.open().get(item.id)
    assert read is not None
    assert read.metadata == given | {"t": [1, 2]}
    assert isinstance(read.metadata["n"], int)


def descriptors() -> int:
    for listing in ("/proc/self/fd", "/dev/fd"):
        if Path(listing).is_dir():
            return len(os.listdir(listing))  # noqa: PTH208
    pytest.skip("this system does not list open files")


@pytest.mark.parametrize("kind", KINDS_OF_STORE)
def test_res_1_descriptors_do_not_grow_with_loops_or_threads(kind: str, tmp_path: Path) -> None:
    start = descriptors()
    place = Place(kind, tmp_path)
    memory = place.open(embedder=HashingEmbedder())

    async def turn(number: int) -> None:
        await memory.remember(f"note {number}")
        assert await memory.recall(f"note {number}")

    def in_thread(call: Callable[[], Awaitable[Any]]) -> None:
        async def made() -> None:
            await call()

        worker = threading.Thread(target=lambda: asyncio.run(made()))
        worker.start()
        worker.join()

    at_10 = 0
    for number in range(200):
        asyncio.run(turn(number))
        in_thread(lambda: memory.count())
        if number == 10:
            at_10 = descriptors()
    assert descriptors() - at_10 <= 3
    in_thread(place.close)
    assert descriptors() <= start
    with pytest.raises(StoreClosed):
        asyncio.run(turn(0))
