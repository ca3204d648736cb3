"""What is on disk cannot be read; a key is shredded. Run it: python examples/life/encryption.py"""

import asyncio
import tempfile
from pathlib import Path

from retentive import Memory, WrongKey
from retentive.encryption import Encryption, FolderRing


async def main(folder: Path) -> None:
    ring = FolderRing(folder / "keys")  # better on another disk
    secret = Encryption(key=b"32 bytes that nobody else knows.", ring=ring)
    url = f"sqlite:///{(folder / 'team.db').as_posix()}"
    async with Memory("acme", store=url, encryption=secret) as memory:
        await memory.remember("The margin is 12 percent.")
        print([hit.content for hit in await memory.recall("margin")])
    # > ['The margin is 12 percent.']
    print(any(b"margin" in path.read_bytes() for path in folder.glob("team.db*")))
    # > False

    await secret.shred("acme")  # a fast forget of the whole namespace
    async with Memory("acme", store=url, encryption=secret) as memory:
        try:
            await memory.recall("margin")
        except WrongKey:
            print("gone")
    # > gone


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(Path(place)))
