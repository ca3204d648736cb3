"""An old store is migrated; a newer one is refused. Run it: python examples/life/migrations.py"""

import asyncio
import logging
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from retentive import Memory, SchemaTooNew

OLD = Path(__file__).parents[2] / "tests" / "samples" / "v1" / "memory.db"
logging.disable()  # a warning says where the backup is


async def main(folder: Path) -> None:
    database = Path(shutil.copy(OLD, folder))
    async with Memory("acme", store=f"sqlite:///{database.as_posix()}") as memory:
        print(await memory.count(user_id="ann") > 0, sorted(path.name for path in folder.glob("*.bak")))
        # > True ['memory.db.v1.bak']

    with closing(sqlite3.connect(database)) as newer:
        newer.execute("PRAGMA user_version = 99")
    (folder / "acme.jsonl").write_text('{"schema":99}\n', encoding="utf-8")
    for url in (f"sqlite:///{database.as_posix()}", f"file:///{folder.as_posix()}"):
        try:
            async with Memory("acme", store=url) as memory:
                await memory.remember("This is written nowhere.")
        except SchemaTooNew as error:
            print(str(error).split(" has ")[1])
    # > schema version 99, this Retentive knows up to ...; it was left untouched: upgrade Retentive
    # > schema version 99, this Retentive knows up to 1; it was left untouched: upgrade Retentive


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(Path(place)))
