"""A process that brings an old SQLite file to the newest schema is killed at chosen points of it.

Run as a script this file is such a process: `<this file> <database> <moment> <count>`.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from retentive.stores.base import Changes, StoredMemory
from retentive.stores.sqlite import SQLiteStore, clean_pages
from retentive.stores.sqlite.backup import backup_path
from retentive.stores.sqlite.queries import load_migrations
from retentive.types import Scope

SAMPLE = Path(__file__).parents[1] / "samples" / "v1" / "memory.db"
ANN = Scope("acme", "ann")
KILLED = 9


def die_at(moment: str, count: int) -> None:
    """End this process without any tidying when the moment comes for the n-th time."""
    left = [count]

    def tick(*_: Any) -> bool:
        left[0] -= 1
        if left[0] <= 0:
            os._exit(KILLED)
        return False

    def before(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: (tick(), function(*args, **kwargs))[1]

    def after(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: (function(*args, **kwargs), tick())[0]

    hooks: dict[str, Callable[[], Any]] = {
        "at a page written": lambda: setattr(clean_pages, "cleaned", before(clean_pages.cleaned)),
        "before the backup has its name": lambda: setattr(os, "replace", before(os.replace)),
        "after the backup has its name": lambda: setattr(os, "replace", after(os.replace)),
        "before commit": lambda: apsw.connection_hooks.append(lambda db: db.set_commit_hook(tick)),
        "after commit": lambda: apsw.connection_hooks.append(lambda db: db.set_wal_hook(tick)),
    }
    hooks[moment]()


async def open_and_close(path: Path) -> None:
    store = SQLiteStore(path)
    await store.open()
    await store.close()


async def everything(path: Path) -> list[StoredMemory | None]:
    store = SQLiteStore(path)
    held = await store.get(ANN, [row.id for row in (await store.scan(ANN, 0)).rows])
    await store.write(Changes(scope=ANN, notes={"n": b"1"}))
    assert await store.notes(ANN) == {"n": b"1"}
    await store.close()
    return held


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def check(path: Path, version: int) -> None:
    database = apsw.Connection(str(path))
    assert list(database.execute("PRAGMA integrity_check")) == [("ok",)]  # pyright: ignore[reportUnknownMemberType]
    assert list(database.execute("PRAGMA user_version")) == [(version,)]  # pyright: ignore[reportUnknownMemberType]
    database.close()


@pytest.mark.parametrize(
    ("moment", "count"),
    [
        ("at a page written", 1),
        ("at a page written", 5),
        ("at a page written", 13),
        ("before the backup has its name", 1),
        ("after the backup has its name", 1),
        ("before commit", 1),
        ("after commit", 1),
    ],
)
async def test_a_process_killed_while_it_migrates_leaves_a_store_that_opens(
    moment: str, count: int, tmp_path: Path
) -> None:
    untouched, path = (Path(shutil.copy(SAMPLE, tmp_path / name)) for name in ("untouched.db", "memory.db"))
    command = [sys.executable, __file__, str(path), moment, str(count)]
    assert (await asyncio.to_thread(subprocess.run, command, check=False)).returncode == KILLED
    check(path, 2 if moment == "after commit" else 1)
    assert await everything(path) == await everything(untouched)
    check(path, len(load_migrations()))
    check(backup_path(path, 1), 1)
    assert await everything(backup_path(path, 1)) == await everything(untouched)
    assert [name for name in names_in(tmp_path) if ".new" in name] == []


if __name__ == "__main__":
    die_at(sys.argv[2], int(sys.argv[3]))
    asyncio.run(open_and_close(Path(sys.argv[1])))
