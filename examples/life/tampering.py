"""A store that somebody edited is refused, by name. Run it: python examples/life/tampering.py"""

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from retentive import Memory, Tampered
from retentive.integrity import FolderAnchor, Integrity


async def main(folder: Path) -> None:
    url = f"sqlite:///{(folder / 'team.db').as_posix()}"
    anchor = FolderAnchor(folder / "elsewhere")  # better on another disk, or in the keyring
    keyed = Integrity(key=b"32 bytes that nobody else knows.", anchor=anchor)
    async with Memory(store=url, integrity=keyed) as memory:
        await memory.remember("The limit is 250 euros.")

    with closing(sqlite3.connect(folder / "team.db")) as attacker, attacker:
        attacker.execute("UPDATE memories SET item = replace(item, '250', '999')")

    async with Memory(store=url, integrity=keyed) as memory:
        try:
            await memory.recall("what is the limit?")
        except Tampered as refused:
            print(refused.kind, "in", refused.place)
    # > edited in the shared scope of namespace 'default'


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(Path(place)))
