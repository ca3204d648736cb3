"""Many may open a new file at the same moment: one makes it, all use it."""

import asyncio
import threading
from pathlib import Path

import apsw
import pytest

from retentive import Scope, StoreCorrupt
from retentive.stores.sqlite import SQLiteStore


def test_many_open_one_new_file_at_the_same_moment(tmp_path: Path) -> None:
    failed: list[BaseException] = []

    async def use(store: SQLiteStore) -> None:
        await store.open()
        assert await store.scopes("default") == []
        assert (await store.scan(Scope("default"), 0)).rows == ()
        await store.close()

    def open_it(path: Path, start: threading.Barrier) -> None:
        start.wait()
        try:
            asyncio.run(use(SQLiteStore(path)))
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            failed.append(error)

    for turn in range(25):
        start = threading.Barrier(6)
        path = tmp_path / f"{turn}.db"
        threads = [threading.Thread(target=open_it, args=(path, start)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []


async def test_a_database_of_another_program_is_still_refused(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "other.db"))
    connection.execute("CREATE TABLE theirs (x)")  # pyright: ignore[reportUnknownMemberType]
    connection.close()
    with pytest.raises(StoreCorrupt, match="another program"):
        await SQLiteStore(tmp_path / "other.db").open()
