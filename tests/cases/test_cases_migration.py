"""The handed case of migrations; named by its id."""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from retentive.sync import Memory

SAMPLES = sorted((Path(__file__).parents[1] / "samples").glob("v*/memory.db"))
PROCESSES = 8
_OPEN = """
import asyncio, json, sys
from retentive import Memory

async def main():
    sys.stdin.read()  # all begin together
    async with Memory("acme", store=sys.argv[1]) as memory:
        found = [await memory.list(user_id=scope.user_id) for scope in await memory.scopes()]
        print(json.dumps([item.id for page in found for item in page]))

asyncio.run(main())
"""


def shape_of(path: Path) -> list[tuple[object, ...]]:
    database = sqlite3.connect(path)
    shape = database.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2").fetchall()
    shape += database.execute("PRAGMA user_version").fetchall()
    database.close()
    return shape


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.parent.name)
def test_mig_1_eight_processes_open_an_older_store_at_once(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    shutil.copy(sample, path)
    url = f"sqlite:///{path.as_posix()}"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _OPEN, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    said = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0] * PROCESSES, said
    found = [json.loads(out) for out, _ in said]
    assert found[0]
    assert found == [found[0]] * PROCESSES
    with Memory(store=f"sqlite:///{(tmp_path / 'fresh.db').as_posix()}") as fresh:
        assert fresh.count() == 0
    assert shape_of(path) == shape_of(tmp_path / "fresh.db")
