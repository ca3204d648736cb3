"""What earlier releases left on disk is read, and goes on being used, by today's code."""

import json
import runpy
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from retentive import Memory
from retentive.stores.base import Changes, MemoryStore
from retentive.stores.file import FileStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.sqlite import SQLiteStore
from retentive.stores.sqlite.backup import backup_path, backups_of
from retentive.stores.sqlite.queries import load_migrations
from retentive.testing.clocks import START, FakeClock
from retentive.types import Scope

SAMPLES = Path(__file__).parents[2] / "samples"
FOLDERS = sorted(path for path in SAMPLES.iterdir() if (path / "expected.json").exists())
MAKER = runpy.run_path(str(SAMPLES / "make_samples.py"), run_name="maker")
ANN = Scope("acme", "ann")


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the sample."""
    folder = tmp_path / request.param.name
    shutil.copytree(request.param, folder)
    return folder


@pytest.fixture(params=["sqlite", "file"])
def store(request: pytest.FixtureRequest, sample: Path) -> MemoryStore:
    """A store on the copy."""
    return SQLiteStore(sample / "memory.db") if request.param == "sqlite" else FileStore(sample / "memories")


def expected(sample: Path) -> dict[str, Any]:
    return json.loads((sample / "expected.json").read_text(encoding="utf-8"))


def version_of(path: Path) -> int:
    database = sqlite3.connect(path)
    (version,) = database.execute("PRAGMA user_version").fetchone()
    database.close()
    return int(version)


def rows_of(path: Path) -> list[Any]:
    database = sqlite3.connect(path)
    rows = [
        database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
        for table in ("scopes", "memories", "gone", "floor")
    ]
    database.close()
    return rows


def test_every_schema_before_this_one_has_a_sample() -> None:
    versions = {version_of(folder / "memory.db") for folder in FOLDERS}
    assert versions >= set(range(1, len(load_migrations())))
    assert {folder.name for folder in FOLDERS} == {f"v{version}" for version in versions}


async def test_a_store_holds_what_it_held(store: MemoryStore, sample: Path) -> None:
    assert await MAKER["memories_of"](store) == expected(sample)["memories"]
    if isinstance(store, FileStore):
        assert [await store.damage(name) for name in await store.namespaces()] == [[], []]
    await store.close()


async def test_threads_hold_what_they_held(sample: Path) -> None:
    threads = JsonlThreadStore(sample / "threads")
    assert await MAKER["turns_of"](threads) == expected(sample)["threads"]
    await threads.close()


async def test_a_store_goes_on_being_used(store: MemoryStore, sample: Path) -> None:
    ids = [row.id for row in (await store.scan(ANN, 0)).rows]
    position = (await store.scan(ANN, 0)).position
    (first,) = await store.get(ANN, ids[:1])
    assert first is not None
    await store.write(
        Changes(scope=ANN, deletes=[ids[-1]], updates=[first], notes={"n": b"1"}, expected={"n": None})
    )
    scan = await store.scan(ANN, position)
    assert ([row.id for row in scan.rows], list(scan.gone)) == ([ids[0]], [ids[-1]])
    assert await store.notes(ANN) == {"n": b"1"}
    assert len(await MAKER["memories_of"](store)) == len(expected(sample)["memories"]) - 1
    await store.close()


async def test_memories_are_found_and_kept_apart_as_before(store: MemoryStore) -> None:
    clock = FakeClock(START.replace(month=2))
    memory = Memory("acme", store=store, clock=clock)
    hits = await memory.recall("When does the ferry leave?", user_id="ann")
    assert {hit.content for hit in hits[:2]} == {
        "The ferry leaves pier 4 at 9:30.",
        "The ferry leaves pier 5 at 9:30.",
    }
    assert "4711" not in str(await memory.recall("What is the guest code?", user_id="ann"))
    assert "coffee" not in str(await memory.recall("Does Ann drink coffee?", user_id="ann"))
    again = await memory.remember("The ferry leaves pier 4 at 9:30.", user_id="ann", key="ferry")
    assert again.content == "The ferry leaves pier 4 at 9:30."
    assert [hit.content for hit in await memory.recall("Where is the office?")][:1] == [
        "The office is in Tromsø."
    ]
    assert "heron" not in str(await memory.recall("What is the launch word?"))
    await store.close()


async def test_an_older_sqlite_file_is_kept_before_its_schema_changes(sample: Path) -> None:
    path = sample / "memory.db"
    version, before = version_of(path), rows_of(path)
    store = SQLiteStore(path)
    await store.open()
    await store.close()
    assert version_of(path) == len(load_migrations())
    assert rows_of(path) == before
    if version < len(load_migrations()):
        kept = backup_path(path, version)
        assert backups_of(path) == [kept]
        assert (version_of(kept), rows_of(kept)) == (version, before)
