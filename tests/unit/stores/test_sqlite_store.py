"""What the SQLite store promises beyond the laws of every store."""

import asyncio
import multiprocessing
import os
import random
import re
import sqlite3
import threading
from pathlib import Path

import apsw
import pytest

from retentive.errors import SchemaTooNew, StoreClosed, StoreCorrupt, StoreUnavailable
from retentive.stores.base import Changes, StoredMemory
from retentive.stores.sqlite import SQLiteStore, queries
from retentive.stores.sqlite.clean_pages import cleaned
from retentive.stores.sqlite.connection import PAGE_SIZE, run
from retentive.testing.memory_model import make_memory
from retentive.types import Scope

ANN = Scope("acme", "ann")
DESCRIPTORS = Path("/proc/self/fd")


async def insert(store: SQLiteStore, *ids: str) -> None:
    await store.write(Changes(scope=ANN, inserts=[make_memory(ANN, id) for id in ids]))


async def ids_in(store: SQLiteStore) -> list[str]:
    return [row.id for row in (await store.scan(ANN, 0)).rows]


def remove_all(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a" / "b" / "memory.db")
    await store.open()
    assert (tmp_path / "a" / "b" / "memory.db").exists()
    await store.close()


async def test_the_committed_schema_is_what_the_migrations_make(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    await store.open()
    await store.close()
    database = apsw.Connection(str(tmp_path / "memory.db"))
    made = [
        sql for (sql,) in run(database, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
    ]
    database.close()
    schema = Path(queries.__file__).with_name("schema.sql").read_text(encoding="utf-8")
    assert schema == "".join(f"{sql};\n\n" for sql in made).rstrip("\n") + "\n"


async def test_migrations_by_many_at_once_happen_once(tmp_path: Path) -> None:
    stores = [SQLiteStore(tmp_path / "memory.db") for _ in range(8)]
    await asyncio.gather(*(store.open() for store in stores))
    await asyncio.gather(*(insert(store, str(n)) for n, store in enumerate(stores)))
    assert sorted(await ids_in(stores[0])) == [str(n) for n in range(8)]
    for store in stores:
        await store.close()


async def test_a_newer_schema_is_refused_and_left_untouched(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SQLiteStore(path)
    await insert(store, "a")
    await store.close()
    database = apsw.Connection(str(path))
    run(database, "PRAGMA user_version = 999")
    database.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match=r"999.*upgrade"):
        await SQLiteStore(path).open()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"certainly not a database" * 100, b"SQLite format 3\x00" + b"\xff" * 4096]
)
async def test_what_is_no_database_is_refused_and_left_untouched(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match=re.escape(str(path))):
        await SQLiteStore(path).open()
    assert path.read_bytes() == content


async def test_a_database_of_another_program_is_refused_and_left_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    database = apsw.Connection(str(path))
    run(database, "CREATE TABLE theirs (x)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="another program"):
        await SQLiteStore(path).open()
    assert path.read_bytes() == before


async def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "memory.db").touch()
    store = SQLiteStore(tmp_path / "memory.db")
    await insert(store, "a")
    assert await ids_in(store) == ["a"]
    await store.close()


async def test_a_place_that_cannot_hold_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "memory.db", tmp_path):
        with pytest.raises(StoreUnavailable):
            await SQLiteStore(path).open()


