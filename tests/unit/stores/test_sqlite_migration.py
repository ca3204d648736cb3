"""An older SQLite file is brought to the newest schema wholly, after a backup, or stays as it was."""

import asyncio
import logging
import shutil
from pathlib import Path

import apsw
import pytest

from retentive.errors import StoreCorrupt, StoreUnavailable
from retentive.stores.base import Changes
from retentive.stores.sqlite import SQLiteStore, connection
from retentive.stores.sqlite.backup import backup_path, backups_of
from retentive.stores.sqlite.connection import run
from retentive.stores.sqlite.queries import load_migrations
from retentive.testing.memory_model import make_memory
from retentive.types import Scope

SAMPLE = Path(__file__).parents[2] / "samples" / "v1" / "memory.db"
ANN = Scope("acme", "ann")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of schema 1."""
    return Path(shutil.copy(SAMPLE, tmp_path / "memory.db"))


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def bytes_of(path: Path) -> bytes:
    return path.read_bytes()


def make_folder(path: Path) -> Path:
    path.mkdir()
    return path


def version_of(path: Path) -> int:
    database = apsw.Connection(str(path))
    try:
        return int(run(database, "PRAGMA user_version")[0][0])
    finally:
        database.close()


async def test_the_backup_is_the_whole_old_file_and_is_told(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SQLiteStore(path)
    with caplog.at_level(logging.WARNING):
        await store.open()
    await store.close()
    assert names_in(path.parent) == {"memory.db", "memory.db.v1.bak"}
    assert backups_of(path) == [backup_path(path, 1)]
    assert str(backup_path(path, 1)) in caplog.text
    old = apsw.Connection(str(backup_path(path, 1)))
    assert run(old, "PRAGMA integrity_check") == [("ok",)]
    assert run(old, "PRAGMA user_version") == [(1,)]
    old.close()


async def test_a_backup_put_back_in_place_is_migrated_again(path: Path) -> None:
    first = SQLiteStore(path)
    held = [row.id for row in (await first.scan(ANN, 0)).rows]
    await first.write(Changes(scope=ANN, deletes=held))
    await first.close()
    backup_path(path, 1).replace(path)
    again = SQLiteStore(path)
    assert [row.id for row in (await again.scan(ANN, 0)).rows] == held
    await again.close()
    assert names_in(path.parent) == {"memory.db", "memory.db.v1.bak"}


async def test_what_is_in_the_log_of_a_killed_process_is_in_the_backup(path: Path) -> None:
    other = apsw.Connection(str(path))
    run(other, "PRAGMA journal_mode = WAL")
    run(other, "UPDATE memories SET key = 'late' WHERE id = 'm00000001'")
    store = SQLiteStore(path)
    await store.open()
    old = apsw.Connection(str(backup_path(path, 1)))
    assert run(old, "SELECT key FROM memories WHERE id = 'm00000001'") == [("late",)]
    old.close()
    other.close()
    await store.close()


async def test_a_new_file_and_an_empty_one_need_no_backup(path: Path, tmp_path: Path) -> None:
    database = apsw.Connection(str(path))
    for table in ("memories", "gone", "scopes"):
        run(database, f"DELETE FROM {table}")
    database.close()
    for file in (path, tmp_path / "new.db"):
        store = SQLiteStore(file)
        await store.open()
        await store.close()
    assert names_in(tmp_path) == {"memory.db", "new.db"}
    assert version_of(path) == len(load_migrations())


async def test_many_that_open_an_old_file_at_once_migrate_it_once(path: Path) -> None:
    stores = [SQLiteStore(path) for _ in range(8)]
    await asyncio.gather(*(store.open() for store in stores))
    memory = make_memory(ANN, "late")
    await stores[0].write(Changes(scope=ANN, inserts=[memory], notes={"n": b"1"}))
    for store in stores:
        assert await store.get(ANN, ["late"]) == [memory]
        assert await store.notes(ANN) == {"n": b"1"}
        await store.close()
    assert version_of(backup_path(path, 1)) == 1


async def test_a_migration_that_fails_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bytes_of(path)
    broken = (*load_migrations(), "CREATE TABLE later (x); INSERT INTO missing VALUES (1)")
    monkeypatch.setattr(connection, "load_migrations", lambda: broken)
    with pytest.raises(StoreCorrupt):
        await SQLiteStore(path).open()
    assert bytes_of(path) == before
    monkeypatch.undo()
    store = SQLiteStore(path)
    assert len((await store.scan(ANN, 0)).rows) > 5
    await store.close()
    assert names_in(path.parent) == {"memory.db", "memory.db.v1.bak"}


async def test_without_a_backup_nothing_is_migrated(path: Path) -> None:
    before = bytes_of(path)
    in_the_way = make_folder(path.with_name("memory.db.v1.bak.new"))
    with pytest.raises(StoreUnavailable, match="backup before that failed"):
        await SQLiteStore(path).open()
    assert bytes_of(path) == before
    in_the_way.rmdir()
    store = SQLiteStore(path)
    await store.open()
    await store.close()
    assert version_of(path) == len(load_migrations())


async def test_a_process_that_knows_no_notes_leaves_none_of_a_scope_that_it_drops(path: Path) -> None:
    store = SQLiteStore(path)
    await store.write(Changes(scope=ANN, notes={"n": b"UNSPOKEN"}))
    older = apsw.Connection(str(path))
    run(older, "PRAGMA secure_delete = ON")
    run(older, "DELETE FROM memories")
    run(older, "DELETE FROM scopes")
    older.close()
    for number in range(4):
        await store.write(Changes(scope=Scope("other", f"{number}"), notes={"m": b""}))
        assert await store.notes(Scope("other", f"{number}")) == {"m": b""}
    assert await store.notes(ANN) == {}
    await store.close()


def test_only_copies_that_a_migration_made_are_its_backups(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    for name in (
        "memory.db.v1.bak",
        "memory.db.v12.bak",
        "memory.db.v.bak",
        "memory.db.v1.bak.new",
        "x.v1.bak",
    ):
        (tmp_path / name).touch()
    assert [copy.name for copy in backups_of(path)] == ["memory.db.v1.bak", "memory.db.v12.bak"]
    assert backups_of(tmp_path / "nowhere" / "memory.db") == []