async def test_a_lock_held_too_long_is_unavailable_and_then_free(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db", busy_timeout_s=0.01)
    await insert(store, "a")
    other = apsw.Connection(str(tmp_path / "memory.db"))
    run(other, "BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="another process"):
        await insert(store, "b")
    assert await ids_in(store) == ["a"]
    run(other, "ROLLBACK")
    other.close()
    await insert(store, "c")
    assert await ids_in(store) == ["a", "c"]
    await store.close()


async def test_a_full_disk_fails_one_write_and_harms_nothing(tmp_path: Path) -> None:
    def limit(database: apsw.Connection) -> None:
        run(database, "PRAGMA max_page_count = 60")

    apsw.connection_hooks.append(limit)
    try:
        store = SQLiteStore(tmp_path / "memory.db")
        await insert(store, "a")
        big = make_memory(ANN, "big", packed=bytes(1_000_000))
        results = await asyncio.gather(
            insert(store, "b"),
            store.write(Changes(scope=ANN, inserts=[big])),
            insert(store, "c"),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [type(None), StoreUnavailable, type(None)]
        await insert(store, "d")
        assert await ids_in(store) == ["a", "b", "c", "d"]
        await store.close()
    finally:
        apsw.connection_hooks.remove(limit)


def marked(rng: random.Random, number: int, version: int) -> StoredMemory:
    def pad() -> str:
        return "p" * rng.choice([0, 10, 200, 900, 3_000, 20_000])

    mark = f"<{number:04}v{version:03}>"
    return make_memory(
        ANN,
        f"{number:04}",
        version=version,
        content=pad() + mark + pad(),
        metadata={"m": mark},
        packed=f"{mark}{pad()}".encode(),
        vector=mark.encode() * rng.choice([1, 90, 150]),
        text_key=mark.encode(),
    )


@pytest.mark.parametrize("seed", range(3))
async def test_nothing_of_a_deleted_or_replaced_text_stays_on_disk(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    store = SQLiteStore(tmp_path / "memory.db")
    versions = dict.fromkeys(range(60), 0)
    for number in versions:
        await store.write(Changes(scope=ANN, inserts=[marked(rng, number, 0)]))
    while versions:
        number = rng.choice(list(versions))
        if rng.random() < 0.6:
            del versions[number]
            await store.write(Changes(scope=ANN, deletes=[f"{number:04}"]))
        else:
            versions[number] += 1
            await store.write(Changes(scope=ANN, updates=[marked(rng, number, versions[number])]))
        on_disk = set(re.findall(rb"<(\d{4})v(\d{3})>", bytes_in(tmp_path)))
        assert on_disk == {(b"%04d" % number, b"%03d" % version) for number, version in versions.items()}
    assert b"ann" not in bytes_in(tmp_path)
    await store.close()


@pytest.mark.parametrize("seed", range(3))
async def test_nothing_of_a_removed_or_replaced_note_stays_on_disk(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    store = SQLiteStore(tmp_path / "memory.db")
    versions: dict[int, int] = {}
    for step in range(150):
        number, version = rng.randrange(30), None if rng.random() < 0.4 else step
        mark = f"<{number:04}v{version:03}>" if version is not None else ""
        value = (mark + "p" * rng.choice([0, 100, 900, 3_000, 20_000, 200_000]) + mark).encode()
        await store.write(
            Changes(scope=ANN, notes={f"note-{number:04}" + "n" * number: value if mark else None})
        )
        versions.pop(number, None)
        if version is not None:
            versions[number] = version
        on_disk = bytes_in(tmp_path)
        marks = set(re.findall(rb"<(\d{4})v(\d{3})>", on_disk))
        assert marks == {(b"%04d" % number, b"%03d" % version) for number, version in versions.items()}
        assert set(re.findall(rb"note-(\d{4})", on_disk)) == {b"%04d" % number for number in versions}
    await store.write(Changes(scope=ANN, notes=dict.fromkeys(await store.notes(ANN))))
    assert b"note-" not in bytes_in(tmp_path)
    assert b"ann" not in bytes_in(tmp_path)
    await store.close()


async def test_a_reader_delays_the_wiping_of_the_log_but_no_write(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SQLiteStore(path)
    await insert(store, "a")
    await store.write(Changes(scope=ANN, inserts=[make_memory(ANN, "b", content="UNSPOKEN")]))
    reader = apsw.Connection(str(path))
    run(reader, "BEGIN")
    assert run(reader, "SELECT count(*) FROM memories") == [(2,)]
    assert (await store.write(Changes(scope=ANN, deletes=["b"]))).deleted == ["b"]
    assert await ids_in(store) == ["a"]
    assert b"UNSPOKEN" in bytes_in(tmp_path)
    reader.close()
    await store.write(Changes(scope=ANN, deletes=["a"]))
    assert b"UNSPOKEN" not in bytes_in(tmp_path)
    await store.close()


async def test_waiting_writes_share_a_transaction(tmp_path: Path) -> None:
    commits = 0

    def count(*_: object) -> bool:
        nonlocal commits
        commits += 1
        return False

    def hook(database: apsw.Connection) -> None:
        database.set_commit_hook(count)

    apsw.connection_hooks.append(hook)
    try:
        store = SQLiteStore(tmp_path / "memory.db")
        await store.open()
        before = commits
        await asyncio.gather(*(insert(store, f"{n}") for n in range(100)))
        assert commits - before < 50
        await store.close()
    finally:
        apsw.connection_hooks.remove(hook)


async def test_another_store_object_sees_a_write_at_once(tmp_path: Path) -> None:
    one, other = SQLiteStore(tmp_path / "memory.db"), SQLiteStore(tmp_path / "memory.db")
    position = 0
    for n in range(20):
        await insert(one, f"{n}")
        scan = await other.scan(ANN, position)
        assert [row.id for row in scan.rows] == [f"{n}"]
        position = scan.position
    await one.close()
    await other.close()


async def test_people_can_read_it_with_sqlite(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    await store.write(Changes(scope=ANN, inserts=[make_memory(ANN, "a", content="Ann likes tea: \u8336")]))
    await store.close()
    database = sqlite3.connect(tmp_path / "memory.db")
    found = database.execute("SELECT id, kind, content FROM memories").fetchall()
    database.close()
    assert found == [("a", "semantic", "Ann likes tea: \u8336")]


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="counts descriptors through /proc")
def test_res_1_event_loops_and_threads_leave_no_descriptors(tmp_path: Path) -> None:
    async def use(store: SQLiteStore, n: int) -> None:
        await insert(store, f"{n}")
        assert f"{n}" in await ids_in(store)

    def count() -> int:
        return len(list(DESCRIPTORS.iterdir()))

    at_start = count()
    store = SQLiteStore(tmp_path / "memory.db")
    counts: list[int] = []
    for n in range(200):
        asyncio.run(use(store, n))
        thread = threading.Thread(target=lambda: asyncio.run(store.get(ANN, ["0"])))
        thread.start()
        thread.join()
        counts.append(count())
    assert counts[-1] - counts[9] <= 3
    closing = threading.Thread(target=lambda: asyncio.run(store.close()))
    closing.start()
    closing.join()
    assert count() == at_start
    with pytest.raises(StoreClosed):
        asyncio.run(store.get(ANN, ["0"]))


async def test_a_store_that_nobody_closed_is_let_go(tmp_path: Path) -> None:
    before = threading.active_count()
    store = SQLiteStore(tmp_path / "memory.db")
    await insert(store, "a")
    assert [thread.name for thread in threading.enumerate()].count("retentive-sqlite") == 1
    del store
    assert threading.active_count() <= before + 1  # the event loop's own worker
    assert "retentive-sqlite" not in [thread.name for thread in threading.enumerate()]


def _write_in_child(store: SQLiteStore, name: str) -> None:
    async def work() -> None:
        await insert(store, *[f"{name}-{n}" for n in range(5)])
        assert len(await ids_in(store)) >= 5

    asyncio.run(work())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_an_open_store_survives_a_fork_on_both_sides(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    _write_in_child(store, "before")
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_write_in_child, args=(store, f"child{n}")) for n in range(3)]
    for child in children:
        child.start()
    _write_in_child(store, "parent")
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert len(asyncio.run(ids_in(store))) == 25
    asyncio.run(store.close())
    database = apsw.Connection(str(tmp_path / "memory.db"))
    assert run(database, "PRAGMA integrity_check") == [("ok",)]
    database.close()


async def test_no_page_on_disk_holds_stale_bytes_in_its_unused_middle(tmp_path: Path) -> None:
    rng = random.Random(5)
    store = SQLiteStore(tmp_path / "memory.db")
    for number in range(150):
        scope = Scope("acme", f"user{number % 3}")
        packed = b"x" * rng.choice([10, 900, 3_000])
        await store.write(Changes(scope=scope, inserts=[make_memory(scope, f"{number}", packed=packed)]))
    await store.close()
    data = (tmp_path / "memory.db").read_bytes()
    offsets = range(0, len(data), PAGE_SIZE)
    pages = [data[offset : offset + PAGE_SIZE] for offset in offsets]
    assert [cleaned(page, offset) for page, offset in zip(pages, offsets, strict=True)] == pages


async def test_a_file_removed_under_an_open_store_is_not_written_into(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    await store.open()
    await insert(store, "m1")
    remove_all(tmp_path)
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        await insert(store, "m2")
    await store.close()
